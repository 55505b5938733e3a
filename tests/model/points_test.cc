// Clicks and boxes on their way into the decoder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/point_workflow.h"

namespace sam3::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Size kPicture{640, 480};
constexpr int kSide = 320;

TEST(DecoderPoints, ScalesEachAxisAlone) {
  const DecoderPoints points =
      decoder_points({{{320, 240}}, {{640, 480}}, {}}, kPicture, kSide).value();
  EXPECT_THAT(points.coordinates, ElementsAre(160, 160, 320, 320));
  EXPECT_THAT(points.labels, ElementsAre(1, 0));
}

TEST(DecoderPoints, BoxCornersComeFirstAndNothingIsPadded) {
  const DecoderPoints points =
      decoder_points({{{100, 100}}, {{50, 60}}, Box{64, 48, 128, 96}}, kPicture, kSide).value();
  EXPECT_THAT(points.labels, ElementsAre(2, 3, 1, 0));
  EXPECT_THAT(std::vector<float>(points.coordinates.begin(), points.coordinates.begin() + 4),
              ElementsAre(32, 32, 64, 64));
}

TEST(DecoderPoints, AnyTwoCornersMakeTheSameBox) {
  const Box wanted{120, 60, 280, 220};
  for (const Box& box : {Box{120, 60, 280, 220}, Box{280, 220, 120, 60}, Box{120, 220, 280, 60}})
    EXPECT_EQ(checked_box(box, kPicture).value(), wanted);
  EXPECT_EQ(checked_box({-10, -10, 700, 500}, kPicture).value(), (Box{0, 0, 640, 480}));
}

TEST(DecoderPoints, RefusesWhatCannotBeMeant) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Box& box : {Box{5, 5, 5, 90}, Box{5, 5, 90, 5}, Box{700, 500, 800, 600},
                         Box{0.1, 0.1, 0.4, 0.4}, Box{nan, 0, 5, 5}, Box{0, 0, INFINITY, 5}}) {
    const auto result = decoder_points({{}, {}, box}, kPicture, kSide);
    ASSERT_FALSE(result.ok()) << box.x0;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr("x0,y0,x1,y1 in pixels"));
  }
  for (const Point& point : {Point{-1, 5}, Point{5, 481}, Point{nan, 5}}) {
    EXPECT_FALSE(decoder_points({{point}, {}, {}}, kPicture, kSide).ok());
    EXPECT_FALSE(decoder_points({{}, {point}, {}}, kPicture, kSide).ok());
  }
  EXPECT_THAT(decoder_points({}, kPicture, kSide).error().message, HasSubstr("neither"));
}

TEST(DecoderPoints, APictureOfOnePixelHasAPlaceToClick) {
  EXPECT_TRUE(decoder_points({{{0, 0}}, {}, {}}, {1, 1}, kSide).ok());
  EXPECT_TRUE(decoder_points({{}, {}, Box{0, 0, 1, 1}}, {1, 1}, kSide).ok());
}

}  // namespace
}  // namespace sam3::model
