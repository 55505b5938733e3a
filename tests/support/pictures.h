// Pictures for tests that are not about reading files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sam3/picture.h"

namespace sam3::test {

// colour(x, y, channel) for every pixel.
inline Picture make_picture(Size size, const std::function<std::uint8_t(int, int, int)>& colour) {
  const auto count =
      std::size_t{3} * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  auto pixels = std::make_shared<std::vector<std::uint8_t>>(count);
  std::size_t at = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int c = 0; c < 3; ++c) (*pixels)[at++] = colour(x, y, c);
  const std::uint8_t* data = pixels->data();
  return Picture(size, std::shared_ptr<const std::uint8_t>(std::move(pixels), data));
}

}  // namespace sam3::test
