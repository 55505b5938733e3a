// The input pictures of the resize goldens, made by formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sam3/picture.h"

namespace sam3::test {

inline std::uint8_t noise_value(std::uint32_t x, std::uint32_t y, std::uint32_t c) {
  std::uint32_t h = x * 73856093U ^ y * 19349663U ^ c * 83492791U;
  h ^= h >> 13;
  h *= 0x5bd1e995U;
  h ^= h >> 15;
  return static_cast<std::uint8_t>(h);
}

inline std::uint8_t blocks_value(std::uint32_t x, std::uint32_t y, std::uint32_t c) {
  const std::uint32_t value =
      ((x / 16 + y / 16) & 1) == 0 ? 5 * x + 3 * y + 40 * c : x * y / 7 + 85 * c;
  return static_cast<std::uint8_t>(value);
}

// `value(x, y, channel)` for every byte.
template <typename Value>
Picture make_picture(Size size, const Value& value) {
  const std::size_t bytes =
      std::size_t{3} * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  std::shared_ptr<std::uint8_t> rgb(new std::uint8_t[bytes], std::default_delete<std::uint8_t[]>());
  std::uint8_t* next = rgb.get();
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (unsigned c = 0; c < 3; ++c)
        *next++ = value(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), c);
  return Picture(size, std::move(rgb));
}

inline Picture make_pattern(const std::string& name, Size size) {
  return name == "noise" ? make_picture(size, noise_value) : make_picture(size, blocks_value);
}

}  // namespace sam3::test
