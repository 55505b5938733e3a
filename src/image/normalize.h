// From interleaved bytes to the planes that a graph takes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "sam3/picture.h"

namespace sam3::image {

// Per channel, in the order red, green, blue, for values scaled to [0, 1].
struct Normalization {
  std::array<float, 3> mean;
  std::array<float, 3> std;
};

// Writes the red, then the green, then the blue plane (CHW), each value as
// (v / 255 - mean) / std. `planes` holds 3 * width * height values.
void write_float_planes(const Picture& picture, const Normalization& normalization,
                        std::span<float> planes, const ParallelFor& runner);

// The same planes as bytes, for graphs that normalise by themselves.
void write_byte_planes(const Picture& picture, std::span<std::uint8_t> planes,
                       const ParallelFor& runner);

}  // namespace sam3::image
