// The converted five-graph family against the reference, stage by stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "converted.h"

namespace sam3::convert {
namespace {

using runtime::NamedTensor;
using test::data;
using test::is_close;
using test::Safetensors;
using test::to_tensor;

constexpr double kTolerance = 1e-4;          // relative to the largest value
constexpr double kPresenceTolerance = 2e-3;  // its head amplifies thirtyfold
constexpr float kUndecided = 1e-3F;          // logits this small may fall on either side

Safetensors golden(const std::string& name) {
  return Safetensors(data("tiny/io/" + name + ".safetensors").string());
}

// Tokens [1, N, C] in window order as the reference's map [1, G, G, C].
runtime::Tensor unwindowed(const runtime::Tensor& tokens, const VisionConfig& config) {
  const Size grid = config.grid();
  const Size window = config.window;
  const Size width = tokens.dim(2);
  std::vector<float> map(tokens.element_count());
  for (Size i = 0; i < grid * grid; ++i) {
    const Size inside = i % (window * window);
    const Size which = i / (window * window);
    const Size y = which / (grid / window) * window + inside / window;
    const Size x = which % (grid / window) * window + inside % window;
    for (Size c = 0; c < width; ++c)
      map[static_cast<std::size_t>((y * grid + x) * width + c)] =
          tokens.floats()[static_cast<std::size_t>(i * width + c)];
  }
  return {{1, grid, grid, width}, std::move(map)};
}

TEST(ConvertedGraphs, VisionEncoder) {
  const Safetensors vision = golden("vision");
  std::vector<std::string> inner = {"/backbone/ln_pre"};
  for (int i = 0; i < 4; ++i) inner.push_back("/backbone/layers." + std::to_string(i) + "/output");
  const Running graph(build_vision_encoder(tiny_config(), tiny_weights()), inner);
  std::vector<std::string> names = {"fpn_0", "fpn_1", "fpn_2"};
  names.insert(names.end(), inner.begin(), inner.end());
  const auto out = graph.run({{"pixel_values", to_tensor(golden("image")["pixel_values"])}}, names);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(is_close(out[i], vision[names[i]], kTolerance));
  const VisionConfig& config = tiny_config().vision;
  EXPECT_TRUE(is_close(unwindowed(out[3], config), vision["vit_ln_pre"], kTolerance));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(is_close(unwindowed(out[4 + i], config), vision["vit_block_" + std::to_string(i)],
                         kTolerance));
}

TEST(ConvertedGraphs, TextEncoder) {
  const Safetensors text = golden("text");
  const Running graph(build_text_encoder(tiny_config(), tiny_weights()),
                      {"/text_model/last_hidden_state"});
  for (std::size_t i = 0; i < 5; ++i) {
    const auto out = graph.run({{"input_ids", to_tensor(part(text["input_ids"], i))},
                                {"attention_mask", to_tensor(part(text["attention_mask"], i))}},
                               {"text_features", "/text_model/last_hidden_state"});
    EXPECT_TRUE(is_close(out[0], part(text["text_features"], i), kTolerance)) << i;
    EXPECT_TRUE(is_close(out[1], part(text["last_hidden_state"], i), kTolerance)) << i;
  }
}

std::vector<std::string> detector_inner() {
  std::vector<std::string> inner = {"pred_masks", "/detr_encoder/layers.2/output"};
  for (int i = 0; i < 3; ++i) {
    inner.push_back("/detr_decoder/layers." + std::to_string(i) + "/output");
    inner.push_back("/detr_decoder/layers." + std::to_string(i) + "/reference_boxes");
  }
  inner[0] = "/pred_masks";
  return inner;
}

// All outputs for one prompt.
void check_detector(const Running& graph, const Safetensors& expected,
                    const runtime::Tensor& prompt, const runtime::Tensor& mask) {
  const Safetensors vision = golden("vision");
  std::vector<std::string> names = {"pred_masks_bits", "pred_boxes", "pred_logits",
                                    "presence_logits", "semantic_seg"};
  for (const std::string& name : detector_inner()) names.push_back(name);
  const auto out = graph.run({{"fpn_0", to_tensor(vision["fpn_0"])},
                              {"fpn_1", to_tensor(vision["fpn_1"])},
                              {"fpn_2", to_tensor(vision["fpn_2"])},
                              {"text_features", prompt},
                              {"attention_mask", mask}},
                             names);
  EXPECT_TRUE(is_close(out[1], expected["pred_boxes"], kTolerance));
  EXPECT_TRUE(is_close(out[2], expected["pred_logits"], kTolerance));
  EXPECT_TRUE(is_close(out[3], expected["presence_logits"], kPresenceTolerance));
  EXPECT_TRUE(is_close(out[4], expected["semantic_seg"], kTolerance));
  EXPECT_TRUE(is_close(out[5], expected["pred_masks"], kTolerance));
  if (expected.contains("encoder_last_hidden_state")) {
    EXPECT_TRUE(is_close(out[6], expected["encoder_last_hidden_state"], kTolerance));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        is_close(out[7 + 2 * i], part(expected["decoder_hidden_states"], i, true), kTolerance));
    EXPECT_TRUE(
        is_close(out[8 + 2 * i], part(expected["decoder_reference_boxes"], i, true), kTolerance));
  }
  const auto logits = expected["pred_masks"].values<float>();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::fabs(logits[i]) <= kUndecided) continue;
    ASSERT_EQ((out[0].bytes()[i / 8] >> (7 - i % 8) & 1) != 0, logits[i] > 0) << i;
  }
}

TEST(ConvertedGraphs, Detector) {
  const Safetensors text = golden("text");
  const Running graph(build_detector(tiny_config(), tiny_weights(), {}), detector_inner());
  for (std::size_t i = 0; i < 5; ++i)
    check_detector(graph, golden("detector_" + std::to_string(i)),
                   to_tensor(part(text["text_features"], i)),
                   to_tensor(part(text["attention_mask"], i)));
}

runtime::Tensor mask_of(const test::Tensor& valid) {
  std::vector<std::int64_t> values;
  for (const std::byte byte : valid.bytes) values.push_back(std::to_integer<int>(byte));
  return {valid.shape, values};
}

TEST(ConvertedGraphs, ExemplarsThroughGeometryEncoderAndLongerPrompt) {
  const Running geometry(build_geometry_encoder(tiny_config(), tiny_weights()));
  const Running detector(
      build_detector(tiny_config(), tiny_weights(), {.free_prompt_length = true}),
      detector_inner());
  for (const char* name : {"exemplar_pos", "exemplar_pos_neg"}) {
    const Safetensors expected = golden(name);
    const auto out =
        geometry.run({{"fpn_2", to_tensor(golden("vision")["fpn_2"])},
                      {"input_boxes", to_tensor(expected["input_boxes"])},
                      {"input_boxes_labels", to_tensor(expected["input_boxes_labels"])}},
                     {"prompt_features", "prompt_mask"});
    EXPECT_TRUE(is_close(out[0], expected["geometry_features"], kTolerance));
    EXPECT_THAT(out[1].int64s(), testing::Each(1));
    EXPECT_EQ(out[1].dims(), expected["geometry_mask"].shape);
    check_detector(detector, expected, to_tensor(expected["prompt_features"]),
                   mask_of(expected["prompt_mask"]));
  }
}

TEST(ConvertedGraphs, TrackerVisionEncoderOfBothImplementations) {
  const Safetensors tracker = golden("tracker");
  const Config& config = tiny_config();
  const runtime::Tensor pixels = to_tensor(golden("image")["pixel_values"]);
  const std::vector<std::string> names = {"image_embeddings_0", "image_embeddings_1",
                                          "image_embeddings_2"};
  for (const NoMemory kind : {NoMemory::kOriginal, NoMemory::kReference}) {
    const Running graph(build_tracker_vision_encoder(config, tiny_weights(), {.no_memory = kind}));
    const auto out = graph.run({{"pixel_values", pixels}}, names);
    EXPECT_TRUE(is_close(out[0], tracker[names[0]], kTolerance));
    EXPECT_TRUE(is_close(out[1], tracker[names[1]], kTolerance));
    const std::string last = kind == NoMemory::kOriginal ? "image_embeddings_2_no_mem" : names[2];
    EXPECT_TRUE(is_close(out[2], tracker[last], kTolerance));
  }
}

TEST(ConvertedGraphs, PromptDecoder) {
  const Safetensors tracker = golden("tracker");
  const Running graph(build_prompt_decoder(tiny_config(), tiny_weights()), {"/sparse_embeddings"});
  int checked = 0;
  for (const char* name :
       {"click", "click_2", "click_neg_only", "clicks", "box", "box_clicks", "three_objects"}) {
    const Safetensors prompt = golden(std::string("prompt_") + name);
    for (const char* variant : {"", "_no_mem"}) {
      if (!prompt.contains(std::string("pred_masks") + variant)) continue;
      ++checked;
      const auto out = graph.run(
          {{"image_embeddings_0", to_tensor(tracker["image_embeddings_0"])},
           {"image_embeddings_1", to_tensor(tracker["image_embeddings_1"])},
           {"image_embeddings_2", to_tensor(tracker[std::string("image_embeddings_2") + variant])},
           {"input_points", to_tensor(prompt["input_points"])},
           {"input_labels", to_tensor(prompt["input_labels"])}},
          {"pred_masks", "iou_scores", "object_score_logits", "/sparse_embeddings"});
      EXPECT_TRUE(is_close(out[0], prompt[std::string("pred_masks") + variant], kTolerance))
          << name;
      EXPECT_TRUE(is_close(out[1], prompt[std::string("iou_scores") + variant], kTolerance))
          << name;
      EXPECT_TRUE(
          is_close(out[2], prompt[std::string("object_score_logits") + variant], kTolerance))
          << name;
      EXPECT_EQ(out[3].dims(), part(prompt["sparse_embeddings"], 0, true).shape) << name;
      EXPECT_TRUE(is_close(out[3], part(prompt["sparse_embeddings"], 0, true), kTolerance)) << name;
    }
  }
  EXPECT_EQ(checked, 10);
}

TEST(ConvertedGraphs, NodesAreNamedByTheirPlace) {
  const graph::EditableModel model = build_vision_encoder(tiny_config(), tiny_weights()).value();
  std::set<std::string> names;
  for (const auto& node : model.proto.graph().node()) EXPECT_TRUE(names.insert(node.name()).second);
  EXPECT_TRUE(names.contains("/backbone/layers.3/attention/q_proj/MatMul"));
  EXPECT_TRUE(names.contains("/neck/fpn_layers.0/scale_layers.2/ConvTranspose") ||
              names.contains("/neck/fpn_layers.0/2/ConvTranspose"));
}

TEST(ConvertedGraphs, EverythingThatIsMissingIsNamedAtOnce) {
  Config config = tiny_config();
  config.vision.layers = 6;
  const auto built = build_vision_encoder(config, tiny_weights());
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(built.error().message, testing::HasSubstr("layers.4.layer_norm1.weight"));
  EXPECT_THAT(built.error().message, testing::HasSubstr("more"));
}

TEST(ConvertedGraphs, AWrongSizeSaysWhatConfigAndCheckpointHave) {
  Config config = tiny_config();
  config.text.inner = 48;
  const auto built = build_text_encoder(config, tiny_weights());
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, ErrorCode::kBadData);
  EXPECT_THAT(built.error().message, testing::HasSubstr("[44,8], but config.json asks for [48,8]"));
}

}  // namespace
}  // namespace sam3::convert
