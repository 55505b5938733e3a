#include "quantize/weight_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

namespace sam3::quantize {

namespace {

// Large enough that handing out a part costs nothing beside its work.
constexpr std::int64_t kPartElements = std::int64_t{1} << 16;

// Calls body(begin, end) for parts of [0, count), each of which stands for `elements` values.
template <typename Body>
void for_parts(std::int64_t count, std::int64_t elements, const ParallelFor& parallel,
               const Body& body) {
  const std::int64_t part =
      std::max<std::int64_t>(1, kPartElements / std::max<std::int64_t>(1, elements));
  const std::int64_t parts = (count + part - 1) / part;
  parallel(parts, [&](std::int64_t i) { body(i * part, std::min(count, (i + 1) * part)); });
}

// Magnitudes of floats compare like the integers of the same bits; infinity and NaN are the
// largest.
std::int32_t magnitude_bits(float value) {
  return std::bit_cast<std::int32_t>(value) & std::numeric_limits<std::int32_t>::max();
}

constexpr std::int32_t kInfinityBits = 0x7f800000;

std::int32_t largest_bits(const float* values, std::int64_t count) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude_bits(values[i]));
  return largest;
}

// Rounds |value| < 2^22 to the nearest integer, ties to even: the sum has no room for a fraction.
float round_even(float value) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23
  return (value + kMagic) - kMagic;
}

std::byte rounded(float value, float scale, int offset) {
  const float limited = std::clamp(value / scale, -127.0F, 127.0F);
  return static_cast<std::byte>(static_cast<int>(round_even(limited)) + offset);
}

}  // namespace

ChannelLayout ChannelLayout::of(std::span<const std::int64_t> dims, std::size_t axis) {
  ChannelLayout layout;
  for (std::size_t i = 0; i < dims.size(); ++i)
    (i < axis ? layout.outer : i == axis ? layout.channels : layout.inner) *= dims[i];
  return layout;
}

std::vector<float> largest_magnitudes(std::span<const float> values, const ChannelLayout& layout,
                                      const ParallelFor& parallel) {
  const std::int64_t row = layout.channels * layout.inner;
  std::vector<std::int32_t> bits(static_cast<std::size_t>(layout.channels), 0);
  if (layout.outer == 1) {
    for_parts(layout.channels, layout.inner, parallel, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c)
        bits[static_cast<std::size_t>(c)] =
            largest_bits(values.data() + c * layout.inner, layout.inner);
    });
  } else {
    std::mutex mutex;
    for_parts(layout.outer, row, parallel, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int32_t> own(bits.size(), 0);
      for (const float* at = values.data() + begin * row; at != values.data() + end * row;
           at += layout.inner * layout.channels) {
        if (layout.inner == 1)
          for (std::size_t c = 0; c < own.size(); ++c)
            own[c] = std::max(own[c], magnitude_bits(at[c]));
        else
          for (std::size_t c = 0; c < own.size(); ++c)
            own[c] = std::max(own[c], largest_bits(at + static_cast<std::int64_t>(c) * layout.inner,
                                                   layout.inner));
      }
      const std::lock_guard lock(mutex);
      for (std::size_t c = 0; c < own.size(); ++c) bits[c] = std::max(bits[c], own[c]);
    });
  }
  std::vector<float> largest;
  largest.reserve(bits.size());
  for (const std::int32_t magnitude : bits)
    largest.push_back(std::bit_cast<float>(std::min(magnitude, kInfinityBits)));
  return largest;
}

float symmetric_scale(float largest) {
  const double scale = 2.0 * static_cast<double>(largest) / 254.0;
  return scale < static_cast<double>(std::numeric_limits<float>::min()) ? 1.0F
                                                                        : static_cast<float>(scale);
}

void round_channels(std::span<const float> values, const ChannelRounding& rounding,
                    const ParallelFor& parallel, std::span<std::byte> into) {
  const ChannelLayout& layout = rounding.layout;
  const int offset = rounding.add_128 ? 128 : 0;
  const float* scales = rounding.scales.data();
  const std::int64_t row = layout.channels * layout.inner;
  // Along the last axis, neighbours have scales of their own; elsewhere they share one. Each of the
  // two loops is one that compilers turn into vector instructions.
  if (layout.inner == 1) {
    for_parts(layout.outer, row, parallel, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) {
        const float* from = values.data() + o * row;
        std::byte* to = into.data() + o * row;
        for (std::int64_t c = 0; c < row; ++c) to[c] = rounded(from[c], scales[c], offset);
      }
    });
    return;
  }
  for_parts(layout.outer * layout.channels, layout.inner, parallel,
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t i = begin; i < end; ++i) {
                const float scale = scales[i % layout.channels];
                const float* from = values.data() + i * layout.inner;
                std::byte* to = into.data() + i * layout.inner;
                for (std::int64_t k = 0; k < layout.inner; ++k)
                  to[k] = rounded(from[k], scale, offset);
              }
            });
}

void round_channels_transposed(std::span<const float> values, const ChannelRounding& rounding,
                               const ParallelFor& parallel, std::span<std::byte> into) {
  constexpr std::int64_t kTile = 64;  // channels; a line of the result for each of their values
  const ChannelLayout& layout = rounding.layout;
  const int offset = rounding.add_128 ? 128 : 0;
  const std::int64_t tiles = (layout.channels + kTile - 1) / kTile;
  parallel(tiles, [&](std::int64_t tile) {
    const std::int64_t last = std::min(layout.channels, (tile + 1) * kTile);
    for (std::int64_t k = 0; k < layout.inner; ++k)
      for (std::int64_t c = tile * kTile; c < last; ++c)
        into[static_cast<std::size_t>(k * layout.channels + c)] =
            rounded(values[static_cast<std::size_t>(c * layout.inner + k)],
                    rounding.scales[static_cast<std::size_t>(c)], offset);
  });
}

namespace {

// One block of one output: `count` values, `step` apart.
float pack_block(const float* values, std::int64_t count, std::int64_t step, int bits,
                 std::byte* packed) {
  const float middle = bits == 4 ? 8.0F : 128.0F;
  float low = 0;
  float high = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, values[i * step]);
    high = std::max(high, values[i * step]);
  }
  const float scale = (high > -low ? high : low) / -middle;
  const float inverse = scale != 0 ? 1.0F / scale : 0.0F;
  const auto code = [&](std::int64_t i) {
    if (i >= count) return static_cast<unsigned>(middle);
    // Of a block of denormal values the inverse is infinite.
    const float scaled = std::isfinite(inverse) ? values[i * step] * inverse : 0.0F;
    return static_cast<unsigned>(std::clamp(std::round(scaled + middle), 0.0F, 2 * middle - 1));
  };
  if (bits == 8)
    for (std::int64_t i = 0; i < count; ++i) packed[i] = static_cast<std::byte>(code(i));
  else
    for (std::int64_t i = 0; i < count; i += 2)
      packed[i / 2] = static_cast<std::byte>(code(i) | code(i + 1) << 4);
  return scale;
}

}  // namespace

void pack_blocks(std::span<const float> values, const BlockLayout& layout,
                 const ParallelFor& parallel, std::span<std::byte> packed,
                 std::span<float> scales) {
  const std::int64_t step = layout.outputs_first ? 1 : layout.outputs;
  std::fill(packed.begin(), packed.end(), std::byte{0});
  for_parts(layout.outputs, layout.inputs, parallel, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      for (std::int64_t b = 0; b < layout.blocks(); ++b) {
        const std::int64_t first = b * layout.block;
        const std::int64_t at = n * layout.blocks() + b;
        const float* start =
            values.data() + (layout.outputs_first ? n * layout.inputs + first : first * step + n);
        scales[static_cast<std::size_t>(at)] =
            pack_block(start, std::min(layout.block, layout.inputs - first), step, layout.bits,
                       packed.data() + at * layout.block_bytes());
      }
  });
}

std::uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto with_sign = [&](std::uint32_t half) {
    return static_cast<std::uint16_t>(sign | half);
  };
  if (magnitude > 0x7f800000U) return with_sign(0x7e00U);   // NaN
  if (magnitude == 0x7f800000U) return with_sign(0x7c00U);  // infinity
  if (magnitude >= 0x477ff000U) return with_sign(0x7bffU);  // rounds to 65520 or more
  if (magnitude < 0x38800000U) {                            // below 2^-14: steps of 2^-24
    const float steps = std::bit_cast<float>(magnitude) * 16777216.0F;
    return with_sign(static_cast<std::uint32_t>(round_even(steps)));
  }
  // The exponent loses 112 of its bias, the mantissa 13 bits.
  const std::uint32_t odd = magnitude >> 13 & 1U;
  return with_sign((magnitude - (112U << 23) + 0xfffU + odd) >> 13);
}

}  // namespace sam3::quantize
