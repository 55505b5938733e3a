// From a picture to a vision encoder's input.
#pragma once

#include <cstdint>

#include "base/parallel.h"
#include "image/normalize.h"
#include "runtime/tensor.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3::model {

// [1, 3, side, side] float32, squashed to the square, then (v / 255 - mean) / std.
// Source: the image processing of the five-graph card.
Result<runtime::Tensor> pixel_values(const Picture& picture, int side,
                                     const image::Normalization& normalization,
                                     const ParallelFor& runner);

// [3, side, side] uint8; the browser family normalises in its graph.
Result<runtime::Tensor> pixel_bytes(const Picture& picture, int side, const ParallelFor& runner);

}  // namespace sam3::model
