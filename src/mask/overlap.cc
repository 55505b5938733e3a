#include "mask/overlap.h"

#include <algorithm>
#include <span>

namespace sam3::mask {

Footprint footprint(const Mask& mask) {
  Footprint result;
  result.word0 = mask.words_per_row();
  for (int y = 0; y < mask.height(); ++y) {
    const std::span<const std::uint64_t> words = mask.row(y);
    std::size_t first = 0;
    while (first < words.size() && words[first] == 0) ++first;
    if (first == words.size()) continue;
    std::size_t last = words.size();
    while (words[last - 1] == 0) --last;
    if (result.area == 0) result.y0 = y;
    result.y1 = y + 1;
    result.word0 = std::min(result.word0, first);
    result.word1 = std::max(result.word1, last);
    for (std::size_t i = first; i < last; ++i) result.area += count_bits(words[i]);
  }
  return result.area == 0 ? Footprint{} : result;
}

std::int64_t intersection_area(const Mask& a, const Footprint& a_footprint, const Mask& b,
                               const Footprint& b_footprint) {
  const int y0 = std::max(a_footprint.y0, b_footprint.y0);
  const int y1 = std::min(a_footprint.y1, b_footprint.y1);
  const std::size_t word0 = std::max(a_footprint.word0, b_footprint.word0);
  const std::size_t word1 = std::min(a_footprint.word1, b_footprint.word1);
  std::int64_t area = 0;
  if (word0 >= word1) return area;
  for (int y = y0; y < y1; ++y) {
    const std::span<const std::uint64_t> a_words = a.row(y);
    const std::span<const std::uint64_t> b_words = b.row(y);
    for (std::size_t i = word0; i < word1; ++i) area += count_bits(a_words[i] & b_words[i]);
  }
  return area;
}

std::int64_t intersection_area(const Mask& a, const Mask& b) {
  return intersection_area(a, footprint(a), b, footprint(b));
}

double iou_of_areas(std::int64_t a, std::int64_t b, std::int64_t intersection) {
  const std::int64_t united = a + b - intersection;
  return united == 0 ? 0.0 : static_cast<double>(intersection) / static_cast<double>(united);
}

}  // namespace sam3::mask
