#include "eval/matching.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "eval/assignment.h"
#include "mask/overlap.h"

namespace sam3::eval {
namespace {

double ratio(double part, double whole, double if_empty) {
  return whole == 0 ? if_empty : part / whole;
}

std::vector<mask::Footprint> footprints(std::span<const Instance> instances) {
  std::vector<mask::Footprint> result;
  for (const Instance& instance : instances)
    result.push_back(instance.mask ? mask::footprint(*instance.mask) : mask::Footprint{});
  return result;
}

// IoUs of all pairs; pairs of different categories get -1, which reaches no bound.
Overlaps overlaps_of(std::span<const Instance> detections, std::span<const Instance> truths) {
  const std::vector<mask::Footprint> found = footprints(detections);
  const std::vector<mask::Footprint> wanted = footprints(truths);
  Overlaps overlaps{
      Matrix(detections.size(), truths.size()), Matrix(detections.size(), truths.size()), {}};
  for (std::size_t d = 0; d < detections.size(); ++d) {
    overlaps.scores.push_back(detections[d].score);
    for (std::size_t t = 0; t < truths.size(); ++t) {
      if (detections[d].category != truths[t].category) {
        overlaps.box.at(d, t) = overlaps.mask.at(d, t) = -1;
        continue;
      }
      overlaps.box.at(d, t) = box_iou(detections[d].box, truths[t].box);
      if (!detections[d].mask || !truths[t].mask) continue;
      const std::int64_t common =
          mask::intersection_area(*detections[d].mask, found[d], *truths[t].mask, wanted[t]);
      overlaps.mask.at(d, t) = mask::iou_of_areas(found[d].area, wanted[t].area, common);
    }
  }
  return overlaps;
}

class Matcher {
 public:
  Matcher(const Overlaps& overlaps, const MatchOptions& options)
      : overlaps_(overlaps), options_(options) {}

  std::vector<std::optional<std::size_t>> truths() const {
    return options_.assignment == Assignment::kGreedy ? greedy() : optimal();
  }

 private:
  bool possible(std::size_t d, std::size_t t) const {
    return overlaps_.box.at(d, t) >= options_.box_iou &&
           overlaps_.mask.at(d, t) >= options_.mask_iou;
  }
  double iou_sum(std::size_t d, std::size_t t) const {
    return overlaps_.box.at(d, t) + overlaps_.mask.at(d, t);
  }

  std::vector<std::optional<std::size_t>> optimal() const {
    const std::size_t rows = overlaps_.box.rows;
    const std::size_t columns = overlaps_.box.columns;
    // More than all IoUs together, so that one match more always counts for more.
    const double one_match = 2 * static_cast<double>(std::min(rows, columns)) + 1;
    Matrix gains(rows, columns);
    for (std::size_t d = 0; d < rows; ++d)
      for (std::size_t t = 0; t < columns; ++t)
        if (possible(d, t)) gains.at(d, t) = one_match + iou_sum(d, t);
    auto result = best_assignment(gains);
    for (std::size_t d = 0; d < rows; ++d)
      if (result[d] && !possible(d, *result[d])) result[d].reset();
    return result;
  }

  std::vector<std::optional<std::size_t>> greedy() const {
    std::vector<std::size_t> order(overlaps_.box.rows);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return overlaps_.scores[a] > overlaps_.scores[b];
    });
    std::vector<std::optional<std::size_t>> result(order.size());
    std::vector<bool> taken(overlaps_.box.columns, false);
    for (const std::size_t d : order) {
      for (std::size_t t = 0; t < taken.size(); ++t)
        if (!taken[t] && possible(d, t) && (!result[d] || iou_sum(d, t) > iou_sum(d, *result[d])))
          result[d] = t;
      if (result[d]) taken[*result[d]] = true;
    }
    return result;
  }

  const Overlaps& overlaps_;
  const MatchOptions& options_;
};

}  // namespace

double box_iou(const Box& a, const Box& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0 && height > 0)) return 0;
  const auto area = [](const Box& box) { return (box.x1 - box.x0) * (box.y1 - box.y0); };
  return width * height / (area(a) + area(b) - width * height);
}

MatchCounts& MatchCounts::operator+=(const MatchCounts& other) {
  matches += other.matches;
  detections += other.detections;
  truths += other.truths;
  box_iou_sum += other.box_iou_sum;
  mask_iou_sum += other.mask_iou_sum;
  return *this;
}

double MatchCounts::precision() const {
  return ratio(static_cast<double>(matches), static_cast<double>(detections), 1);
}
double MatchCounts::recall() const {
  return ratio(static_cast<double>(matches), static_cast<double>(truths), 1);
}
double MatchCounts::f1() const {
  return ratio(2 * static_cast<double>(matches), static_cast<double>(detections + truths), 1);
}
double MatchCounts::mean_box_iou() const {
  return ratio(box_iou_sum, static_cast<double>(matches), 0);
}
double MatchCounts::mean_mask_iou() const {
  return ratio(mask_iou_sum, static_cast<double>(matches), 0);
}

Matching match_instances(std::span<const Instance> detections, std::span<const Instance> truths,
                         const MatchOptions& options) {
  return match_overlaps(overlaps_of(detections, truths), options);
}

Matching match_overlaps(const Overlaps& overlaps, const MatchOptions& options) {
  Matching matching;
  const auto truths = Matcher(overlaps, options).truths();
  for (std::size_t d = 0; d < truths.size(); ++d) {
    if (!truths[d]) continue;
    const Match match{d, *truths[d], overlaps.box.at(d, *truths[d]),
                      overlaps.mask.at(d, *truths[d])};
    matching.matches.push_back(match);
    matching.counts.box_iou_sum += match.box_iou;
    matching.counts.mask_iou_sum += match.mask_iou;
  }
  matching.counts.matches = static_cast<std::int64_t>(matching.matches.size());
  matching.counts.detections = static_cast<std::int64_t>(overlaps.box.rows);
  matching.counts.truths = static_cast<std::int64_t>(overlaps.box.columns);
  return matching;
}

}  // namespace sam3::eval
