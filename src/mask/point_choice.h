// Which of the prompt decoder's masks is the answer.
//
// Source: the model card of the five-graph family and the mask decoder of the original model. Token
// 0 answers unambiguous prompts; the others offer several readings of an ambiguous one.
#pragma once

#include <cstdint>
#include <span>

namespace sam3::mask {

// A logit this far above or below zero counts as sure; the card's stability ratio.
inline constexpr float kStabilityOffset = 0.05F;
// Token 0 is used from this stability on; the card's bound.
inline constexpr double kMinStability = 0.98;

// Labels of the prompt decoder's points: 0 and 1 are clicks, 2 and 3 the corners of a box.
inline constexpr std::int64_t kPositiveLabel = 1;
inline constexpr std::int64_t kPaddingLabel = -1;

enum class ChoiceRule {
  kBestIou,     // the best predicted IoU of all tokens but the first
  kStableFirst  // token 0 if it is stable, else as kBestIou
};

// kBestIou for exactly one positive click and nothing else (padding points do not count),
// kStableFirst for every other prompt.
ChoiceRule choice_rule(std::span<const std::int64_t> labels);

// Count of logits above kStabilityOffset over the count above -kStabilityOffset; 1 if there are
// none of the latter. Values that are not numbers are not counted.
double stability(std::span<const float> logits);

struct PointChoice {
  int token = 0;
  float iou = 0;         // predicted for the chosen token
  double stability = 0;  // of token 0, whichever was chosen
};

// Chooses among `ious.size()` masks (at least one); `logits` holds them one after the other, all of
// the same size. Of equal IoUs the first token wins; an IoU that is not a number loses against any
// other. With one token there is nothing to choose.
PointChoice choose_mask(std::span<const float> logits, std::span<const float> ious,
                        ChoiceRule rule);

}  // namespace sam3::mask
