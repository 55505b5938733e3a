#include "sam3/mask.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mask/overlap.h"
#include "mask/test_masks.h"

namespace sam3 {
namespace {

using test::mask_of;
using test::rectangle;

std::int64_t count_pixels(const Mask& mask) {
  std::int64_t count = 0;
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x) count += mask.at(x, y);
  return count;
}

TEST(MaskTest, NewMaskIsEmpty) {
  const Mask mask(Size{70, 3});
  EXPECT_EQ(mask.words_per_row(), 2U);
  EXPECT_EQ(mask.area(), 0);
  EXPECT_EQ(mask.tight_box(), Box{});
  EXPECT_EQ(Mask().area(), 0);
  EXPECT_EQ(Mask().tight_box(), Box{});
}

TEST(MaskTest, AreaAndBoxOfPycocotools) {
  for (const auto& entry : test::load_json("coco_masks.json")) {
    if (!entry.contains("rows")) continue;
    const Mask mask = mask_of(entry["rows"]);
    const auto& box = entry["box"];
    EXPECT_EQ(mask.area(), entry["area"].get<std::int64_t>());
    EXPECT_EQ(mask.tight_box(), (Box{box[0], box[1], box[2], box[3]}));
  }
}

TEST(MaskTest, IouOfPycocotools) {
  Mask previous;
  int compared = 0;
  for (const auto& entry : test::load_json("coco_masks.json")) {
    if (!entry.contains("rows")) continue;
    const Mask mask = mask_of(entry["rows"]);
    if (!entry["iou_with_previous"].is_null()) {
      EXPECT_DOUBLE_EQ(mask_iou(mask, previous), entry["iou_with_previous"].get<double>());
      EXPECT_EQ(mask_iou(mask, previous), mask_iou(previous, mask));
      ++compared;
    }
    previous = mask;
  }
  EXPECT_GT(compared, 50);
}

TEST(MaskTest, IouOfEmptyMasksIsZero) {
  const Mask empty(Size{100, 20});
  EXPECT_EQ(mask_iou(empty, empty), 0);
  EXPECT_EQ(mask_iou(empty, rectangle({100, 20}, 0, 0, 100, 20)), 0);
}

TEST(MaskTest, OverlapEqualsCountingPixels) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const Size size = test::random_size(random);
    const double density = i % 2 == 0 ? 0.5 : 0.01;
    const Mask a = test::noise(size, density, random);
    const Mask b = test::noise(size, density, random);
    std::int64_t common = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) common += a.at(x, y) && b.at(x, y);
    EXPECT_EQ(a.area(), count_pixels(a));
    EXPECT_EQ(mask::footprint(a).area, count_pixels(a));
    EXPECT_EQ(mask::intersection_area(a, b), common);
    const std::int64_t united = count_pixels(a) + count_pixels(b) - common;
    EXPECT_EQ(mask_iou(a, b),
              united == 0 ? 0 : static_cast<double>(common) / static_cast<double>(united));
  }
}

}  // namespace
}  // namespace sam3
