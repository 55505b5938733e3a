#include "quantize/weight_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models.h"
#include "quantize/lazy_weights.h"
#include "support/safetensors.h"

namespace sam3::quantize {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<int> signed_values(const Bytes& bytes) {
  std::vector<int> values;
  for (const std::byte byte : bytes) values.push_back(static_cast<std::int8_t>(byte));
  return values;
}

TEST(Rounding, TiesGoToEven) {
  const std::vector<float> values{0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 127, -127};
  const std::vector<float> scales{1};
  Bytes bytes(values.size());
  round_channels(values, {{1, 1, 8}, scales}, run_serially, bytes);
  EXPECT_EQ(signed_values(bytes), (std::vector<int>{0, 2, 2, 0, -2, -2, 127, -127}));
}

TEST(Rounding, EveryAxisAndTheTransposedForm) {
  const Dims dims{700, 5, 40};  // enough for several parts of the work
  const std::vector<float> values = noise(700 * 5 * 40, 3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const ChannelLayout layout = ChannelLayout::of(dims, axis);
    ThreadPool pool(3);
    const std::vector<float> largest = largest_magnitudes(values, layout, pool.runner());
    std::vector<float> expected(static_cast<std::size_t>(layout.channels), 0.0F);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto inner = static_cast<std::size_t>(layout.inner);
      float& channel = expected[i / inner % expected.size()];
      channel = std::max(channel, std::fabs(values[i]));
    }
    EXPECT_EQ(largest, expected) << axis;
    std::vector<float> scales;
    for (const float magnitude : largest) scales.push_back(symmetric_scale(magnitude));
    Bytes bytes(values.size());
    round_channels(values, {layout, scales}, pool.runner(), bytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[i / static_cast<std::size_t>(layout.inner) % scales.size()];
      ASSERT_EQ(static_cast<std::int8_t>(bytes[i]), std::nearbyint(values[i] / scale)) << i;
    }
    if (axis != 0) continue;
    Bytes turned(values.size());
    round_channels_transposed(values, {layout, scales}, pool.runner(), turned);
    for (std::size_t c = 0; c < 700; ++c)
      for (std::size_t k = 0; k < 200; ++k) ASSERT_EQ(turned[k * 700 + c], bytes[c * 200 + k]);
  }
}

TEST(Scale, IsNeverZero) {
  EXPECT_EQ(symmetric_scale(0), 1.0F);
  EXPECT_EQ(symmetric_scale(1e-40F), 1.0F);
  EXPECT_EQ(symmetric_scale(127), 1.0F);
  EXPECT_TRUE(std::isfinite(symmetric_scale(std::numeric_limits<float>::max())));
}

TEST(Magnitudes, TellInfinityAndNaN) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::nanf(""), -std::nanf("")})
    EXPECT_TRUE(
        std::isinf(largest_magnitudes(std::vector<float>{1, odd, 2}, {1, 1, 3}, run_serially)[0]));
}

TEST(Blocks, EqualThoseOfOnnxRuntime) {
  const test::Safetensors reference(test::data("quantize/blocks.safetensors").string());
  for (const std::string number : {"0", "1"})
    for (const int bits : {4, 8})
      for (const bool outputs_first : {false, true}) {
        const test::Tensor& weight = reference["weight_" + number];
        const std::string key = "_" + number + "_" + std::to_string(bits);
        std::vector<float> values = weight.values<float>();
        BlockLayout layout;
        layout.inputs = weight.shape[0];
        layout.outputs = weight.shape[1];
        layout.outputs_first = outputs_first;
        layout.bits = bits;
        if (outputs_first) {
          const std::vector<float> source = values;
          const auto inputs = static_cast<std::size_t>(layout.inputs);
          const auto outputs = static_cast<std::size_t>(layout.outputs);
          for (std::size_t i = 0; i < source.size(); ++i)
            values[i % outputs * inputs + i / outputs] = source[i];
        }
        Bytes packed(reference["packed" + key].bytes.size());
        std::vector<float> scales(static_cast<std::size_t>(reference["scales" + key].count()));
        pack_blocks(values, layout, run_serially, packed, scales);
        EXPECT_EQ(packed, reference["packed" + key].bytes) << key << outputs_first;
        EXPECT_EQ(scales, reference["scales" + key].values<float>()) << key << outputs_first;
      }
}

// Of IEEE 754's own definition: the value of a half.
double half_value(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(Float16, EveryHalfAndWhatLiesBetween) {
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const double value = half_value(half);
    const double next = half_value(static_cast<std::uint16_t>(half + 1));
    ASSERT_EQ(to_float16(static_cast<float>(value)), half);
    ASSERT_EQ(to_float16(-static_cast<float>(value)), half | 0x8000);
    const auto middle = static_cast<float>((value + next) / 2);  // exact in float
    ASSERT_EQ(to_float16(middle), half % 2 == 0 ? half : half + 1) << half;
    ASSERT_EQ(to_float16(std::nextafter(middle, 0.0F)), half);
    ASSERT_EQ(to_float16(std::nextafter(middle, INFINITY)), half + 1);
  }
}

TEST(Float16, LargeAndOddValues) {
  EXPECT_EQ(to_float16(65504), 0x7bff);
  EXPECT_EQ(to_float16(65520), 0x7bff);
  EXPECT_EQ(to_float16(-3.4e38F), 0xfbff);
  EXPECT_EQ(to_float16(INFINITY), 0x7c00);
  EXPECT_EQ(to_float16(-INFINITY), 0xfc00);
  EXPECT_EQ(to_float16(std::nanf("")) & 0x7c00, 0x7c00);
  EXPECT_NE(to_float16(std::nanf("")) & 0x3ff, 0);
}

// A weight that counts how often it is read.
graph::Weight counted(const std::vector<float>& values, const Dims& dims, int& reads) {
  graph::Weight weight = graph::make_weight(graph::ElementType::kFloat, dims, values);
  weight.read = [inner = weight.read, &reads](std::span<std::byte> into) {
    ++reads;
    return inner(into);
  };
  return weight;
}

TEST(LazyWeights, ReadTheirSourceOnceWhenTheValuesComeFirst) {
  int reads = 0;
  ChannelForm form;
  form.name = "w";
  form.source = counted(noise(12, 1), {4, 3}, reads);
  form.axis = 1;
  const ChannelWeights weights = quantize_channels(std::move(form));
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(weights.values.bytes(), 12U);
  EXPECT_EQ(weights.scales.dims, Dims{3});
  const auto first = graph::read_values<std::int8_t>(weights.values).value();
  const auto scales = graph::read_values<float>(weights.scales).value();
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(graph::read_values<std::int8_t>(weights.values).value(), first);
  EXPECT_EQ(graph::read_values<float>(weights.scales).value(), scales);
}

TEST(LazyWeights, ScalesAloneAreRightToo) {
  int reads = 0;
  const auto values = noise(64 * 3, 9);
  BlockLayout layout;
  layout.inputs = 64;
  layout.outputs = 3;
  const ChannelWeights a =
      quantize_blocks("w", counted(values, {64, 3}, reads), layout, run_serially);
  const ChannelWeights b =
      quantize_blocks("w", counted(values, {64, 3}, reads), layout, run_serially);
  const auto scales = graph::read_values<float>(a.scales).value();
  ASSERT_TRUE(graph::read_values<std::uint8_t>(b.values).ok());
  EXPECT_EQ(graph::read_values<float>(b.scales).value(), scales);
}

TEST(LazyWeights, RefuseInfinityAndSayWhose) {
  for (const bool blocks : {false, true}) {
    const graph::Weight source = graph::make_weight(graph::ElementType::kFloat, {2, 1},
                                                    std::vector<float>{1, std::nanf("")});
    BlockLayout layout;
    layout.inputs = 2;
    layout.outputs = 1;
    ChannelForm form;
    form.name = "odd";
    form.source = source;
    const ChannelWeights weights = blocks ? quantize_blocks("odd", source, layout, run_serially)
                                          : quantize_channels(std::move(form));
    const auto read = graph::read_values<std::uint8_t>(weights.values);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kBadData);
    EXPECT_NE(read.error().message.find("'odd'"), std::string::npos);
  }
}

}  // namespace
}  // namespace sam3::quantize
