// Weights that are made from others when they are read, so that writing a model needs memory for
// one of them at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/parallel.h"
#include "graph/editable_model.h"
#include "quantize/weight_math.h"

namespace sam3::quantize {

// A weight of floats as 8-bit values and scales along one axis.
struct ChannelForm {
  std::string name;      // of the source, for errors
  graph::Weight source;  // of floats, not empty
  std::size_t axis = 0;
  // The result is transposed; of matrices with axis 0 only.
  bool transpose = false;
  // uint8 with a zero point of 128 instead of int8 with 0.
  bool add_128 = false;
  // What stands before and behind the channels in the dims of the scales, e.g. [1, C, 1, 1].
  std::size_t ones_before = 0;
  std::size_t ones_after = 0;
  ParallelFor parallel = run_serially;
};
struct ChannelWeights {
  graph::Weight values;
  graph::Weight scales;
};
// The source is read once if the values are asked for before the scales, or else twice. Reading is
// kBadData for a source that holds infinity or NaN.
ChannelWeights quantize_channels(ChannelForm form);

// A matrix as MatMulNBits takes it: values [outputs, blocks, block_bytes] and scales
// [outputs * blocks]. Reading as above.
ChannelWeights quantize_blocks(const std::string& name, graph::Weight source,
                               const BlockLayout& layout, ParallelFor parallel);

// A weight of floats as float16.
graph::Weight halve(graph::Weight source, ParallelFor parallel);

// The same values under other dims.
graph::Weight reshaped(graph::Weight source, std::vector<std::int64_t> dims);

}  // namespace sam3::quantize
