// How the detector packs its masks into bytes.
#pragma once

#include "graph/model_file.h"
#include "mask/upsample.h"
#include "sam3/result.h"

namespace sam3::model {

// Finds out whether the leftmost column of eight is the highest or the lowest bit of its byte, from
// the constant weights or shifts between the comparison of the mask logits and the output
// `pred_masks_bits`. Nothing that is published says it, so a guess would be wrong for half of the
// models: kUnsupported if the graph packs its bits in a way that is not recognised.
Result<mask::BitOrder> find_bit_order(const graph::ModelFile& detector);

}  // namespace sam3::model
