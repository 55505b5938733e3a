#include "formats/pixel_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sam3::formats {
namespace {

template <typename T>
std::uint8_t to_byte(std::uint64_t value) {
  return static_cast<std::uint8_t>(value >> (8 * sizeof(T) - 8));
}

// (a * b) / most, rounded.
template <typename T>
std::uint64_t scaled(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
  return (a * b + kMost / 2) / kMost;
}

struct SampleLayout {
  int samples;  // a pixel
  int alpha;    // index of the alpha sample; negative without one
};

// `make(pixel, colour)` puts the three colours of a pixel into `colour`.
template <typename T, typename Make>
void convert(const T* source, std::int64_t count, SampleLayout layout, const Make& make,
             std::uint8_t* rgb) {
  constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
  const int alpha = layout.alpha;
  for (std::int64_t i = 0; i < count; ++i, source += layout.samples, rgb += 3) {
    std::uint64_t colour[3];
    make(source, colour);
    for (int c = 0; c < 3; ++c) {
      std::uint64_t value = colour[c];
      if (alpha >= 0) value = scaled<T>(value, source[alpha]) + (kMost - source[alpha]);
      rgb[c] = to_byte<T>(value);
    }
  }
}

template <typename T>
void convert_samples(const T* source, std::int64_t count, Channels channels, std::uint8_t* rgb) {
  const int samples = channel_count(channels);
  const auto grey = [](const T* pixel, std::uint64_t* colour) {
    colour[0] = colour[1] = colour[2] = pixel[0];
  };
  const auto plain = [](const T* pixel, std::uint64_t* colour) {
    for (int c = 0; c < 3; ++c) colour[c] = pixel[c];
  };
  const auto ink = [](const T* pixel, std::uint64_t* colour) {
    constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
    for (int c = 0; c < 3; ++c) colour[c] = scaled<T>(kMost - pixel[c], kMost - pixel[3]);
  };
  switch (channels) {
    case Channels::kGrey:
      return convert(source, count, {samples, -1}, grey, rgb);
    case Channels::kGreyAlpha:
      return convert(source, count, {samples, 1}, grey, rgb);
    case Channels::kRgb:
      return convert(source, count, {samples, -1}, plain, rgb);
    case Channels::kRgba:
      return convert(source, count, {samples, 3}, plain, rgb);
    case Channels::kCmyk:
      return convert(source, count, {samples, -1}, ink, rgb);
    case Channels::kCmykAlpha:
      return convert(source, count, {samples, 4}, ink, rgb);
  }
}

}  // namespace

int channel_count(Channels channels) {
  switch (channels) {
    case Channels::kGrey:
      return 1;
    case Channels::kGreyAlpha:
      return 2;
    case Channels::kRgb:
      return 3;
    case Channels::kRgba:
    case Channels::kCmyk:
      return 4;
    case Channels::kCmykAlpha:
      return 5;
  }
  return 0;
}

void convert_row(const std::uint8_t* source, std::int64_t count, Channels channels,
                 std::uint8_t* rgb) {
  convert_samples(source, count, channels, rgb);
}

void convert_row(const std::uint16_t* source, std::int64_t count, Channels channels,
                 std::uint8_t* rgb) {
  convert_samples(source, count, channels, rgb);
}

std::uint16_t highest_sample(const std::uint16_t* source, std::int64_t count, Channels channels,
                             std::uint16_t so_far) {
  const int samples = channel_count(channels);
  const bool alpha = channels == Channels::kGreyAlpha || channels == Channels::kRgba ||
                     channels == Channels::kCmykAlpha;
  const int colours = alpha ? samples - 1 : samples;
  for (std::int64_t i = 0; i < count; ++i, source += samples)
    for (int c = 0; c < colours; ++c) so_far = std::max(so_far, source[c]);
  return so_far;
}

// Meaning of the values: the side of the stored picture that is its top when upright, and whether
// it is mirrored (TIFF 6.0, tag 274).
Placement::Placement(Size stored, int orientation) : stored_(stored), size_(stored) {
  const bool transposed = orientation >= 5;
  if (transposed) size_ = {stored.height, stored.width};
  const std::int64_t row = size_.width;
  const std::int64_t last_column = size_.width - 1;
  const std::int64_t last_row = row * (size_.height - 1);
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const std::int64_t across = from_right ? -1 : 1;
  const std::int64_t down = from_bottom ? -row : row;
  origin_ = (from_right ? last_column : 0) + (from_bottom ? last_row : 0);
  step_x_ = transposed ? down : across;
  step_y_ = transposed ? across : down;
}

void Placement::place(const std::uint8_t* rgb, std::ptrdiff_t stride, std::int64_t first,
                      std::int64_t rows, std::uint8_t* target) const {
  const std::int64_t width = stored_.width;
  if (step_x_ == 1) {
    for (std::int64_t y = 0; y < rows; ++y)
      std::memcpy(target + 3 * (origin_ + (first + y) * step_y_), rgb + y * stride,
                  static_cast<std::size_t>(3 * width));
    return;
  }
  const auto copy = [&](std::int64_t x, std::int64_t y) {
    const std::uint8_t* from = rgb + y * stride + 3 * x;
    std::uint8_t* to = target + 3 * (origin_ + x * step_x_ + (first + y) * step_y_);
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
  };
  if (step_x_ == -1) {
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < width; ++x) copy(x, y);
  } else {  // a stored column becomes a row: neighbours in the target come first
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t y = 0; y < rows; ++y) copy(x, y);
  }
}

}  // namespace sam3::formats
