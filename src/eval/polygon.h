// From COCO's polygons to run lengths.
#pragma once

#include <span>
#include <vector>

#include "sam3/mask.h"
#include "sam3/result.h"

namespace sam3::eval {

// The pixels that at least one of the polygons covers, exactly those that pycocotools finds. A
// polygon is x0, y0, x1, y1, ... in pixels and closes by itself; where it crosses itself, the
// even-odd rule holds. Errors: kBadData for fewer than three points, an odd count of numbers, or a
// coordinate that is not finite or beyond a million pixels; kLimit for a mask of 2^32 pixels or
// more.
// Source: the mask API of pycocotools. A boundary is drawn on a grid of a fifth of a pixel; where
// it crosses the middle of a pixel column, the pixels of that column change from there on down.
Result<Rle> rle_from_polygons(std::span<const std::vector<double>> polygons, Size size);

}  // namespace sam3::eval
