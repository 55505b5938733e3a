#include "image/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "checksum/sha256.h"
#include "image/patterns.h"

namespace sam3 {
namespace {

using test::make_pattern;
using test::make_picture;

std::span<const std::uint8_t> bytes_of(const Picture& picture) {
  return {picture.data(), std::size_t{3} * static_cast<std::size_t>(picture.width()) *
                              static_cast<std::size_t>(picture.height())};
}

std::string sha256_of(const Picture& picture) {
  Sha256 sum;
  const auto bytes = bytes_of(picture);
  sum.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return sum.hex();
}

// Square targets, and targets of any shape around the rule for the order of the passes.
std::vector<nlohmann::json> golden_cases() {
  std::vector<nlohmann::json> cases;
  for (const char* name : {"/image/resize.json", "/image/resize_shapes.json"}) {
    std::ifstream file(SAM3_TEST_DATA + std::string(name));
    const auto document = nlohmann::json::parse(file);
    for (const auto& golden : document.at("cases")) cases.push_back(golden);
  }
  return cases;
}

Size target_of(const nlohmann::json& golden) {
  if (golden.contains("size")) return {golden.at("size"), golden.at("size")};
  return {golden.at("target_width"), golden.at("target_height")};
}

std::string name_of(const nlohmann::json& golden) {
  const Size target = target_of(golden);
  return golden.at("pattern").get<std::string>() + "_" +
         std::to_string(golden.at("width").get<int>()) + "x" +
         std::to_string(golden.at("height").get<int>()) + "_to_" + std::to_string(target.width) +
         "x" + std::to_string(target.height);
}

class ResizeGolden : public testing::TestWithParam<nlohmann::json> {};

TEST_P(ResizeGolden, EqualsPillowByteForByte) {
  const nlohmann::json& golden = GetParam();
  const Picture input =
      make_pattern(golden.at("pattern"), {golden.at("width"), golden.at("height")});
  ASSERT_EQ(sha256_of(input), golden.at("input_sha256"));
  ThreadPool pool(2);
  const auto result = image::resize(input, target_of(golden), pool.runner());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->size(), target_of(golden));
  EXPECT_EQ(sha256_of(*result), golden.at("sha256"));
}

INSTANTIATE_TEST_SUITE_P(All, ResizeGolden, testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return name_of(test.param); });

// A one-pixel checkerboard averages to grey; a filter that does not widen when shrinking gives
// black, white or moire.
TEST(Resize, ShrunkCheckerboardIsGrey) {
  const Picture checker = make_picture({4032, 3024}, [](auto x, auto y, auto) {
    return static_cast<std::uint8_t>((x + y) % 2 == 0 ? 0 : 255);
  });
  const auto result = image::resize(checker, {1008, 1008}, run_serially);
  ASSERT_TRUE(result.ok());
  const auto [least, most] =
      std::minmax_element(bytes_of(*result).begin(), bytes_of(*result).end());
  EXPECT_GE(*least, 126);
  EXPECT_LE(*most, 129);
}

// A plain colour stays what it is, however extreme the shape: weights of every window add up to 1.
TEST(Resize, PlainColourSurvivesExtremeShapes) {
  const Size shapes[] = {{1, 1},    {8000, 3},   {1, 480},       {640, 1},
                         {3, 8000}, {200000, 1}, {1, 1'000'000}, {1'000'000, 2}};
  for (const Size shape : shapes) {
    const Picture plain = make_picture(
        shape, [](auto, auto, auto c) { return static_cast<std::uint8_t>(c == 0 ? 255 : 7 * c); });
    for (const Size target : {Size{336, 336}, Size{1, 1}, Size{5, 900}}) {
      const auto result = image::resize(plain, target, run_serially);
      ASSERT_TRUE(result.ok());
      for (std::size_t i = 0; i < bytes_of(*result).size(); ++i)
        ASSERT_NEAR(bytes_of(*result)[i], plain.data()[i % 3], 1)
            << shape.width << "x" << shape.height << " byte " << i;
    }
  }
}

TEST(Resize, RunnerDoesNotChangeBytes) {
  const Picture input = make_pattern("noise", {777, 555});
  ThreadPool pool(3);
  const ParallelFor backwards = [](std::int64_t count, const auto& body) {
    while (count > 0) body(--count);
  };
  const auto serial = image::resize(input, {336, 288}, run_serially);
  const auto parallel = image::resize(input, {336, 288}, pool.runner());
  const auto reversed = image::resize(input, {336, 288}, backwards);
  ASSERT_TRUE(serial.ok() && parallel.ok() && reversed.ok());
  EXPECT_TRUE(std::ranges::equal(bytes_of(*serial), bytes_of(*parallel)));
  EXPECT_TRUE(std::ranges::equal(bytes_of(*serial), bytes_of(*reversed)));
}

TEST(Resize, SameSizeSharesThePixels) {
  const Picture input = make_pattern("noise", {20, 10});
  const auto result = image::resize(input, {20, 10}, run_serially);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->data(), input.data());
}

TEST(Resize, RefusesEmptyPicturesAndSizes) {
  const auto empty = image::resize(Picture(), {2, 2}, run_serially);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  const auto flat = image::resize(make_pattern("noise", {4, 4}), {8, 0}, run_serially);
  ASSERT_FALSE(flat.ok());
  EXPECT_NE(flat.error().message.find("8x0"), std::string::npos);
}

}  // namespace
}  // namespace sam3
