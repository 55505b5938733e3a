// What two masks have in common.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sam3/mask.h"

namespace sam3::mask {

// The rows [y0, y1) and words [word0, word1) of a row outside which a mask has no set pixel, all
// zero when it has none, and the number of set pixels. Comparing many masks with each other needs
// it once for each.
struct Footprint {
  int y0 = 0;
  int y1 = 0;
  std::size_t word0 = 0;
  std::size_t word1 = 0;
  std::int64_t area = 0;
};

Footprint footprint(const Mask& mask);

// Set bits of a word of a mask. Most words are empty or full, and without the processor's own
// instruction, which not every build may use, counting is slow.
inline int count_bits(std::uint64_t word) {
  if (word == 0) return 0;
  return ~word == 0 ? 64 : std::popcount(word);
}

// Number of pixels set in both masks, which have the same size. The footprints are those of `a`
// and `b`; only where they meet is anything read.
std::int64_t intersection_area(const Mask& a, const Footprint& a_footprint, const Mask& b,
                               const Footprint& b_footprint);
std::int64_t intersection_area(const Mask& a, const Mask& b);

// Intersection over union from the areas; 0 when both masks are empty.
double iou_of_areas(std::int64_t a, std::int64_t b, std::int64_t intersection);

}  // namespace sam3::mask
