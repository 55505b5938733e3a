#include "image/normalize.h"

#include <gtest/gtest.h>

#include <vector>

#include "image/patterns.h"

namespace sam3 {
namespace {

using test::make_picture;
using test::noise_value;

TEST(Normalize, FloatPlanesAreRedGreenBlueAndScaled) {
  // 150 rows: more than two bands, the last one cut.
  const Picture picture = make_picture({5, 150}, noise_value);
  const image::Normalization normalization{{0.5F, 0.25F, 0.0F}, {0.5F, 0.2F, 1.0F}};
  std::vector<float> planes(3 * 5 * 150);
  ThreadPool pool(2);
  image::write_float_planes(picture, normalization, planes, pool.runner());
  for (std::uint32_t c = 0; c < 3; ++c)
    for (std::uint32_t y = 0; y < 150; ++y)
      for (std::uint32_t x = 0; x < 5; ++x) {
        const double expected =
            (noise_value(x, y, c) / 255.0 - static_cast<double>(normalization.mean[c])) /
            static_cast<double>(normalization.std[c]);
        ASSERT_NEAR(planes[c * 750 + y * 5 + x], expected, 1e-6);
      }
}

TEST(Normalize, EndsOfTheRangeAreExact) {
  const Picture picture =
      make_picture({2, 1}, [](auto x, auto, auto) { return static_cast<std::uint8_t>(255 * x); });
  std::vector<float> planes(6);
  image::write_float_planes(picture, {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}}, planes,
                            run_serially);
  EXPECT_EQ(planes, (std::vector<float>{-1, 1, -1, 1, -1, 1}));
}

TEST(Normalize, BytePlanesKeepValues) {
  const Picture picture = make_picture({7, 130}, noise_value);
  std::vector<std::uint8_t> planes(3 * 7 * 130);
  image::write_byte_planes(picture, planes, run_serially);
  for (std::uint32_t c = 0; c < 3; ++c)
    for (std::uint32_t y = 0; y < 130; ++y)
      for (std::uint32_t x = 0; x < 7; ++x)
        ASSERT_EQ(planes[c * 910 + y * 7 + x], noise_value(x, y, c));
}

}  // namespace
}  // namespace sam3
