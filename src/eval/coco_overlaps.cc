#include "eval/coco_overlaps.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "mask/overlap.h"
#include "mask/rle.h"

namespace sam3::eval {
namespace {

// The order of the operations is that of pycocotools, so that what is exactly at a threshold is so
// in both.
double box_overlap(const CocoBox& detection, const CocoBox& truth, bool crowd) {
  const double width = std::min(detection.width + detection.x, truth.width + truth.x) -
                       std::max(detection.x, truth.x);
  const double height = std::min(detection.height + detection.y, truth.height + truth.y) -
                        std::max(detection.y, truth.y);
  if (!(width > 0 && height > 0)) return 0;
  const double common = width * height;
  const double area = detection.width * detection.height;
  return common / (crowd ? area : area + truth.width * truth.height - common);
}

struct Unpacked {
  Mask mask;
  mask::Footprint footprint;
};

std::optional<Unpacked> unpack(const std::optional<Rle>& rle) {
  if (!rle) return std::nullopt;
  auto mask = mask::mask_from_rle(*rle);
  if (!mask.ok()) return std::nullopt;
  Unpacked unpacked{std::move(*mask), {}};
  unpacked.footprint = mask::footprint(unpacked.mask);
  return unpacked;
}

double mask_overlap(const Unpacked& detection, const Unpacked& truth, bool crowd) {
  const std::int64_t common =
      mask::intersection_area(detection.mask, detection.footprint, truth.mask, truth.footprint);
  if (common == 0) return 0;
  if (crowd) return static_cast<double>(common) / static_cast<double>(detection.footprint.area);
  return mask::iou_of_areas(detection.footprint.area, truth.footprint.area, common);
}

}  // namespace

Matrix coco_overlaps(std::span<const CocoDetection* const> detections,
                     std::span<const CocoAnnotation* const> truths, IouKind kind) {
  Matrix overlaps(detections.size(), truths.size());
  if (truths.empty()) return overlaps;
  if (kind == IouKind::kBox) {
    for (std::size_t d = 0; d < detections.size(); ++d)
      for (std::size_t t = 0; t < truths.size(); ++t)
        overlaps.at(d, t) = box_overlap(detections[d]->box, truths[t]->box, truths[t]->crowd);
    return overlaps;
  }
  std::vector<std::optional<Unpacked>> wanted;
  for (const CocoAnnotation* truth : truths) wanted.push_back(unpack(truth->mask));
  for (std::size_t d = 0; d < detections.size(); ++d) {
    const auto found = unpack(detections[d]->mask);
    for (std::size_t t = 0; found && t < truths.size(); ++t)
      if (wanted[t]) overlaps.at(d, t) = mask_overlap(*found, *wanted[t], truths[t]->crowd);
  }
  return overlaps;
}

}  // namespace sam3::eval
