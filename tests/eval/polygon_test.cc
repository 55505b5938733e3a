#include "eval/polygon.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "support/files.h"

namespace sam3::eval {
namespace {

using Polygons = std::vector<std::vector<double>>;

TEST(Polygon, HasThePixelsOfPycocotools) {
  const auto cases = nlohmann::json::parse(test::read_file(test::data("eval/polygons.json")));
  ASSERT_GT(cases.size(), 50U);
  for (const auto& golden : cases) {
    const Size size{golden["size"][0], golden["size"][1]};
    const auto rle = rle_from_polygons(golden["polygons"].get<Polygons>(), size);
    ASSERT_TRUE(rle.ok()) << golden;
    EXPECT_EQ(compressed_counts(*rle), golden["counts"].get<std::string>()) << golden;
  }
}

TEST(Polygon, OfNoOutlineIsEmpty) {
  EXPECT_EQ(rle_from_polygons({}, {4, 3}).value().counts, std::vector<std::uint32_t>{12});
  const Polygons square{{0, 0, 0, 2, 2, 2}};
  EXPECT_EQ(rle_from_polygons(square, {0, 3}).value().counts, std::vector<std::uint32_t>{0});
}

TEST(Polygon, RefusesWhatIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Polygons& polygons :
       {Polygons{{1, 2, 3, 4}}, Polygons{{}}, Polygons{{1, 2, 3, 4, 5, 6, 7}},
        Polygons{{0, 0, 5, 5, nan, 1}}, Polygons{{0, 0, 5, 5, 0, 1e300}}}) {
    const auto rle = rle_from_polygons(polygons, {10, 10});
    ASSERT_FALSE(rle.ok());
    EXPECT_EQ(rle.error().code, ErrorCode::kBadData);
  }
  const auto huge = rle_from_polygons({}, {1 << 20, 1 << 20});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace sam3::eval
