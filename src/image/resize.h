// Resizing with the filter that the models were trained with.
#pragma once

#include "base/parallel.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3::image {

// `picture` at `size`, byte for byte what Image.resize(size, Image.BILINEAR) of Pillow 13 gives: a
// triangle filter with half-pixel centres whose support grows with the shrink factor, applied
// along the rows, then down the columns (the other way round when the height loses more than twice
// the pixels that the width loses; Pillow up to 12 never does that, and then differs by a level or
// two), each pass rounded to eight bits with weights of 22 fractional bits. A side that keeps its
// length is not filtered. Sides are independent: nothing is cropped, padded or kept in proportion.
//
// Works in bands of rows through `runner`. Beside the result, each band at work takes its source
// rows at the target's width, in bytes; never a copy of the picture. A picture that has the size
// already is returned as it is and shares its pixels.
// Errors: kInvalidArgument for an empty picture or a side under 1, kLimit when memory runs out.
Result<Picture> resize(const Picture& picture, Size size, const ParallelFor& runner);

}  // namespace sam3::image
