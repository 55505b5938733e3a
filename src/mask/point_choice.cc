#include "mask/point_choice.h"

#include <cmath>
#include <cstddef>

namespace sam3::mask {

ChoiceRule choice_rule(std::span<const std::int64_t> labels) {
  int positive = 0;
  for (const std::int64_t label : labels) {
    if (label == kPaddingLabel) continue;
    if (label != kPositiveLabel) return ChoiceRule::kStableFirst;
    ++positive;
  }
  return positive == 1 ? ChoiceRule::kBestIou : ChoiceRule::kStableFirst;
}

double stability(std::span<const float> logits) {
  std::int64_t sure = 0;
  std::int64_t possible = 0;
  for (const float logit : logits) {
    sure += logit > kStabilityOffset;
    possible += logit > -kStabilityOffset;
  }
  return possible == 0 ? 1.0 : static_cast<double>(sure) / static_cast<double>(possible);
}

PointChoice choose_mask(std::span<const float> logits, std::span<const float> ious,
                        ChoiceRule rule) {
  PointChoice choice;
  choice.stability = stability(logits.first(logits.size() / ious.size()));
  const bool use_first = rule == ChoiceRule::kStableFirst && choice.stability >= kMinStability;
  if (ious.size() > 1 && !use_first) {
    std::size_t best = 1;
    for (std::size_t token = 2; token < ious.size(); ++token) {
      const bool replaces_nan = std::isnan(ious[best]) && !std::isnan(ious[token]);
      if (replaces_nan || ious[token] > ious[best]) best = token;
    }
    choice.token = static_cast<int>(best);
  }
  choice.iou = ious[static_cast<std::size_t>(choice.token)];
  return choice;
}

}  // namespace sam3::mask
