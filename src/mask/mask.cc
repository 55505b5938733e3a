#include "sam3/mask.h"

#include <bit>

#include "mask/overlap.h"

namespace sam3 {

Mask::Mask(Size size)
    : size_(size),
      words_per_row_((static_cast<std::size_t>(size.width) + 63) / 64),
      words_(words_per_row_ * static_cast<std::size_t>(size.height)) {}

std::span<const std::uint64_t> Mask::row(int y) const {
  return {words_.data() + static_cast<std::size_t>(y) * words_per_row_, words_per_row_};
}

std::span<std::uint64_t> Mask::row(int y) {
  return {words_.data() + static_cast<std::size_t>(y) * words_per_row_, words_per_row_};
}

std::int64_t Mask::area() const {
  std::int64_t area = 0;
  for (const std::uint64_t word : words_) area += mask::count_bits(word);
  return area;
}

Box Mask::tight_box() const {
  std::vector<std::uint64_t> columns(words_per_row_);
  int first = 0;
  int last = -1;
  for (int y = 0; y < size_.height; ++y) {
    std::uint64_t any = 0;
    const std::span<const std::uint64_t> words = row(y);
    for (std::size_t i = 0; i < words.size(); ++i) {
      any |= words[i];
      columns[i] |= words[i];
    }
    if (any == 0) continue;
    if (last < 0) first = y;
    last = y;
  }
  if (last < 0) return {};
  std::size_t left = 0;
  while (columns[left] == 0) ++left;
  std::size_t right = columns.size() - 1;
  while (columns[right] == 0) --right;
  return {static_cast<double>(left * 64) + std::countr_zero(columns[left]),
          static_cast<double>(first),
          static_cast<double>(right * 64 + 64) - std::countl_zero(columns[right]),
          static_cast<double>(last) + 1};
}

double mask_iou(const Mask& a, const Mask& b) {
  const mask::Footprint a_footprint = mask::footprint(a);
  const mask::Footprint b_footprint = mask::footprint(b);
  return mask::iou_of_areas(a_footprint.area, b_footprint.area,
                            mask::intersection_area(a, a_footprint, b, b_footprint));
}

}  // namespace sam3
