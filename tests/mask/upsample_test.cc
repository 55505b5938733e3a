#include "mask/upsample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mask/test_masks.h"
#include "support/safetensors.h"

namespace sam3::mask {
namespace {

using test::Safetensors;

// Source coordinate, neighbours and weight of one axis, as PyTorch computes them.
struct Tap {
  int low;
  int high;
  float weight;
};

Tap tap_at(int position, int low, int picture) {
  const float scale = static_cast<float>(low) / static_cast<float>(picture);
  const float source = std::max(0.0F, scale * (static_cast<float>(position) + 0.5F) - 0.5F);
  const int index = std::min(static_cast<int>(std::floor(source)), low - 1);
  return {index, std::min(index + 1, low - 1),
          std::clamp(source - static_cast<float>(index), 0.0F, 1.0F)};
}

float blend(float a, float b, float weight) { return std::fma(b, weight, a * (1 - weight)); }

// Every pixel by itself: the scalar reference of the fast path.
Mask plain_upsample(const std::vector<float>& values, Size low, Size picture, float cut) {
  Mask mask(picture);
  const auto at = [&](int x, int y) {
    return values[static_cast<std::size_t>(y) * static_cast<std::size_t>(low.width) +
                  static_cast<std::size_t>(x)];
  };
  for (int y = 0; y < picture.height; ++y) {
    const Tap row = tap_at(y, low.height, picture.height);
    for (int x = 0; x < picture.width; ++x) {
      const Tap column = tap_at(x, low.width, picture.width);
      const float upper = blend(at(column.low, row.low), at(column.high, row.low), column.weight);
      const float lower = blend(at(column.low, row.high), at(column.high, row.high), column.weight);
      if (blend(upper, lower, row.weight) > cut) mask.set(x, y);
    }
  }
  return mask;
}

// Bits packed into bytes with the first column in the highest bit, as the reference stores masks.
Mask unpack_reference(const std::uint8_t* data, Size size) {
  Mask mask(size);
  const std::size_t bytes_per_row = (static_cast<std::size_t>(size.width) + 7) / 8;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if ((data[static_cast<std::size_t>(y) * bytes_per_row + static_cast<std::size_t>(x) / 8] &
           (0x80 >> x % 8)) != 0)
        mask.set(x, y);
  return mask;
}

class ReferenceTest : public testing::Test {
 protected:
  ReferenceTest()
      : file_(test::data_path("reference_masks.safetensors")),
        info_(nlohmann::json::parse(file_.metadata().at("info"))),
        picture_{info_.at("width"), info_.at("height")} {}

  // Mask `i` of a tensor [masks, height, bytes] or [height, bytes].
  Mask expected(const std::string& name, std::size_t i = 0) const {
    const auto bytes = file_[name].values<std::uint8_t>();
    const std::size_t one = static_cast<std::size_t>(picture_.height) *
                            ((static_cast<std::size_t>(picture_.width) + 7) / 8);
    return unpack_reference(&bytes.at(i * one), picture_);
  }

  Safetensors file_;
  nlohmann::json info_;
  Size picture_;
};

TEST_F(ReferenceTest, TextMasksFromLogitsAndFromBits) {
  int masks = 0;
  for (const std::string name : {"text_0", "text_1", "text_3"}) {
    const test::Tensor& tensor = file_[name + ".logits"];
    const auto logits = tensor.values<float>();
    const Size low{static_cast<int>(tensor.shape[2]), static_cast<int>(tensor.shape[1])};
    const std::size_t pixels =
        static_cast<std::size_t>(low.width) * static_cast<std::size_t>(low.height);
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.shape[0]); ++i, ++masks) {
      EXPECT_EQ(upsample_logits(&logits[i * pixels], low, picture_),
                expected(name + ".logits_bilinear", i));
      for (const BitOrder order : {BitOrder::kMsbFirst, BitOrder::kLsbFirst}) {
        const test::Tensor& packed =
            file_[name + (order == BitOrder::kMsbFirst ? ".bits_big" : ".bits_little")];
        const auto bits = packed.values<std::uint8_t>();
        const auto bytes_per_row = static_cast<std::size_t>(packed.shape[2]);
        const BitPlane plane{low, &bits[i * bytes_per_row * static_cast<std::size_t>(low.height)],
                             bytes_per_row, order};
        EXPECT_EQ(upsample_bits(plane, picture_), expected(name + ".bits_bilinear", i));
      }
    }
  }
  EXPECT_EQ(masks, 8);
}

TEST_F(ReferenceTest, PointMasks) {
  for (const auto& prompt : info_.at("points")) {
    const std::string name = prompt.at("name");
    const test::Tensor& tensor = file_[name + ".chosen"];
    const Size low{static_cast<int>(tensor.shape[1]), static_cast<int>(tensor.shape[0])};
    const Mask mask = upsample_logits(tensor.values<float>().data(), low, picture_);
    EXPECT_EQ(mask, expected(name + ".mask")) << name;
  }
}

TEST(UpsampleTest, EdgeAtHalfTheWidth) {
  const Size low{288, 288};
  std::vector<float> logits;
  for (int y = 0; y < low.height; ++y)
    for (int x = 0; x < low.width; ++x) logits.push_back(static_cast<float>(x) - 143.5F);
  for (const int width : {640, 1000, 4000}) {
    const Size picture{width, 50};
    EXPECT_EQ(upsample_logits(logits.data(), low, picture),
              test::rectangle(picture, width / 2, 0, width, 50))
        << width;
  }
}

TEST(UpsampleTest, SmallPositiveLogitsFillTheMask) {
  const std::vector<float> logits(std::size_t{288} * 288, 0.25F);
  for (const Size picture : {Size{640, 480}, Size{1, 1}, Size{1, 480}, Size{640, 1}, Size{8000, 3}})
    EXPECT_EQ(upsample_logits(logits.data(), {288, 288}, picture),
              test::rectangle(picture, 0, 0, picture.width, picture.height));
}

TEST(UpsampleTest, ZeroIsUnset) {
  const std::vector<float> logits(16, 0.0F);
  EXPECT_EQ(upsample_logits(logits.data(), {4, 4}, {40, 40}).area(), 0);
}

TEST(UpsampleTest, AxesHaveTheirOwnScales) {
  // The right half of the columns and the lower quarter of the rows.
  std::vector<float> logits;
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 4; ++x) logits.push_back(x >= 2 && y >= 6 ? 1.0F : -1.0F);
  const Mask mask = upsample_logits(logits.data(), {4, 8}, {400, 80});
  const Box box = mask.tight_box();
  EXPECT_EQ(box, (Box{200, 60, 400, 80}));
}

TEST(UpsampleTest, FirstColumnIsTheHighestBitOrTheLowest) {
  const std::vector<std::uint8_t> rows{0x80, 0, 0x80, 0};
  const BitPlane msb{{16, 2}, rows.data(), 2, BitOrder::kMsbFirst};
  EXPECT_EQ(unpack_bits(msb), test::rectangle({16, 2}, 0, 0, 1, 2));
  EXPECT_EQ(upsample_bits(msb, {16, 2}), test::rectangle({16, 2}, 0, 0, 1, 2));
  EXPECT_EQ(upsample_bits(msb, {160, 20}), test::rectangle({160, 20}, 0, 0, 10, 20));
  const BitPlane lsb{{16, 2}, rows.data(), 2, BitOrder::kLsbFirst};
  EXPECT_EQ(unpack_bits(lsb), test::rectangle({16, 2}, 7, 0, 8, 2));
  EXPECT_EQ(upsample_bits(lsb, {160, 20}), test::rectangle({160, 20}, 70, 0, 80, 20));
}

TEST(UpsampleTest, BitsBeyondTheWidthAreIgnored) {
  const std::vector<std::uint8_t> rows{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  const BitPlane plane{{10, 2}, rows.data(), 3, BitOrder::kMsbFirst};
  EXPECT_EQ(unpack_bits(plane), test::rectangle({10, 2}, 0, 0, 10, 2));
}

TEST(UpsampleTest, BitsEqualEveryPixelByItself) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const Size low = test::random_size(random);
    const Size picture = i % 10 == 0 ? low : test::random_size(random);
    const double density[] = {0.5, 0.02, 0.98};
    const Mask bits = test::noise(low, density[i % 3], random);
    std::vector<float> values;
    const std::size_t bytes_per_row = (static_cast<std::size_t>(low.width) + 7) / 8;
    std::vector<std::uint8_t> packed(bytes_per_row * static_cast<std::size_t>(low.height));
    for (int y = 0; y < low.height; ++y) {
      for (int x = 0; x < low.width; ++x) {
        values.push_back(bits.at(x, y) ? 1.0F : 0.0F);
        if (bits.at(x, y))
          packed[static_cast<std::size_t>(y) * bytes_per_row + static_cast<std::size_t>(x) / 8] |=
              static_cast<std::uint8_t>(0x80 >> x % 8);
      }
    }
    const BitPlane plane{low, packed.data(), bytes_per_row, BitOrder::kMsbFirst};
    ASSERT_EQ(unpack_bits(plane), bits);
    ASSERT_EQ(upsample_bits(plane, picture), plain_upsample(values, low, picture, 0.5F))
        << low.width << "x" << low.height << " to " << picture.width << "x" << picture.height;
  }
}

TEST(UpsampleTest, LogitsEqualEveryPixelByItself) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 300; ++i) {
    const Size low = test::random_size(random);
    const Size picture = i % 10 == 0 ? low : test::random_size(random);
    const float offset[] = {0.0F, -3.0F, 2.0F};
    std::vector<float> logits;
    for (int k = 0; k < low.width * low.height; ++k)
      logits.push_back(10 * (normal(random) + offset[i % 3]));
    ASSERT_EQ(upsample_logits(logits.data(), low, picture),
              plain_upsample(logits, low, picture, 0.0F))
        << low.width << "x" << low.height << " to " << picture.width << "x" << picture.height;
  }
}

// Smooth surfaces have long runs inside and outside, unlike noise.
TEST(UpsampleTest, DiscsEqualEveryPixelByItself) {
  std::mt19937 random(6);
  for (int i = 0; i < 60; ++i) {
    const Size low{96, 72};
    const Size picture{test::random_size(random).width * 4, test::random_size(random).height * 3};
    std::uniform_real_distribution<float> place(-20.0F, 110.0F);
    const float center_x = place(random);
    const float center_y = place(random);
    const float radius = std::abs(place(random)) / 2;
    std::vector<float> logits;
    for (int y = 0; y < low.height; ++y)
      for (int x = 0; x < low.width; ++x)
        logits.push_back(radius - std::hypot(static_cast<float>(x) - center_x,
                                             static_cast<float>(y) - center_y));
    ASSERT_EQ(upsample_logits(logits.data(), low, picture),
              plain_upsample(logits, low, picture, 0.0F));
  }
}

TEST(UpsampleTest, ValuesThatAreNotNumbersAreUnset) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> all_nan(64, nan);
  EXPECT_EQ(upsample_logits(all_nan.data(), {8, 8}, {100, 100}).area(), 0);
  std::vector<float> some(64, 1.0F);
  some[27] = nan;
  some[36] = -infinity;
  some[3] = infinity;
  const Mask mask = upsample_logits(some.data(), {8, 8}, {80, 80});
  EXPECT_TRUE(mask.at(0, 79));
  EXPECT_FALSE(mask.at(35, 35));
}

TEST(UpsampleTest, EmptySizes) {
  const float logit = 1;
  EXPECT_EQ(upsample_logits(&logit, {1, 1}, {0, 0}), Mask(Size{0, 0}));
  EXPECT_EQ(upsample_logits(nullptr, {0, 0}, {5, 5}).area(), 0);
  EXPECT_EQ(upsample_bits({}, {5, 5}).area(), 0);
}

}  // namespace
}  // namespace sam3::mask
