// From the model's low-resolution masks to masks of the picture's size.
//
// Positions follow align_corners=False of PyTorch's interpolate: the centre of picture pixel x lies
// at (x + 0.5) * low / picture - 0.5, not below 0, and beyond the last column its value goes on;
// rows likewise, each axis with its own scale, because the model squashes a picture to a square.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sam3/mask.h"
#include "sam3/picture.h"

namespace sam3::mask {

// Which bit of a byte is the leftmost of its eight columns: the highest or the lowest.
enum class BitOrder { kMsbFirst, kLsbFirst };

// A mask as the detector packs it: byte j of a row holds columns 8j..8j+7. Not owned.
struct BitPlane {
  Size size;
  const std::uint8_t* data = nullptr;
  std::size_t bytes_per_row = 0;  // at least (width + 7) / 8; bits beyond the width are ignored
  BitOrder order = BitOrder::kMsbFirst;
};

// The same mask, unpacked at its own size.
Mask unpack_bits(const BitPlane& plane);

// The plane's zeros and ones enlarged (or shrunk) bilinearly, set where the value is above 0.5. The
// edges follow the plane's cells: the bits do not say how far the object reaches into a cell.
Mask upsample_bits(const BitPlane& plane, Size picture);

// Logits, rows of low.width values, enlarged (or shrunk) bilinearly, set where the value is above
// 0. A pixel whose value is not a number is unset.
Mask upsample_logits(const float* logits, Size low, Size picture);

}  // namespace sam3::mask
