// "Which object is under these clicks": tracker_vision_encoder and prompt_decoder.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/features.h"
#include "model/lazy_session.h"
#include "model/package.h"
#include "model/preprocess.h"
#include "model/text_workflow.h"
#include "sam3/model.h"

namespace sam3::model {

// A prompt as the decoder takes it.
struct DecoderPoints {
  std::vector<float> coordinates;    // x, y in pixels of the model's square input
  std::vector<std::int64_t> labels;  // 1 positive, 0 negative, 2 and 3 the corners of the box
};

// Corners first, then positive, then negative clicks. kInvalidArgument for a prompt without points,
// a click outside the picture, a value that is no number, and a box that is empty, lies outside the
// picture or covers less than a pixel (a box in fractions instead of pixels does).
Result<DecoderPoints> decoder_points(const PointPrompt& prompt, Size picture, int side);

// The box's corners put in order and clipped to the picture; errors as above.
Result<Box> checked_box(const Box& box, Size picture);

class PointWorkflow {
 public:
  // Checks the package's graphs of the workflow; opens none.
  static Result<std::unique_ptr<const PointWorkflow>> create(const Package& package,
                                                             const WorkflowContext& context);

  Status load() const;
  Result<std::shared_ptr<const Features>> encode(const Picture& picture) const;
  Result<Selection> segment(const Features& features, const PointPrompt& prompt) const;
  Result<runtime::Tensor> input(const Picture& picture) const {
    return pixel_values(picture, image_size_, normalization_, context_.runner);
  }
  int image_size() const { return image_size_; }

 private:
  PointWorkflow(const Package& package, const WorkflowContext& context)
      : context_(context), normalization_{package.mean(), package.std_deviation()} {}

  WorkflowContext context_;
  image::Normalization normalization_;
  int image_size_ = 0;
  std::unique_ptr<LazySession> vision_;
  std::unique_ptr<LazySession> decoder_;
};

}  // namespace sam3::model
