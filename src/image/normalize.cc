#include "image/normalize.h"

#include <algorithm>
#include <cstddef>

namespace sam3::image {
namespace {

constexpr std::int64_t kRowsPerBand = 64;

// Calls convert(channel, byte) for every byte and puts the results into planes.
template <typename T, typename Convert>
void write_planes(const Picture& picture, std::span<T> planes, const ParallelFor& runner,
                  const Convert& convert) {
  const std::int64_t width = picture.width();
  const std::int64_t height = picture.height();
  T* red = planes.data();
  T* green = red + width * height;
  T* blue = green + width * height;
  runner((height + kRowsPerBand - 1) / kRowsPerBand, [&](std::int64_t band) {
    const std::int64_t begin = band * kRowsPerBand * width;
    const std::int64_t end = std::min((band + 1) * kRowsPerBand, height) * width;
    const std::uint8_t* pixel = picture.data() + 3 * begin;
    for (std::int64_t i = begin; i < end; ++i, pixel += 3) {
      red[i] = convert(0, pixel[0]);
      green[i] = convert(1, pixel[1]);
      blue[i] = convert(2, pixel[2]);
    }
  });
}

}  // namespace

void write_float_planes(const Picture& picture, const Normalization& normalization,
                        std::span<float> planes, const ParallelFor& runner) {
  std::array<std::array<float, 256>, 3> values;
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t value = 0; value < 256; ++value)
      values[channel][value] = (static_cast<float>(value) / 255.0F - normalization.mean[channel]) /
                               normalization.std[channel];
  write_planes(picture, planes, runner,
               [&](std::size_t channel, std::uint8_t value) { return values[channel][value]; });
}

void write_byte_planes(const Picture& picture, std::span<std::uint8_t> planes,
                       const ParallelFor& runner) {
  write_planes(picture, planes, runner, [](std::size_t, std::uint8_t value) { return value; });
}

}  // namespace sam3::image
