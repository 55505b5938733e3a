// The graphs of the tiny model with the inputs of their reference runs.
#pragma once

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "models.h"
#include "support/safetensors.h"
#include "support/tensors.h"

namespace sam3::quantize {

struct Stage {
  std::string graph;
  std::vector<std::string> outputs;  // of floats
};

inline void PrintTo(const Stage& stage, std::ostream* out) { *out << stage.graph; }

inline const std::vector<Stage>& stages() {
  static const std::vector<Stage> all{
      {"vision_encoder", {"fpn_0", "fpn_1", "fpn_2"}},
      {"text_encoder", {"text_features"}},
      {"detector", {"pred_boxes", "pred_logits", "presence_logits", "semantic_seg"}},
      {"tracker_vision_encoder",
       {"image_embeddings_0", "image_embeddings_1", "image_embeddings_2"}},
      {"prompt_decoder", {"pred_masks", "iou_scores", "object_score_logits"}}};
  return all;
}

// The first of the prompts that are stacked along the first axis.
inline runtime::Tensor first(const test::Tensor& stacked) {
  std::vector<std::int64_t> dims = stacked.shape;
  const auto count = static_cast<std::size_t>(stacked.count() / dims[0]);
  dims[0] = 1;
  if (stacked.dtype == "I64") {
    auto values = stacked.values<std::int64_t>();
    values.resize(count);
    return {dims, values};
  }
  auto values = stacked.values<float>();
  values.resize(count);
  return {dims, values};
}

// The results of a stage's reference inputs, in the order of its outputs.
inline std::vector<std::vector<float>> run_stage(const std::filesystem::path& model,
                                                 const Stage& stage) {
  const auto open = [](const std::string& name) {
    return test::Safetensors(test::data("tiny/io/" + name + ".safetensors").string());
  };
  std::vector<runtime::NamedTensor> inputs;
  if (stage.graph == "text_encoder") {
    const auto text = open("text");
    inputs = {{"input_ids", first(text["input_ids"])},
              {"attention_mask", first(text["attention_mask"])}};
  } else if (stage.graph == "detector") {
    const auto text = open("text");
    const auto vision = open("vision");
    inputs = {{"text_features", first(text["text_features"])},
              {"attention_mask", first(text["attention_mask"])}};
    for (const char* level : {"fpn_0", "fpn_1", "fpn_2"})
      inputs.push_back({level, test::to_tensor(vision[level])});
  } else if (stage.graph == "prompt_decoder") {
    const auto tracker = open("tracker");
    const auto prompt = open("prompt_clicks");
    for (const char* level : {"image_embeddings_0", "image_embeddings_1", "image_embeddings_2"})
      inputs.push_back({level, test::to_tensor(tracker[level])});
    for (const char* name : {"input_points", "input_labels"})
      inputs.push_back({name, test::to_tensor(prompt[name])});
  } else {
    inputs = {{"pixel_values", test::to_tensor(open("image")["pixel_values"])}};
  }
  const auto results = open_session(model)->run(inputs, stage.outputs);
  if (!results.ok()) throw std::runtime_error(results.error().to_string());
  std::vector<std::vector<float>> values;
  for (const auto& tensor : *results)
    values.emplace_back(tensor.floats().begin(), tensor.floats().end());
  return values;
}

// Mean |difference| over mean |reference|.
inline double relative_error(const std::vector<float>& values,
                             const std::vector<float>& reference) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference += std::fabs(static_cast<double>(values[i]) - static_cast<double>(reference[i]));
    size += std::fabs(static_cast<double>(reference[i]));
  }
  return difference / size;
}

}  // namespace sam3::quantize
