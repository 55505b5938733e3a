// The text workflow of the browser family: sam3_image_encoder, sam3_language_encoder, sam3_decoder.
// Source of the contract: the browser family's card and the exporter it comes from. The decoder
// filters by score and enlarges the masks inside the graph; one example box may go along with the
// phrase.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/macros.h"
#include "model/mask_source.h"
#include "model/preprocess.h"
#include "model/text_workflow.h"

namespace sam3::model {
namespace {

using runtime::NamedTensor;
using runtime::Tensor;
using runtime::TensorType;

// What a box without a phrase asks for; the original's own word.
constexpr double kUsualThreshold = 0.5;
// Inputs of the decoder, in the order of the language encoder's outputs that they take.
constexpr std::array kDecoderNames{"language_mask", "language_features", "language_embeds"};

class BrowserText : public TextWorkflow {
 public:
  BrowserText(const WorkflowContext& context, Tokenizer tokenizer)
      : TextWorkflow(context, std::move(tokenizer)) {}

  Status prepare(CheckedGraphs graphs);

  Status load() const override;
  Result<std::shared_ptr<const Features>> encode(const Picture& picture) const override;
  Result<std::vector<Detection>> detect(const Features& features, std::string_view prompt,
                                        const DetectOptions& options) const override;
  Result<Tensor> input(const Picture& picture) const override {
    return pixel_bytes(picture, image_size_, context_.runner);
  }

 private:
  Result<PhraseCache::Tensors> phrase(std::string_view prompt) const;
  void add(std::vector<NamedTensor>& inputs, std::string_view name, Tensor tensor) const;
  Result<std::vector<Detection>> collect(const std::vector<Tensor>& outputs, Size picture,
                                         std::string_view prompt,
                                         const DetectOptions& options) const;

  std::vector<std::string> encoder_outputs_;
  std::vector<std::string> language_outputs_;
  std::set<std::string, std::less<>>
      decoder_inputs_;  // the exporter drops those that do not matter
  double baked_threshold_ = kUsualThreshold;
  std::unique_ptr<LazySession> image_;
  std::unique_ptr<LazySession> language_;
  std::unique_ptr<LazySession> decoder_;
  mutable PhraseCache phrases_;
};

// The constant that scores are compared with, on the way back from the output `scores`.
double find_threshold(const graph::ModelFile& decoder) {
  constexpr std::size_t kMostValues = 64;
  std::vector<std::string> todo{"scores"};
  std::set<std::string> seen;
  for (std::size_t at = 0; at < todo.size() && seen.size() < kMostValues; ++at) {
    if (!seen.insert(todo[at]).second) continue;
    const graph::Node* node = decoder.producer_of(todo[at]);
    if (!node) continue;
    if ((node->op_type == "Greater" || node->op_type == "GreaterOrEqual") &&
        node->inputs.size() == 2) {
      const auto constant = decoder.constant(node->inputs[1]);
      if (constant && constant->size() == 1) return constant->front();
      continue;
    }
    for (const std::string& input : node->inputs) todo.push_back(input);
  }
  return kUsualThreshold;
}

Status BrowserText::prepare(CheckedGraphs graphs) {
  const graph::ModelFile& image = graphs.at(GraphKind::kBrowserImageEncoder);
  const graph::ModelFile& language = graphs.at(GraphKind::kBrowserLanguageEncoder);
  const graph::ModelFile& decoder = graphs.at(GraphKind::kBrowserDecoder);
  image_size_ = static_cast<int>(image.find_input("image")->dims[1]);
  text_length_ = static_cast<int>(language.find_input("tokens")->dims[1]);
  if (image_size_ < 1 || text_length_ < 3)
    return Error{ErrorCode::kUnsupported,
                 "the size of image or tokens is not a number in the graphs", "", ""};
  for (const auto& input : decoder.inputs()) decoder_inputs_.insert(input.name);
  for (const auto& output : image.outputs())
    if (decoder_inputs_.contains(output.name)) encoder_outputs_.push_back(output.name);
  language_outputs_ = {"text_attention_mask", "text_memory"};
  if (decoder_inputs_.contains("language_embeds")) language_outputs_.emplace_back("text_embeds");
  baked_threshold_ = find_threshold(decoder);
  const auto lazy = [&](GraphKind kind) -> Result<std::unique_ptr<LazySession>> {
    SAM3_ASSIGN_OR_RETURN(runtime::GraphSource source,
                          graph_source(graphs.take(kind), context_.rewrites));
    return std::make_unique<LazySession>(context_.engine, kind, std::move(source));
  };
  SAM3_ASSIGN_OR_RETURN(image_, lazy(GraphKind::kBrowserImageEncoder));
  SAM3_ASSIGN_OR_RETURN(language_, lazy(GraphKind::kBrowserLanguageEncoder));
  SAM3_ASSIGN_OR_RETURN(decoder_, lazy(GraphKind::kBrowserDecoder));
  return {};
}

Status BrowserText::load() const {
  for (LazySession* session : {image_.get(), language_.get(), decoder_.get()})
    if (auto opened = session->get(); !opened.ok()) return opened.error();
  return {};
}

Result<std::shared_ptr<const Features>> BrowserText::encode(const Picture& picture) const {
  SAM3_ASSIGN_OR_RETURN(Tensor pixels, input(picture));
  auto features = std::make_shared<Features>();
  features->picture = picture.size();
  features->maker = this;
  {
    SAM3_ASSIGN_OR_RETURN(const auto session, image_->get());
    const std::vector<NamedTensor> inputs{{"image", std::move(pixels)}};
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->run(inputs, encoder_outputs_));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      features->tensors.emplace_back(encoder_outputs_[i], std::move(outputs[i]));
  }
  if (context_.low_memory) image_->release();
  return std::shared_ptr<const Features>(std::move(features));
}

Result<PhraseCache::Tensors> BrowserText::phrase(std::string_view prompt) const {
  return phrases_.get(prompt, [&]() -> Result<PhraseCache::Tensors> {
    SAM3_ASSIGN_OR_RETURN(Encoding encoding, encode_prompt(prompt));
    const std::vector<NamedTensor> inputs{
        {"tokens", Tensor({1, text_length_}, std::move(encoding.ids))}};
    SAM3_ASSIGN_OR_RETURN(const auto session, language_->get());
    SAM3_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->run(inputs, language_outputs_));
    NamedTensors text;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      text.emplace(kDecoderNames[i], std::move(outputs[i]));
    return text;
  });
}

void BrowserText::add(std::vector<NamedTensor>& inputs, std::string_view name,
                      Tensor tensor) const {
  if (decoder_inputs_.contains(name)) inputs.push_back({name, std::move(tensor)});
}

Result<std::vector<Detection>> BrowserText::detect(const Features& features,
                                                   std::string_view prompt,
                                                   const DetectOptions& options) const {
  if (options.threshold < baked_threshold_)
    return Error{ErrorCode::kInvalidArgument,
                 "a threshold of " + std::to_string(options.threshold) +
                     " cannot be had: this decoder drops scores up to " +
                     std::to_string(baked_threshold_) + " inside its graph",
                 "", "sam3_decoder"};
  const std::string_view asked = options.exemplar && prompt.empty() ? kExemplarPrompt : prompt;
  SAM3_ASSIGN_OR_RETURN(const PhraseCache::Tensors text, phrase(asked));
  const Size picture = features.picture;
  std::vector<NamedTensor> inputs;
  for (const auto& [name, tensor] : features.tensors) inputs.push_back({name, tensor});
  using Ints = std::vector<std::int64_t>;
  using Bytes = std::vector<std::uint8_t>;
  add(inputs, "original_height", Tensor({}, Ints{picture.height}));
  add(inputs, "original_width", Tensor({}, Ints{picture.width}));
  for (const auto& [name, tensor] : text) add(inputs, name, tensor);
  const bool positive = !options.exemplar || options.exemplar->positive;
  add(inputs, "box_coords", Tensor({1, 1, 4}, box_coordinates(options.exemplar, picture)));
  add(inputs, "box_labels", Tensor({1, 1}, Ints{positive ? 1 : 0}));
  // True hides the box slot.
  add(inputs, "box_masks",
      Tensor::booleans({1, 1}, Bytes{options.exemplar ? std::uint8_t{0} : std::uint8_t{1}}));
  static const std::vector<std::string> kOutputs{"boxes", "scores", "masks"};
  SAM3_ASSIGN_OR_RETURN(const auto session, decoder_->get());
  SAM3_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, session->run(inputs, kOutputs));
  return collect(outputs, picture, asked, options);
}

Mask pack(const std::uint8_t* pixels, Size size) {
  Mask mask(size);
  for (int y = 0; y < size.height; ++y) {
    const std::uint8_t* row =
        pixels + static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width);
    for (int x = 0; x < size.width; ++x)
      if (row[x]) mask.set(x, y);
  }
  return mask;
}

Result<std::vector<Detection>> BrowserText::collect(const std::vector<Tensor>& outputs,
                                                    Size picture, std::string_view prompt,
                                                    const DetectOptions& options) const {
  const GraphKind decoder = GraphKind::kBrowserDecoder;
  SAM3_RETURN_IF_ERROR(check_shape(outputs[1], std::vector<std::int64_t>{-1}, TensorType::kFloat,
                                   decoder, "scores"));
  const std::int64_t count = outputs[1].dim(0);
  SAM3_RETURN_IF_ERROR(check_shape(outputs[0], std::vector<std::int64_t>{count, 4},
                                   TensorType::kFloat, decoder, "boxes"));
  SAM3_RETURN_IF_ERROR(
      check_shape(outputs[2], std::vector<std::int64_t>{count, 1, picture.height, picture.width},
                  TensorType::kBool, decoder, "masks"));
  const std::size_t pixels =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const float score = outputs[1].floats()[i];
    if (!(static_cast<double>(score) > options.threshold)) continue;
    Detection detection;
    detection.prompt = prompt;
    detection.score = score;
    detection.box = clamped_box(outputs[0].floats().subspan(4 * i).first<4>(), 1.0, 1.0, picture);
    detection.query = static_cast<int>(i);
    if (options.masks)
      detection.source =
          std::make_shared<ReadyMaskSource>(pack(outputs[2].bytes().data() + i * pixels, picture));
    detections.push_back(std::move(detection));
  }
  sort_by_score(detections, options.limit);
  return detections;
}

}  // namespace

Result<std::unique_ptr<const TextWorkflow>> create_browser_text(const Package& package,
                                                                const WorkflowContext& context,
                                                                Tokenizer tokenizer) {
  SAM3_ASSIGN_OR_RETURN(CheckedGraphs graphs, package.check(Workflow::kText));
  auto workflow = std::make_unique<BrowserText>(context, std::move(tokenizer));
  SAM3_RETURN_IF_ERROR(workflow->prepare(std::move(graphs)));
  return std::unique_ptr<const TextWorkflow>(std::move(workflow));
}

}  // namespace sam3::model
