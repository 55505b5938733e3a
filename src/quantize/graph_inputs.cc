#include "quantize/graph_inputs.h"

#include "base/macros.h"
#include "model/package.h"

namespace sam3::quantize {

namespace fs = std::filesystem;
using runtime::Tensor;

Result<std::vector<NamedValues>> run_graph(const std::shared_ptr<const runtime::Engine>& engine,
                                           const fs::path& file,
                                           const std::vector<NamedValues>& inputs,
                                           std::vector<std::string> outputs) {
  SAM3_ASSIGN_OR_RETURN(graph::ModelFile model, graph::ModelFile::read(file));
  if (outputs.empty())
    for (const graph::ValueInfo& output : model.outputs()) outputs.push_back(output.name);
  SAM3_ASSIGN_OR_RETURN(const runtime::GraphSource source, model::graph_source(std::move(model)));
  SAM3_ASSIGN_OR_RETURN(
      const auto session,
      runtime::Session::open(engine, file.parent_path().filename().string(), source));
  std::vector<NamedValues> results;
  for (const NamedValues& set : inputs) {
    std::vector<runtime::NamedTensor> tensors;
    for (const auto& [name, tensor] : set) tensors.push_back({name, tensor});
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> values, session->run(tensors, outputs));
    NamedValues& result = results.emplace_back();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      result.emplace_back(outputs[i], std::move(values[i]));
  }
  return results;
}

Result<GraphInputs> GraphInputs::create(const fs::path& package, const std::vector<GateCase>& cases,
                                        const ModelOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const Model model, Model::open(package, options));
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model.info());
  if (info.family != "five-graph")
    return Error{ErrorCode::kUnsupported,
                 "errors of single layers can be measured in packages of the five-graph family "
                 "only",
                 package.string(), ""};
  SAM3_ASSIGN_OR_RETURN(
      auto engine, runtime::Engine::create({options.onnxruntime, options.device, options.threads}));
  return GraphInputs(package, cases, model, std::move(engine));
}

Result<NamedValues> GraphInputs::pixels(const GateCase& one) const {
  SAM3_ASSIGN_OR_RETURN(std::vector<float> values, model_.model_input(one.picture));
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model_.info());
  const std::int64_t side = info.image_size;
  return NamedValues{{"pixel_values", Tensor({1, 3, side, side}, std::move(values))}};
}

Result<std::vector<NamedValues>> GraphInputs::texts() const {
  std::vector<NamedValues> sets;
  for (const GateCase& one : *cases_)
    for (const std::string& prompt : one.prompts) {
      SAM3_ASSIGN_OR_RETURN(Tokens tokens, model_.tokenize(prompt));
      const auto length = static_cast<std::int64_t>(tokens.ids.size());
      sets.push_back({{"input_ids", Tensor({1, length}, std::move(tokens.ids))},
                      {"attention_mask", Tensor({1, length}, std::move(tokens.mask))}});
    }
  return sets;
}

Result<std::vector<NamedValues>> GraphInputs::prompts() const {
  SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> phrases, texts());
  SAM3_ASSIGN_OR_RETURN(
      const std::vector<NamedValues> features,
      run_graph(engine_, package_ / "text_encoder" / "model.onnx", phrases, {"text_features"}));
  std::vector<NamedValues> pictures;
  for (const GateCase& one : *cases_) {
    SAM3_ASSIGN_OR_RETURN(NamedValues set, pixels(one));
    pictures.push_back(std::move(set));
  }
  SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> maps,
                        run_graph(engine_, package_ / "vision_encoder" / "model.onnx", pictures));
  std::vector<NamedValues> sets;
  std::size_t phrase = 0;
  for (std::size_t i = 0; i < cases_->size(); ++i)
    for (std::size_t p = 0; p < (*cases_)[i].prompts.size(); ++p, ++phrase) {
      NamedValues set = maps[i];
      set.push_back(features[phrase][0]);
      set.push_back(phrases[phrase][1]);
      sets.push_back(std::move(set));
    }
  return sets;
}

Result<std::vector<NamedValues>> GraphInputs::points() const {
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model_.info());
  std::vector<NamedValues> sets;
  for (const GateCase& one : *cases_) {
    SAM3_ASSIGN_OR_RETURN(NamedValues picture, pixels(one));
    SAM3_ASSIGN_OR_RETURN(
        const std::vector<NamedValues> maps,
        run_graph(engine_, package_ / "tracker_vision_encoder" / "model.onnx", {picture}));
    // A click into the middle, and a box around the middle half.
    const auto side = static_cast<float>(info.image_size);
    NamedValues click = maps[0];
    click.emplace_back("input_points",
                       Tensor({1, 1, 1, 2}, std::vector<float>{side / 2, side / 2}));
    click.emplace_back("input_labels", Tensor({1, 1, 1}, std::vector<std::int64_t>{1}));
    NamedValues box = maps[0];
    box.emplace_back(
        "input_points",
        Tensor({1, 1, 2, 2}, std::vector<float>{side / 4, side / 4, side * 3 / 4, side * 3 / 4}));
    box.emplace_back("input_labels", Tensor({1, 1, 2}, std::vector<std::int64_t>{2, 3}));
    sets.push_back(std::move(click));
    sets.push_back(std::move(box));
  }
  return sets;
}

Result<std::vector<NamedValues>> GraphInputs::of(const std::string& graph) const {
  if (graph == "text_encoder") return texts();
  if (graph == "detector") return prompts();
  if (graph == "prompt_decoder") return points();
  if (graph != "vision_encoder" && graph != "tracker_vision_encoder")
    return Error{ErrorCode::kInvalidArgument, "'" + graph + "' is no graph of the five", "", ""};
  std::vector<NamedValues> sets;
  for (const GateCase& one : *cases_) {
    SAM3_ASSIGN_OR_RETURN(NamedValues set, pixels(one));
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace sam3::quantize
