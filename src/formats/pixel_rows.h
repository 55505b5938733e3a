// Rows of samples as decoders give them, made into upright RGB.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sam3/picture.h"

namespace sam3::formats {

enum class Channels { kGrey, kGreyAlpha, kRgb, kRgba, kCmyk, kCmykAlpha };

// Samples per pixel.
int channel_count(Channels channels);

// `count` pixels to RGB, flattened on white, 16 bits scaled by v >> 8.
void convert_row(const std::uint8_t* source, std::int64_t count, Channels channels,
                 std::uint8_t* rgb);
void convert_row(const std::uint16_t* source, std::int64_t count, Channels channels,
                 std::uint8_t* rgb);

// The highest colour sample (alpha left out) of a row, or `so_far` if that is higher.
std::uint16_t highest_sample(const std::uint16_t* source, std::int64_t count, Channels channels,
                             std::uint16_t so_far);

// Where the stored pixels of a picture go so that it stands upright; `orientation` is the value of
// EXIF, 1 to 8.
class Placement {
 public:
  Placement(Size stored, int orientation);

  // Size after turning.
  Size size() const { return size_; }
  // Writes `rows` stored rows from `first` on, given as RGB `stride` bytes apart, into the upright
  // picture at `target`.
  void place(const std::uint8_t* rgb, std::ptrdiff_t stride, std::int64_t first, std::int64_t rows,
             std::uint8_t* target) const;

 private:
  Size stored_;
  Size size_;
  // Position, in pixels of the target, of the stored pixel (x, y): origin_ + x * step_x_ +
  // y * step_y_.
  std::int64_t origin_ = 0;
  std::int64_t step_x_ = 1;
  std::int64_t step_y_ = 0;
};

}  // namespace sam3::formats
