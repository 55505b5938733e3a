// The arithmetic of weights: scales, rounding, packing. Values are row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"

namespace sam3::quantize {

// A tensor seen from one of its axes: outer x channels x inner.
struct ChannelLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;

  static ChannelLayout of(std::span<const std::int64_t> dims, std::size_t axis);
};

// The largest magnitude of each channel; infinite if a value of the channel is not finite.
std::vector<float> largest_magnitudes(std::span<const float> values, const ChannelLayout& layout,
                                      const ParallelFor& parallel);

// The step of symmetric 8-bit values in [-127, 127] for that largest magnitude: rounded to float
// from double; 1 where it would not be a normal number, so that a channel of zeros divides by
// something. Both as ONNX Runtime's quantize_dynamic does.
float symmetric_scale(float largest);

// round_half_even(value / scale) of each value. `into` has one byte per value: int8, or uint8 with
// 128 added.
struct ChannelRounding {
  ChannelLayout layout;
  std::span<const float> scales;  // one per channel
  bool add_128 = false;
};
void round_channels(std::span<const float> values, const ChannelRounding& rounding,
                    const ParallelFor& parallel, std::span<std::byte> into);
// The same with the result transposed: values [channels, inner], `into` [inner, channels].
void round_channels_transposed(std::span<const float> values, const ChannelRounding& rounding,
                               const ParallelFor& parallel, std::span<std::byte> into);

// A matrix with `inputs` x `outputs` values in blocks along its inputs.
struct BlockLayout {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool outputs_first = false;  // values are [outputs, inputs], not [inputs, outputs]
  std::int64_t block = 32;
  int bits = 4;  // 4 or 8

  std::int64_t blocks() const { return (inputs + block - 1) / block; }
  std::int64_t block_bytes() const { return block * bits / 8; }
};

// Packs values as MatMulNBits takes them, with a zero point of 2^(bits-1) that is not stored:
// `packed` [outputs, blocks, block_bytes], `scales` [outputs, blocks]. A block's scale is its value
// of largest magnitude over -2^(bits-1), as in ONNX Runtime's MatMulNBitsQuantizer (symmetric).
void pack_blocks(std::span<const float> values, const BlockLayout& layout,
                 const ParallelFor& parallel, std::span<std::byte> packed, std::span<float> scales);

// IEEE 754 binary16, rounded to nearest even. Finite values beyond its range become the largest
// finite one, so that masks such as -3.4e38 do not turn infinite.
std::uint16_t to_float16(float value);

}  // namespace sam3::quantize
