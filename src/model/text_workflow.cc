#include "model/text_workflow.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/macros.h"

namespace sam3::model {

Result<std::unique_ptr<const TextWorkflow>> TextWorkflow::create(const Package& package,
                                                                 const WorkflowContext& context) {
  SAM3_ASSIGN_OR_RETURN(const std::filesystem::path path, package.tokenizer_path());
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const bool browser = package.family() == Family::kBrowser;
  Result<Tokenizer> tokenizer =
      browser ? Tokenizer::from_clip_json(bytes) : Tokenizer::from_tokenizer_json(bytes);
  if (!tokenizer.ok()) {
    Error error = tokenizer.error();
    error.file = path.string();
    return error;
  }
  return browser ? create_browser_text(package, context, std::move(*tokenizer))
                 : create_five_graph_text(package, context, std::move(*tokenizer));
}

Result<Tokens> TextWorkflow::tokenize(std::string_view text) const {
  SAM3_ASSIGN_OR_RETURN(Encoding encoding, tokenizer_.encode(text, text_length_));
  return Tokens{std::move(encoding.ids), std::move(encoding.mask), std::move(encoding.dropped)};
}

Result<Encoding> TextWorkflow::encode_prompt(std::string_view prompt) const {
  SAM3_ASSIGN_OR_RETURN(Encoding encoding, tokenizer_.encode(prompt, text_length_));
  if (Tokenizer::is_blank(prompt))
    return Error{ErrorCode::kInvalidArgument, "the prompt is empty or blank", "", ""};
  return encoding;
}

Result<PhraseCache::Tensors> PhraseCache::get(std::string_view phrase,
                                              const std::function<Result<Tensors>()>& make) {
  const std::string key(phrase);
  {
    std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->tensors;
    }
  }
  SAM3_ASSIGN_OR_RETURN(Tensors tensors, make());
  std::lock_guard lock(mutex_);
  if (!index_.contains(key)) {
    entries_.push_front({key, tensors});
    index_[key] = entries_.begin();
    if (entries_.size() > kCapacity) {
      index_.erase(entries_.back().phrase);
      entries_.pop_back();
    }
  }
  return tensors;
}

std::vector<float> box_coordinates(const std::optional<Exemplar>& exemplar, Size picture) {
  if (!exemplar) return {0, 0, 0, 0};
  const Box& box = exemplar->box;
  const auto fraction = [](double value, int side) { return static_cast<float>(value / side); };
  return {fraction((box.x0 + box.x1) / 2, picture.width),
          fraction((box.y0 + box.y1) / 2, picture.height), fraction(box.x1 - box.x0, picture.width),
          fraction(box.y1 - box.y0, picture.height)};
}

float sigmoid(float logit) { return 1.0F / (1.0F + std::exp(-logit)); }

Box clamped_box(std::span<const float, 4> corners, double scale_x, double scale_y, Size picture) {
  const auto x = [&](float value) {
    return std::clamp(static_cast<double>(value) * scale_x, 0.0,
                      static_cast<double>(picture.width));
  };
  const auto y = [&](float value) {
    return std::clamp(static_cast<double>(value) * scale_y, 0.0,
                      static_cast<double>(picture.height));
  };
  return {x(corners[0]), y(corners[1]), x(corners[2]), y(corners[3])};
}

void sort_by_score(std::vector<Detection>& detections, std::size_t limit) {
  std::stable_sort(detections.begin(), detections.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (limit > 0 && detections.size() > limit) detections.resize(limit);
}

Status check_shape(const runtime::Tensor& tensor, std::span<const std::int64_t> dims,
                   runtime::TensorType type, GraphKind graph, std::string_view name) {
  const bool same_rank = tensor.dims().size() == dims.size();
  bool same = same_rank && tensor.type() == type;
  for (std::size_t i = 0; same && i < dims.size(); ++i)
    same = dims[i] < 0 || dims[i] == tensor.dim(i);
  if (same) return {};
  return Error{ErrorCode::kRuntime,
               "output '" + std::string(name) + "' came as " + to_string(tensor.type()) + " " +
                   runtime::shape_text(tensor.dims()) + " instead of " + to_string(type) + " " +
                   runtime::shape_text(dims),
               "", std::string(graph_name(graph))};
}

}  // namespace sam3::model
