// From run lengths back to masks; the way there is Mask::rle() and compressed_counts().
#pragma once

#include <string_view>

#include "sam3/mask.h"
#include "sam3/result.h"

namespace sam3::mask {

// Reads COCO's compressed counts (see compressed_counts()) of a mask of `size` pixels. kBadData for
// a character outside '0'..'o', a number that is cut off or does not fit 32 bits, and counts that
// do not add up to width * height.
Result<Rle> parse_counts(std::string_view text, Size size);

// The mask that `rle` describes. kBadData if the counts do not add up to width * height or a size
// is negative.
Result<Mask> mask_from_rle(const Rle& rle);

}  // namespace sam3::mask
