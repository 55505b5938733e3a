#include "mask/merge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "mask/overlap.h"

namespace sam3::mask {
namespace {

std::vector<std::size_t> by_falling_score(std::span<const MergeCandidate> candidates) {
  // Comparisons with NaN would leave the order undefined.
  const auto comparable = [](double value) {
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  const auto key = [&](std::size_t i) {
    const MergeCandidate& c = candidates[i];
    return std::tuple(-comparable(c.score), c.class_name, comparable(c.box.x0),
                      comparable(c.box.y0), comparable(c.box.x1), comparable(c.box.y1));
  };
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

std::vector<MergeOutcome> merge_across_classes(std::span<const MergeCandidate> candidates,
                                               double overlap) {
  std::vector<MergeOutcome> outcomes(candidates.size());
  if (overlap >= 1) return outcomes;
  std::vector<Footprint> footprints;
  footprints.reserve(candidates.size());
  for (const MergeCandidate& candidate : candidates)
    footprints.push_back(footprint(*candidate.mask));

  std::vector<std::size_t> kept;
  for (const std::size_t current : by_falling_score(candidates)) {
    MergeOutcome& outcome = outcomes[current];
    for (const std::size_t other : kept) {
      if (candidates[other].class_name == candidates[current].class_name) continue;
      const std::int64_t common = intersection_area(*candidates[current].mask, footprints[current],
                                                    *candidates[other].mask, footprints[other]);
      const double iou = iou_of_areas(footprints[current].area, footprints[other].area, common);
      // The IoU is 0 at first, so masks without a common pixel do not merge.
      if (iou >= overlap && iou > outcome.iou) outcome = {other, iou};
    }
    if (!outcome.into) kept.push_back(current);
  }
  return outcomes;
}

}  // namespace sam3::mask
