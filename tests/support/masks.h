// Comparing masks with packed reference masks.
#pragma once

#include <cstdint>
#include <vector>

#include "sam3/mask.h"

namespace sam3::test {

// How many pixels of `mask` differ from the `index`-th of packed masks [K, H, ceil(W/8)], first
// column in the highest bit.
inline std::int64_t differing_pixels(const Mask& mask, const std::vector<std::uint8_t>& packed,
                                     std::size_t index = 0) {
  const auto bytes_per_row = static_cast<std::size_t>(mask.width() + 7) / 8;
  const auto height = static_cast<std::size_t>(mask.height());
  std::int64_t count = 0;
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x) {
      const std::size_t row = index * height + static_cast<std::size_t>(y);
      const std::uint8_t byte = packed[row * bytes_per_row + static_cast<std::size_t>(x) / 8];
      count += mask.at(x, y) != ((byte >> (7 - x % 8) & 1) != 0);
    }
  return count;
}

}  // namespace sam3::test
