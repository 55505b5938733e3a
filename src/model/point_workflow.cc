#include "model/point_workflow.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/macros.h"
#include "mask/point_choice.h"
#include "model/mask_source.h"

namespace sam3::model {
namespace {

using runtime::NamedTensor;
using runtime::Tensor;
using runtime::TensorType;

constexpr std::int64_t kPositive = 1;
constexpr std::int64_t kNegative = 0;
constexpr std::int64_t kTopLeft = 2;
constexpr std::int64_t kBottomRight = 3;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

std::string number(double value) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << value;
  return text.str();
}

std::string size_text(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels";
}

std::string box_text(const Box& box) {
  return number(box.x0) + "," + number(box.y0) + "," + number(box.x1) + "," + number(box.y1);
}

Status check_click(const Point& point, Size picture) {
  const bool inside =
      point.x >= 0 && point.y >= 0 && point.x <= picture.width && point.y <= picture.height;
  if (inside) return {};  // false for a value that is no number
  return invalid("the click " + number(point.x) + "," + number(point.y) +
                 " lies outside the picture of " + size_text(picture));
}

}  // namespace

Result<Box> checked_box(const Box& box, Size picture) {
  const auto fault = [&](const std::string& why) {
    return invalid("the box " + box_text(box) + " " + why +
                   "; a box is x0,y0,x1,y1 in pixels of the picture");
  };
  for (const double value : {box.x0, box.y0, box.x1, box.y1})
    if (!std::isfinite(value)) return fault("holds a value that is no number");
  Box ordered{std::min(box.x0, box.x1), std::min(box.y0, box.y1), std::max(box.x0, box.x1),
              std::max(box.y0, box.y1)};
  if (ordered.x0 == ordered.x1 || ordered.y0 == ordered.y1) return fault("has no area");
  if (ordered.x1 <= 0 || ordered.y1 <= 0 || ordered.x0 >= picture.width ||
      ordered.y0 >= picture.height)
    return fault("lies outside the picture of " + size_text(picture));
  if (ordered.x1 - ordered.x0 < 1 && ordered.y1 - ordered.y0 < 1)
    return fault("is smaller than a pixel");
  return Box{std::max(ordered.x0, 0.0), std::max(ordered.y0, 0.0),
             std::min(ordered.x1, static_cast<double>(picture.width)),
             std::min(ordered.y1, static_cast<double>(picture.height))};
}

Result<DecoderPoints> decoder_points(const PointPrompt& prompt, Size picture, int side) {
  DecoderPoints points;
  // The picture is squashed to the square, so each axis has its own scale; the half pixel is added
  // inside the graph.
  const auto add = [&](double x, double y, std::int64_t label) {
    points.coordinates.push_back(static_cast<float>(x * side / picture.width));
    points.coordinates.push_back(static_cast<float>(y * side / picture.height));
    points.labels.push_back(label);
  };
  if (prompt.box) {
    SAM3_ASSIGN_OR_RETURN(const Box box, checked_box(*prompt.box, picture));
    add(box.x0, box.y0, kTopLeft);
    add(box.x1, box.y1, kBottomRight);
  }
  for (const Point& point : prompt.positive) {
    SAM3_RETURN_IF_ERROR(check_click(point, picture));
    add(point.x, point.y, kPositive);
  }
  for (const Point& point : prompt.negative) {
    SAM3_RETURN_IF_ERROR(check_click(point, picture));
    add(point.x, point.y, kNegative);
  }
  if (points.labels.empty()) return invalid("the prompt has neither a click nor a box");
  return points;
}

Result<std::unique_ptr<const PointWorkflow>> PointWorkflow::create(const Package& package,
                                                                   const WorkflowContext& context) {
  SAM3_ASSIGN_OR_RETURN(CheckedGraphs graphs, package.check(Workflow::kPoint));
  std::unique_ptr<PointWorkflow> workflow(new PointWorkflow(package, context));
  const graph::ModelFile& vision = graphs.at(GraphKind::kTrackerVisionEncoder);
  workflow->image_size_ = static_cast<int>(vision.find_input("pixel_values")->dims[2]);
  if (workflow->image_size_ < 1)
    return Error{ErrorCode::kUnsupported, "the size of pixel_values is not a number in the graph",
                 vision.path().string(), "tracker_vision_encoder"};
  SAM3_ASSIGN_OR_RETURN(
      runtime::GraphSource vision_source,
      graph_source(graphs.take(GraphKind::kTrackerVisionEncoder), context.rewrites));
  SAM3_ASSIGN_OR_RETURN(runtime::GraphSource decoder_source,
                        graph_source(graphs.take(GraphKind::kPromptDecoder), context.rewrites));
  workflow->vision_ = std::make_unique<LazySession>(
      context.engine, GraphKind::kTrackerVisionEncoder, std::move(vision_source));
  workflow->decoder_ = std::make_unique<LazySession>(context.engine, GraphKind::kPromptDecoder,
                                                     std::move(decoder_source));
  return std::unique_ptr<const PointWorkflow>(std::move(workflow));
}

Status PointWorkflow::load() const {
  for (LazySession* session : {vision_.get(), decoder_.get()})
    if (auto opened = session->get(); !opened.ok()) return opened.error();
  return {};
}

Result<std::shared_ptr<const Features>> PointWorkflow::encode(const Picture& picture) const {
  SAM3_ASSIGN_OR_RETURN(Tensor pixels, input(picture));
  auto features = std::make_shared<Features>();
  features->picture = picture.size();
  features->maker = this;
  static const std::vector<std::string> kNames{"image_embeddings_0", "image_embeddings_1",
                                               "image_embeddings_2"};
  {
    SAM3_ASSIGN_OR_RETURN(const auto session, vision_->get());
    const std::vector<NamedTensor> inputs{{"pixel_values", std::move(pixels)}};
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->run(inputs, kNames));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      features->tensors.emplace_back(kNames[i], std::move(outputs[i]));
  }
  if (context_.low_memory) vision_->release();
  return std::shared_ptr<const Features>(std::move(features));
}

Result<Selection> PointWorkflow::segment(const Features& features,
                                         const PointPrompt& prompt) const {
  SAM3_ASSIGN_OR_RETURN(DecoderPoints points,
                        decoder_points(prompt, features.picture, image_size_));
  const mask::ChoiceRule rule = mask::choice_rule(points.labels);
  const auto count = static_cast<std::int64_t>(points.labels.size());
  std::vector<NamedTensor> inputs;
  for (const auto& [name, tensor] : features.tensors) inputs.push_back({name, tensor});
  inputs.push_back({"input_points", Tensor({1, 1, count, 2}, std::move(points.coordinates))});
  inputs.push_back({"input_labels", Tensor({1, 1, count}, std::move(points.labels))});
  static const std::vector<std::string> kOutputs{"pred_masks", "iou_scores", "object_score_logits"};
  SAM3_ASSIGN_OR_RETURN(const auto session, decoder_->get());
  SAM3_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, session->run(inputs, kOutputs));

  const GraphKind decoder = GraphKind::kPromptDecoder;
  SAM3_RETURN_IF_ERROR(check_shape(outputs[0], std::vector<std::int64_t>{1, 1, -1, -1, -1},
                                   TensorType::kFloat, decoder, kOutputs[0]));
  SAM3_RETURN_IF_ERROR(check_shape(outputs[1], std::vector<std::int64_t>{1, 1, outputs[0].dim(2)},
                                   TensorType::kFloat, decoder, kOutputs[1]));
  SAM3_RETURN_IF_ERROR(check_shape(outputs[2], std::vector<std::int64_t>{1, 1, 1},
                                   TensorType::kFloat, decoder, kOutputs[2]));
  const mask::PointChoice choice =
      mask::choose_mask(outputs[0].floats(), outputs[1].floats(), rule);
  const float object_logit = outputs[2].floats()[0];
  Selection selection;
  selection.iou = choice.iou;
  selection.token = choice.token;
  selection.stability = choice.stability;
  selection.present = object_logit > 0;
  selection.object_score = sigmoid(object_logit);
  selection.source = std::make_shared<LogitMaskSource>(outputs[0], choice.token, features.picture);
  return selection;
}

}  // namespace sam3::model
