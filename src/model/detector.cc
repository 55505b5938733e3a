#include "model/detector.h"

#include "base/log.h"
#include "base/macros.h"
#include "rewrite/detector.h"

namespace sam3::model {

namespace {

constexpr const char* kMaskOutput = "pred_masks_bits";

rewrite::DetectorCut contract() {
  return {.picture_inputs = {"fpn_0", "fpn_1", "fpn_2"},
          .phrase_inputs = {"text_features", "attention_mask"},
          .object_outputs = {"pred_boxes", "pred_logits", "presence_logits"},
          .mask_output = kMaskOutput};
}

std::vector<std::string> names_of(const auto& declared) {
  std::vector<std::string> names;
  for (const auto& value : declared) names.push_back(value.name());
  return names;
}

}  // namespace

Result<std::unique_ptr<const Detector>> Detector::create(graph::ModelFile file,
                                                         const WorkflowContext& context) {
  auto detector = std::make_unique<Detector>();
  bool whole = !context.rewrites.detector_stages;
  if (!whole) {
    const Status status = detector->cut(file, context);
    if (!status && status.error().code != ErrorCode::kUnsupported) return status.error();
    if (!status) {
      whole = true;
      detector = std::make_unique<Detector>();  // without the stages that were made
      log_line(LogLevel::kInfo,
               "the detector runs whole, not in stages: " + status.error().message);
    }
  }
  if (whole) {
    for (const graph::ValueInfo& input : file.inputs())
      detector->objects_.inputs.push_back(input.name);
    detector->objects_.outputs = contract().object_outputs;
    detector->objects_.outputs.emplace_back(kMaskOutput);
    SAM3_ASSIGN_OR_RETURN(runtime::GraphSource source,
                          graph_source(std::move(file), context.rewrites));
    detector->objects_.session =
        std::make_unique<LazySession>(context.engine, GraphKind::kDetector, std::move(source));
  }
  return std::unique_ptr<const Detector>(std::move(detector));
}

Result<Detector::Stage> Detector::make_stage(const graph::EditableModel& model,
                                             const graph::ModelFile& origin,
                                             const WorkflowContext& context,
                                             const std::string& name) {
  Stage stage;
  const auto& graph = model.proto.graph();
  if (graph.output().empty()) return stage;
  stage.inputs = names_of(graph.input());
  stage.outputs = names_of(graph.output());
  SAM3_ASSIGN_OR_RETURN(runtime::GraphSource source, graph_source(model, origin));
  stage.session =
      std::make_unique<LazySession>(context.engine, "detector_" + name, std::move(source));
  return stage;
}

Status Detector::cut(graph::ModelFile& file, const WorkflowContext& context) {
  SAM3_ASSIGN_OR_RETURN(const graph::EditableModel whole, editable(file, context.rewrites));
  SAM3_ASSIGN_OR_RETURN(const rewrite::DetectorStages stages,
                        rewrite::cut_detector(whole, contract(), context.rewrites.kept_masks));
  SAM3_ASSIGN_OR_RETURN(picture_, make_stage(stages.picture, file, context, "picture"));
  SAM3_ASSIGN_OR_RETURN(phrase_, make_stage(stages.phrase, file, context, "phrase"));
  SAM3_ASSIGN_OR_RETURN(objects_, make_stage(stages.objects, file, context, "objects"));
  SAM3_ASSIGN_OR_RETURN(masks_, make_stage(stages.masks, file, context, "masks"));
  only_kept_ = stages.only_kept;
  return {};
}

Status Detector::load() const {
  for (const Stage* stage : {&picture_, &phrase_, &objects_, &masks_}) {
    if (!stage->session) continue;
    if (auto opened = stage->session->get(); !opened.ok()) return opened.error();
  }
  return {};
}

Result<NamedTensors> Detector::Stage::run(const NamedTensors& values) const {
  NamedTensors results;
  if (!session) return results;
  std::vector<runtime::NamedTensor> given;
  for (const std::string& name : inputs) {
    const auto found = values.find(name);
    if (found == values.end())
      return Error{ErrorCode::kBadData, "nothing makes its input '" + name + "'", "", "detector"};
    given.push_back({found->first, found->second});
  }
  SAM3_ASSIGN_OR_RETURN(const auto opened, session->get());
  SAM3_ASSIGN_OR_RETURN(std::vector<runtime::Tensor> made, opened->run(given, outputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) results.emplace(outputs[i], std::move(made[i]));
  return results;
}

Result<NamedTensors> Detector::of_picture(const NamedTensors& features) const {
  return picture_.run(features);
}

Result<NamedTensors> Detector::of_phrase(const NamedTensors& text) const {
  return phrase_.run(text);
}

Result<NamedTensors> Detector::objects(const NamedTensors& values) const {
  return objects_.run(values);
}

Result<Detector::Masks> Detector::masks(const NamedTensors& values,
                                        const std::vector<std::int64_t>& kept) const {
  if (const auto whole = values.find(kMaskOutput); whole != values.end())
    return Masks{whole->second, false};
  NamedTensors given = values;
  if (only_kept_)
    given.insert_or_assign(
        rewrite::kKeptQueries,
        runtime::Tensor({static_cast<std::int64_t>(kept.size())}, std::vector<std::int64_t>(kept)));
  SAM3_ASSIGN_OR_RETURN(NamedTensors made, masks_.run(given));
  return Masks{std::move(made.at(kMaskOutput)), only_kept_};
}

}  // namespace sam3::model
