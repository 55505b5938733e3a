// The public Model, over the workflows.
#include "sam3/model.h"

#include <algorithm>
#include <cmath>

#include "base/macros.h"
#include "mask/merge.h"
#include "model/core.h"
#include "model/mask_source.h"
#include "runtime/device.h"

#ifndef SAM3_VERSION
#error "the build gives the version"
#endif

namespace sam3 {

Result<RuntimeInfo> runtime_info(const std::string& onnxruntime) {
  SAM3_ASSIGN_OR_RETURN(runtime::LibraryInfo library, runtime::load_library(onnxruntime));
  return RuntimeInfo{std::move(library.version), std::move(library.devices)};
}

std::vector<std::string> known_devices() { return runtime::device_names(); }

std::string version() { return SAM3_VERSION; }

Mask Detection::mask() const { return source ? source->full() : Mask(); }
Mask Selection::mask() const { return source ? source->full() : Mask(); }

Size ImageFeatures::picture_size() const { return features_ ? features_->picture : Size{}; }
Size ImageEmbeddings::picture_size() const { return features_ ? features_->picture : Size{}; }

bool is_blank_prompt(std::string_view text) { return Tokenizer::is_blank(text); }

namespace {

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

Status check_core(const std::shared_ptr<const model::Core>& core) {
  if (core) return {};
  return invalid("this model is empty; it comes from Model::open");
}

Status check_features(const model::Features* features, const void* maker, std::string_view call) {
  if (!features) return invalid("these features are empty; they come from " + std::string(call));
  if (features->maker != maker)
    return invalid(
        "these features were made by another model; they go with the model that made them");
  return {};
}

Status check_picture(const Picture& picture) {
  if (picture.empty() || picture.width() < 1 || picture.height() < 1)
    return invalid("the picture is empty");
  return {};
}

}  // namespace

Result<Model> Model::open(const std::filesystem::path& folder, const ModelOptions& options) {
  SAM3_ASSIGN_OR_RETURN(auto core, model::Core::open(folder, options));
  return Model(std::move(core));
}

Status Model::prepare(Workflow workflow) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  if (workflow == Workflow::kText) {
    SAM3_ASSIGN_OR_RETURN(const auto* text, core_->text());
    return text->load();
  }
  SAM3_ASSIGN_OR_RETURN(const auto* point, core_->point());
  return point->load();
}

Result<ImageFeatures> Model::encode_image(const Picture& picture) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  SAM3_RETURN_IF_ERROR(check_picture(picture));
  SAM3_ASSIGN_OR_RETURN(const auto* text, core_->text());
  ImageFeatures features;
  SAM3_ASSIGN_OR_RETURN(features.features_, text->encode(picture));
  return features;
}

Result<std::vector<Detection>> Model::detect(const ImageFeatures& features, std::string_view prompt,
                                             const DetectOptions& options) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  if (!(options.threshold >= 0 && options.threshold < 1))
    return invalid("the threshold must be at least 0 and below 1, not " +
                   std::to_string(options.threshold));
  SAM3_ASSIGN_OR_RETURN(const auto* text, core_->text());
  SAM3_RETURN_IF_ERROR(check_features(features.features_.get(), text, "encode_image"));
  DetectOptions checked = options;
  if (checked.exemplar) {
    SAM3_ASSIGN_OR_RETURN(checked.exemplar->box,
                          model::checked_box(checked.exemplar->box, features.picture_size()));
  }
  return text->detect(*features.features_, prompt, checked);
}

Result<Tokens> Model::tokenize(std::string_view text) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  SAM3_ASSIGN_OR_RETURN(const auto* workflow, core_->text());
  return workflow->tokenize(text);
}

Result<ImageEmbeddings> Model::embed_image(const Picture& picture) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  SAM3_RETURN_IF_ERROR(check_picture(picture));
  SAM3_ASSIGN_OR_RETURN(const auto* point, core_->point());
  ImageEmbeddings embeddings;
  SAM3_ASSIGN_OR_RETURN(embeddings.features_, point->encode(picture));
  return embeddings;
}

Result<Selection> Model::segment(const ImageEmbeddings& embeddings,
                                 const PointPrompt& prompt) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  SAM3_ASSIGN_OR_RETURN(const auto* point, core_->point());
  SAM3_RETURN_IF_ERROR(check_features(embeddings.features_.get(), point, "embed_image"));
  return point->segment(*embeddings.features_, prompt);
}

Result<std::vector<float>> Model::model_input(const Picture& picture) const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  SAM3_RETURN_IF_ERROR(check_picture(picture));
  runtime::Tensor tensor;
  if (core_->package().has(Workflow::kText)) {
    SAM3_ASSIGN_OR_RETURN(const auto* text, core_->text());
    SAM3_ASSIGN_OR_RETURN(tensor, text->input(picture));
  } else {
    SAM3_ASSIGN_OR_RETURN(const auto* point, core_->point());
    SAM3_ASSIGN_OR_RETURN(tensor, point->input(picture));
  }
  if (tensor.type() == runtime::TensorType::kFloat)
    return std::vector<float>(tensor.floats().begin(), tensor.floats().end());
  return std::vector<float>(tensor.bytes().begin(), tensor.bytes().end());
}

Result<ModelInfo> Model::info() const {
  SAM3_RETURN_IF_ERROR(check_core(core_));
  return model::describe(core_->package());
}

std::string Model::requested_device() const {
  return core_ ? core_->engine().requested_device() : "";
}

std::string Model::effective_device() const {
  return core_ ? core_->engine().effective_device() : "";
}

int Model::threads() const { return core_ ? core_->engine().threads() : 0; }

std::string Model::name() const { return core_ ? core_->package().name() : ""; }

Result<std::vector<ClassDetection>> merge_classes(std::vector<Detection> detections,
                                                  double overlap) {
  if (!(overlap >= 0 && overlap <= 1))
    return invalid("the overlap must be from 0 to 1, not " + std::to_string(overlap));
  std::vector<Mask> masks;
  masks.reserve(detections.size());
  std::vector<mask::MergeCandidate> candidates;
  for (const Detection& detection : detections) {
    masks.push_back(detection.source ? detection.source->compact() : Mask());
    if (masks.back().size() != masks.front().size())
      return invalid("detections of different models or pictures cannot be merged");
    candidates.push_back({detection.prompt, detection.score, detection.box, &masks.back()});
  }
  const std::vector<mask::MergeOutcome> outcomes = mask::merge_across_classes(candidates, overlap);
  std::vector<ClassDetection> merged;
  for (std::size_t i = 0; i < detections.size(); ++i)
    merged.push_back(
        {std::move(detections[i]), outcomes[i].into ? static_cast<int>(*outcomes[i].into) : -1});
  return merged;
}

}  // namespace sam3
