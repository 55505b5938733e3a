// COCO's average precision and recall.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/parallel.h"
#include "eval/coco_data.h"
#include "eval/coco_overlaps.h"

namespace sam3::eval {

// The twelve numbers of pycocotools' summary, in its order. AP is the mean over IoU thresholds from
// 0.5 to 0.95 in steps of 0.05; "small", "medium" and "large" are areas below, between and above 32
// and 96 pixels squared; AR1 is the recall with one detection for each picture and category.
inline constexpr std::array<const char*, 12> kCocoMeasures = {
    "AP",  "AP50", "AP75",  "AP_small", "AP_medium", "AP_large",
    "AR1", "AR10", "AR100", "AR_small", "AR_medium", "AR_large"};

// Results beyond the best hundred of a picture and category are not looked at.
inline constexpr std::size_t kMostDetections = 100;

// A number is -1 where nothing was to be found.
using CocoNumbers = std::array<double, kCocoMeasures.size()>;

struct CocoScores {
  CocoNumbers numbers{};
  // The same over one category each, in the order of CocoTruth::categories.
  std::vector<CocoNumbers> categories;
};

// The numbers of pycocotools' COCOeval, crowds included. For kMask, truth and results need masks;
// what has none overlaps nothing.
CocoScores coco_scores(const CocoTruth& truth, const CocoResults& results, IouKind kind,
                       const ParallelFor& run = run_serially);

// 0.5, 0.55, ... 0.95, to the bit what pycocotools compares with.
inline constexpr std::size_t kThresholds = 10;
const std::array<double, kThresholds>& iou_thresholds();

}  // namespace sam3::eval
