#include "made_up_picture.h"

#include <cstdint>
#include <memory>

namespace sam3::cli {

Picture made_up_picture() {
  constexpr Size kSize{384, 256};
  constexpr std::size_t kBytes = std::size_t{3} * kSize.width * kSize.height;
  std::shared_ptr<std::uint8_t> rgb(new std::uint8_t[kBytes],
                                    std::default_delete<std::uint8_t[]>());
  for (int i = 0; i < kSize.width * kSize.height; ++i) {
    const int x = i % kSize.width;
    const int y = i / kSize.width;
    const bool inside = x >= 118 && x < 218 && y >= 78 && y < 178;
    rgb.get()[3 * i] = static_cast<std::uint8_t>(inside ? 220 : 150 + x / 8);
    rgb.get()[3 * i + 1] = static_cast<std::uint8_t>(inside ? 20 : 150 + y / 6);
    rgb.get()[3 * i + 2] = static_cast<std::uint8_t>(inside ? 30 : 190);
  }
  return {kSize, rgb};
}

}  // namespace sam3::cli
