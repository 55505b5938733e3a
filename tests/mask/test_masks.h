// Masks for the tests of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sam3/mask.h"

namespace sam3::test {

// From rows of '0' and '1'.
inline Mask mask_of(const std::vector<std::string>& rows) {
  Mask mask(Size{static_cast<int>(rows.at(0).size()), static_cast<int>(rows.size())});
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x)
      if (rows[static_cast<std::size_t>(y)].at(static_cast<std::size_t>(x)) == '1') mask.set(x, y);
  return mask;
}

// All pixels with x0 <= x < x1 and y0 <= y < y1.
inline Mask rectangle(Size size, int x0, int y0, int x1, int y1) {
  Mask mask(size);
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) mask.set(x, y);
  return mask;
}

// Every pixel set with the given probability.
inline Mask noise(Size size, double probability, std::mt19937& random) {
  Mask mask(size);
  std::bernoulli_distribution is_set(probability);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (is_set(random)) mask.set(x, y);
  return mask;
}

// Sizes around the borders of bytes and words, and long thin ones.
inline Size random_size(std::mt19937& random) {
  std::uniform_int_distribution<int> any(1, 200);
  std::uniform_int_distribution<int> kind(0, 4);
  const int multiple = 64 * std::uniform_int_distribution<int>(1, 3)(random);
  switch (kind(random)) {
    case 0:
      return {1, any(random)};
    case 1:
      return {any(random), 1};
    case 2:
      return {multiple + std::uniform_int_distribution<int>(-1, 1)(random), any(random)};
    default:
      return {any(random), any(random)};
  }
}

inline std::string data_path(const std::string& name) {
  return std::string(SAM3_TEST_DATA "/mask/") + name;
}

inline nlohmann::json load_json(const std::string& name) {
  std::ifstream file(data_path(name));
  if (!file) throw std::runtime_error(name + ": cannot be opened");
  return nlohmann::json::parse(file);
}

}  // namespace sam3::test
