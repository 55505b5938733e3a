// The text workflow of the five-graph family: vision_encoder, text_encoder, detector.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/macros.h"
#include "model/detector.h"
#include "model/mask_bits.h"
#include "model/mask_source.h"
#include "model/preprocess.h"
#include "model/text_workflow.h"

namespace sam3::model {
namespace {

using runtime::NamedTensor;
using runtime::Tensor;
using runtime::TensorType;

constexpr const char* kTextFeatures = "text_features";
constexpr const char* kAttentionMask = "attention_mask";

const std::vector<std::string>& feature_names() {
  static const auto* const names = new std::vector<std::string>{"fpn_0", "fpn_1", "fpn_2"};
  return *names;
}

class FiveGraphText : public TextWorkflow {
 public:
  FiveGraphText(const Package& package, const WorkflowContext& context, Tokenizer tokenizer)
      : TextWorkflow(context, std::move(tokenizer)),
        normalization_{package.mean(), package.std_deviation()} {}

  Status prepare(CheckedGraphs graphs);

  Status load() const override;
  Result<std::shared_ptr<const Features>> encode(const Picture& picture) const override;
  Result<std::vector<Detection>> detect(const Features& features, std::string_view prompt,
                                        const DetectOptions& options) const override;
  Result<Tensor> input(const Picture& picture) const override {
    return pixel_values(picture, image_size_, normalization_, context_.runner);
  }

 private:
  // text_features and attention_mask, and what the detector makes of them alone.
  Result<NamedTensors> phrase(std::string_view prompt) const;
  // The same of the text's tokens with those of an example box behind them.
  Result<NamedTensors> with_exemplar(const NamedTensors& text, const Features& features,
                                     const Exemplar& exemplar) const;
  // A picture's features, and what the detector makes of them alone.
  Result<NamedTensors> picture_values(const Features& features) const;
  Result<std::vector<Detection>> collect(const NamedTensors& values, Size picture,
                                         std::string_view prompt,
                                         const DetectOptions& options) const;

  image::Normalization normalization_;
  mask::BitOrder bit_order_ = mask::BitOrder::kMsbFirst;
  std::unique_ptr<LazySession> vision_;
  std::unique_ptr<LazySession> text_;
  std::unique_ptr<const Detector> detector_;
  std::unique_ptr<LazySession> geometry_;  // null in packages without one
  std::int64_t prompt_length_ = 0;         // tokens that the detector takes; -1: any number
  mutable PhraseCache phrases_;
};

Status FiveGraphText::prepare(CheckedGraphs graphs) {
  image_size_ =
      static_cast<int>(graphs.at(GraphKind::kVisionEncoder).find_input("pixel_values")->dims[2]);
  text_length_ =
      static_cast<int>(graphs.at(GraphKind::kTextEncoder).find_input("input_ids")->dims[1]);
  if (image_size_ < 1 || text_length_ < 3)
    return Error{ErrorCode::kUnsupported,
                 "the size of pixel_values or input_ids is not a number in the graphs", "", ""};
  SAM3_ASSIGN_OR_RETURN(bit_order_, find_bit_order(graphs.at(GraphKind::kDetector)));
  prompt_length_ = graphs.at(GraphKind::kDetector).find_input("text_features")->dims[1];
  SAM3_ASSIGN_OR_RETURN(runtime::GraphSource vision_source,
                        graph_source(graphs.take(GraphKind::kVisionEncoder), context_.rewrites));
  SAM3_ASSIGN_OR_RETURN(runtime::GraphSource text_source,
                        graph_source(graphs.take(GraphKind::kTextEncoder), context_.rewrites));
  SAM3_ASSIGN_OR_RETURN(detector_, Detector::create(graphs.take(GraphKind::kDetector), context_));
  const auto lazy = [&](GraphKind kind, runtime::GraphSource source) {
    return std::make_unique<LazySession>(context_.engine, kind, std::move(source));
  };
  vision_ = lazy(GraphKind::kVisionEncoder, std::move(vision_source));
  text_ = lazy(GraphKind::kTextEncoder, std::move(text_source));
  if (!graphs.contains(GraphKind::kGeometryEncoder)) return {};
  SAM3_ASSIGN_OR_RETURN(runtime::GraphSource geometry_source,
                        graph_source(graphs.take(GraphKind::kGeometryEncoder), context_.rewrites));
  geometry_ = lazy(GraphKind::kGeometryEncoder, std::move(geometry_source));
  return {};
}

Status FiveGraphText::load() const {
  for (LazySession* session : {vision_.get(), text_.get(), geometry_.get()}) {
    // One large graph at a time: each is opened when it is needed.
    if (!session || context_.low_memory) continue;
    if (auto opened = session->get(); !opened.ok()) return opened.error();
  }
  return detector_->load();
}

Result<std::shared_ptr<const Features>> FiveGraphText::encode(const Picture& picture) const {
  // Phrases that were asked are cached: the next picture asks them again without their encoder.
  if (context_.low_memory) text_->release();
  SAM3_ASSIGN_OR_RETURN(Tensor pixels, input(picture));
  auto features = std::make_shared<Features>();
  features->picture = picture.size();
  features->maker = this;
  {
    SAM3_ASSIGN_OR_RETURN(const auto session, vision_->get());
    const std::vector<NamedTensor> inputs{{"pixel_values", std::move(pixels)}};
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->run(inputs, feature_names()));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      features->tensors.emplace_back(feature_names()[i], std::move(outputs[i]));
  }
  if (context_.low_memory) vision_->release();
  return std::shared_ptr<const Features>(std::move(features));
}

Result<NamedTensors> FiveGraphText::phrase(std::string_view prompt) const {
  return phrases_.get(prompt, [&]() -> Result<NamedTensors> {
    SAM3_ASSIGN_OR_RETURN(Encoding encoding, encode_prompt(prompt));
    const std::vector<std::int64_t> dims{1, text_length_};
    Tensor ids(dims, std::move(encoding.ids));
    Tensor mask(dims, std::move(encoding.mask));
    SAM3_ASSIGN_OR_RETURN(const auto session, text_->get());
    const std::vector<NamedTensor> inputs{{"input_ids", ids}, {"attention_mask", mask}};
    const std::vector<std::string> names{kTextFeatures};
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->run(inputs, names));
    const std::vector<std::int64_t> expected{1, text_length_, -1};
    SAM3_RETURN_IF_ERROR(
        check_shape(outputs[0], expected, TensorType::kFloat, GraphKind::kTextEncoder, names[0]));
    NamedTensors text{{kTextFeatures, std::move(outputs[0])}, {kAttentionMask, std::move(mask)}};
    SAM3_ASSIGN_OR_RETURN(NamedTensors derived, detector_->of_phrase(text));
    text.merge(derived);
    return text;
  });
}

Result<NamedTensors> FiveGraphText::with_exemplar(const NamedTensors& text,
                                                  const Features& features,
                                                  const Exemplar& exemplar) const {
  using Ints = std::vector<std::int64_t>;
  std::vector<NamedTensor> inputs;
  for (const auto& [name, tensor] : features.tensors)
    if (name == "fpn_2") inputs.push_back({name, tensor});
  inputs.push_back({"input_boxes", Tensor({1, 1, 4}, box_coordinates(exemplar, features.picture))});
  inputs.push_back({"input_boxes_labels", Tensor({1, 1}, Ints{exemplar.positive ? 1 : 0})});
  static const std::vector<std::string> kOutputs{"prompt_features"};
  SAM3_ASSIGN_OR_RETURN(const auto session, geometry_->get());
  SAM3_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, session->run(inputs, kOutputs));
  const Tensor& text_features = text.at(kTextFeatures);
  const std::int64_t width = text_features.dim(2);
  SAM3_RETURN_IF_ERROR(check_shape(outputs[0], Ints{1, -1, width}, TensorType::kFloat,
                                   GraphKind::kGeometryEncoder, kOutputs[0]));
  const std::int64_t added = outputs[0].dim(1);
  // Prompt tokens have no order. A detector of a fixed length gets the example in place of padding.
  const auto words = text.at(kAttentionMask).int64s();
  const std::int64_t used = prompt_length_ < 0
                                ? text_length_
                                : std::accumulate(words.begin(), words.end(), std::int64_t{0});
  const std::int64_t length = prompt_length_ < 0 ? text_length_ + added : prompt_length_;
  if (used + added > length)
    return Error{ErrorCode::kLimit,
                 "the prompt has " + std::to_string(used) + " tokens and the example box " +
                     std::to_string(added) + ", but the detector takes " + std::to_string(length) +
                     " together",
                 "", "detector"};
  std::vector<float> tokens(static_cast<std::size_t>(length * width));
  Ints mask(static_cast<std::size_t>(length));
  const auto text_values = text_features.floats().first(static_cast<std::size_t>(used * width));
  const auto box_values = outputs[0].floats();
  std::copy(box_values.begin(), box_values.end(),
            std::copy(text_values.begin(), text_values.end(), tokens.begin()));
  std::fill_n(std::copy_n(words.begin(), used, mask.begin()), added, 1);
  NamedTensors both{{kTextFeatures, Tensor({1, length, width}, std::move(tokens))},
                    {kAttentionMask, Tensor({1, length}, std::move(mask))}};
  SAM3_ASSIGN_OR_RETURN(NamedTensors derived, detector_->of_phrase(both));
  both.merge(derived);
  return both;
}

Result<NamedTensors> FiveGraphText::picture_values(const Features& features) const {
  NamedTensors values(features.tensors.begin(), features.tensors.end());
  std::lock_guard lock(features.mutex);
  if (!features.derived) {
    SAM3_ASSIGN_OR_RETURN(NamedTensors derived, detector_->of_picture(values));
    features.derived = std::move(derived);
  }
  values.insert(features.derived->begin(), features.derived->end());
  return values;
}

Result<std::vector<Detection>> FiveGraphText::detect(const Features& features,
                                                     std::string_view prompt,
                                                     const DetectOptions& options) const {
  if (options.exemplar && !geometry_)
    return Error{
        ErrorCode::kUnsupported,
        "this model has no geometry_encoder and takes no example boxes; for the one object in a "
        "box use the point workflow",
        "", "detector"};
  const std::string_view asked = options.exemplar && prompt.empty() ? kExemplarPrompt : prompt;
  SAM3_ASSIGN_OR_RETURN(NamedTensors text, phrase(asked));
  if (options.exemplar) {
    SAM3_ASSIGN_OR_RETURN(text, with_exemplar(text, features, *options.exemplar));
  }
  SAM3_ASSIGN_OR_RETURN(NamedTensors values, picture_values(features));
  values.merge(text);
  SAM3_ASSIGN_OR_RETURN(NamedTensors objects, detector_->objects(values));
  values.merge(objects);
  return collect(values, features.picture, asked, options);
}

Result<std::vector<Detection>> FiveGraphText::collect(const NamedTensors& values, Size picture,
                                                      std::string_view prompt,
                                                      const DetectOptions& options) const {
  using Dims = std::vector<std::int64_t>;
  const auto checked = [&](const char* name, const Dims& dims) {
    return check_shape(values.at(name), dims, TensorType::kFloat, GraphKind::kDetector, name);
  };
  SAM3_RETURN_IF_ERROR(checked("pred_logits", Dims{1, -1}));
  const Tensor& logits = values.at("pred_logits");
  const std::int64_t queries = logits.dim(1);
  SAM3_RETURN_IF_ERROR(checked("pred_boxes", Dims{1, queries, 4}));
  SAM3_RETURN_IF_ERROR(checked("presence_logits", Dims{1, 1}));
  const auto boxes = values.at("pred_boxes").floats();
  const float presence = sigmoid(values.at("presence_logits").floats()[0]);
  std::vector<Detection> detections;
  for (std::size_t query = 0; query < static_cast<std::size_t>(queries); ++query) {
    const float score = sigmoid(logits.floats()[query]) * presence;
    if (!(static_cast<double>(score) > options.threshold)) continue;
    const auto corners = boxes.subspan(4 * query).first<4>();
    if (std::any_of(corners.begin(), corners.end(), [](float v) { return !std::isfinite(v); }))
      continue;
    Detection detection;
    detection.prompt = prompt;
    detection.score = score;
    detection.box = clamped_box(corners, picture.width, picture.height, picture);
    detection.query = static_cast<int>(query);
    detections.push_back(std::move(detection));
  }
  sort_by_score(detections, options.limit);
  Dims kept;
  for (const Detection& detection : detections) kept.push_back(detection.query);
  if (options.masks && !kept.empty()) {
    SAM3_ASSIGN_OR_RETURN(const Detector::Masks masks, detector_->masks(values, kept));
    const std::int64_t planes = masks.only_kept ? static_cast<std::int64_t>(kept.size()) : queries;
    SAM3_RETURN_IF_ERROR(check_shape(masks.bits, Dims{1, planes, -1, -1}, TensorType::kUint8,
                                     GraphKind::kDetector, "pred_masks_bits"));
    for (std::size_t i = 0; i < detections.size(); ++i) {
      const int plane = masks.only_kept ? static_cast<int>(i) : detections[i].query;
      detections[i].source =
          std::make_shared<BitMaskSource>(masks.bits, plane, bit_order_, picture);
    }
  }
  return detections;
}

}  // namespace

Result<std::unique_ptr<const TextWorkflow>> create_five_graph_text(const Package& package,
                                                                   const WorkflowContext& context,
                                                                   Tokenizer tokenizer) {
  SAM3_ASSIGN_OR_RETURN(CheckedGraphs graphs, package.check(Workflow::kText));
  auto workflow = std::make_unique<FiveGraphText>(package, context, std::move(tokenizer));
  SAM3_RETURN_IF_ERROR(workflow->prepare(std::move(graphs)));
  return std::unique_ptr<const TextWorkflow>(std::move(workflow));
}

}  // namespace sam3::model
