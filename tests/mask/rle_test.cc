#include "mask/rle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mask/test_masks.h"

namespace sam3 {
namespace {

using mask::mask_from_rle;
using mask::parse_counts;
using test::mask_of;
using testing::ElementsAre;
using testing::HasSubstr;

// One pixel after the other, down the columns.
std::vector<std::uint32_t> plain_counts(const Mask& mask) {
  std::vector<std::uint32_t> counts{0};
  bool current = false;
  for (int x = 0; x < mask.width(); ++x) {
    for (int y = 0; y < mask.height(); ++y) {
      if (mask.at(x, y) != current) {
        counts.push_back(0);
        current = !current;
      }
      ++counts.back();
    }
  }
  return counts;
}

TEST(RleTest, RunsDownTheColumnsStartingWithZeros) {
  const Rle rle = mask_of({"010", "000"}).rle();
  EXPECT_THAT(rle.counts, ElementsAre(2, 1, 3));
  EXPECT_EQ(rle.size, (Size{3, 2}));
  EXPECT_THAT(mask_of({"111", "111"}).rle().counts, ElementsAre(0, 6));
  EXPECT_THAT(mask_of({"000", "000"}).rle().counts, ElementsAre(6));
}

TEST(RleTest, RunGoesOnAtTheTopOfTheNextColumn) {
  EXPECT_THAT(mask_of({"010", "010", "100"}).rle().counts, ElementsAre(2, 3, 4));
  // From one word to the next, and at the last pixel of a row of full words.
  Mask wide(Size{128, 2});
  wide.set(63, 1);
  wide.set(127, 1);
  EXPECT_THAT(wide.rle().counts, ElementsAre(127, 1, 127, 1));
  wide.set(64, 0);
  EXPECT_THAT(wide.rle().counts, ElementsAre(127, 2, 126, 1));
}

TEST(RleTest, CompressedCountsOfPycocotools) {
  for (const auto& entry : test::load_json("coco_masks.json")) {
    const Size size{entry["width"], entry["height"]};
    const std::string expected = entry["counts"];
    const Result<Rle> parsed = parse_counts(expected, size);
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    EXPECT_EQ(compressed_counts(*parsed), expected);
    const Result<Mask> mask = mask_from_rle(*parsed);
    ASSERT_TRUE(mask.ok()) << mask.error().to_string();
    EXPECT_EQ(mask->area(), entry["area"].get<std::int64_t>());
    EXPECT_EQ(compressed_counts(mask->rle()), expected);
    if (entry.contains("rows")) {
      EXPECT_EQ(*mask, mask_of(entry["rows"]));
    }
  }
}

TEST(RleTest, EqualsPlainCountingAndComesBack) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Size size = test::random_size(random);
    const double density[] = {0.5, 0.01, 0.99};
    const Mask mask = test::noise(size, density[i % 3], random);
    const Rle rle = mask.rle();
    ASSERT_EQ(rle.counts, plain_counts(mask)) << size.width << "x" << size.height;
    const Result<Mask> back = mask_from_rle(rle);
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(*back, mask);
    const Result<Rle> parsed = parse_counts(compressed_counts(rle), size);
    ASSERT_TRUE(parsed.ok());
    ASSERT_EQ(parsed->counts, rle.counts);
  }
}

TEST(RleTest, SmallRectanglesAnywhere) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const Size size = test::random_size(random);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int x0 = pick(0, size.width - 1);
    const int y0 = pick(0, size.height - 1);
    const Mask mask = test::rectangle(size, x0, y0, pick(x0 + 1, size.width), size.height);
    ASSERT_EQ(mask.rle().counts, plain_counts(mask)) << x0 << "," << y0;
  }
}

TEST(RleTest, CountsWithEmptyRuns) {
  const Result<Mask> mask = mask_from_rle({{3, 2}, {1, 1, 0, 2, 2, 0}});
  ASSERT_TRUE(mask.ok());
  EXPECT_EQ(*mask, mask_of({"010", "110"}));
}

TEST(RleTest, LargeCounts) {
  const Size size{65536, 65535};
  const std::vector<std::uint32_t> counts{4000000000U, 7, 200000000U, 1, 94901752U};
  const Result<Rle> parsed = parse_counts(compressed_counts({size, counts}), size);
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
  EXPECT_EQ(parsed->counts, counts);
}

TEST(RleTest, BadCountsAreRefused) {
  const auto message = [](std::string_view text, Size size) {
    const Result<Rle> parsed = parse_counts(text, size);
    EXPECT_FALSE(parsed.ok()) << text;
    if (parsed.ok()) return std::string();
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadData);
    return parsed.error().message;
  };
  EXPECT_THAT(message("21", {3, 2}), HasSubstr("add up to 3, not to the 6 pixels"));
  EXPECT_THAT(message("", {3, 2}), HasSubstr("add up to 0"));
  EXPECT_THAT(message("2 ", {3, 2}), HasSubstr("character 1"));
  EXPECT_THAT(message("2p", {3, 2}), HasSubstr("character 1"));
  EXPECT_THAT(message("2\xff", {3, 2}), HasSubstr("character 1"));
  EXPECT_THAT(message("2Q", {3, 2}), HasSubstr("character 1"));
  EXPECT_THAT(message("oooooooooooooooo", {3, 2}), HasSubstr("character 0"));
  EXPECT_THAT(message("O", {3, 2}), HasSubstr("count -1 is out of range"));
  EXPECT_THAT(message("PPPPPP4", {3, 2}), HasSubstr("count 4294967296 is out of range"));
  EXPECT_FALSE(mask_from_rle({{3, 2}, {7}}).ok());
  EXPECT_FALSE(mask_from_rle({{-3, -2}, {6}}).ok());
}

}  // namespace
}  // namespace sam3
