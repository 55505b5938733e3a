// "Where is every object that this phrase names": the same questions to both families of graphs.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "model/features.h"
#include "model/lazy_session.h"
#include "model/package.h"
#include "rewrite/rewrites.h"
#include "runtime/tensor.h"
#include "sam3/model.h"
#include "text/tokenizer.h"

namespace sam3::model {

// What every workflow needs of its surroundings.
struct WorkflowContext {
  std::shared_ptr<const runtime::Engine> engine;
  ParallelFor runner;
  bool low_memory = false;
  rewrite::Rewrites rewrites;
};

class TextWorkflow {
 public:
  // Checks the package's graphs of the workflow and reads its tokenizer; opens no graph.
  static Result<std::unique_ptr<const TextWorkflow>> create(const Package& package,
                                                            const WorkflowContext& context);
  virtual ~TextWorkflow() = default;

  // Opens all graphs now.
  virtual Status load() const = 0;
  virtual Result<std::shared_ptr<const Features>> encode(const Picture& picture) const = 0;
  virtual Result<std::vector<Detection>> detect(const Features& features, std::string_view prompt,
                                                const DetectOptions& options) const = 0;
  virtual Result<runtime::Tensor> input(const Picture& picture) const = 0;

  Result<Tokens> tokenize(std::string_view text) const;
  int image_size() const { return image_size_; }
  int text_length() const { return text_length_; }

 protected:
  TextWorkflow(const WorkflowContext& context, Tokenizer tokenizer)
      : context_(context), tokenizer_(std::move(tokenizer)) {}

  // kInvalidArgument for a prompt that is blank or no valid UTF-8.
  Result<Encoding> encode_prompt(std::string_view prompt) const;

  WorkflowContext context_;
  Tokenizer tokenizer_;
  int image_size_ = 0;
  int text_length_ = 0;
};

// Tensors of the phrases asked last, so that a phrase is encoded once for many pictures.
class PhraseCache {
 public:
  using Tensors = NamedTensors;
  // `make` runs without a lock; two callers may make the same phrase, with equal results.
  Result<Tensors> get(std::string_view phrase, const std::function<Result<Tensors>()>& make);

 private:
  // Many more phrases than a list of classes has; a phrase takes some ten kilobytes.
  static constexpr std::size_t kCapacity = 1024;

  struct Entry {
    std::string phrase;
    Tensors tensors;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

// Sigmoid of a logit in float32, as the reference computes scores.
float sigmoid(float logit);

// The prompt that stands for "what the example shows".
inline constexpr std::string_view kExemplarPrompt = "visual";

// Centre and size of an example box as fractions of the picture; zeros without one.
std::vector<float> box_coordinates(const std::optional<Exemplar>& exemplar, Size picture);

// From corners to a box inside the picture; corners may come as fractions of the picture (scale by
// its size) or as pixels (scale 1, 1).
Box clamped_box(std::span<const float, 4> corners, double scale_x, double scale_y, Size picture);

// By falling score; equal scores stay in the detector's order. Leaves the first `limit`, 0 for all.
void sort_by_score(std::vector<Detection>& detections, std::size_t limit);

// Adds what a run gave to the error of an output whose type or size is not the declared one.
Status check_shape(const runtime::Tensor& tensor, std::span<const std::int64_t> dims,
                   runtime::TensorType type, GraphKind graph, std::string_view name);

Result<std::unique_ptr<const TextWorkflow>> create_five_graph_text(const Package& package,
                                                                   const WorkflowContext& context,
                                                                   Tokenizer tokenizer);
Result<std::unique_ptr<const TextWorkflow>> create_browser_text(const Package& package,
                                                                const WorkflowContext& context,
                                                                Tokenizer tokenizer);

}  // namespace sam3::model
