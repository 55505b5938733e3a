#include "eval/coco.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace sam3::eval {
namespace {

constexpr std::array<std::size_t, 3> kLimits = {1, 10, kMostDetections};
constexpr std::size_t kAreas = 4;  // all, small, medium, large
constexpr std::size_t kRecalls = 101;

struct AreaRange {
  double low;
  double high;
  bool contains(double area) const { return area >= low && area <= high; }
};
constexpr std::array<AreaRange, kAreas> kRanges = {
    {{0, 1e5 * 1e5}, {0, 32.0 * 32.0}, {32.0 * 32.0, 96.0 * 96.0}, {96.0 * 96.0, 1e5 * 1e5}}};

// What is found and what is to be found of one category in one picture.
struct Group {
  std::vector<const CocoDetection*> detections;
  std::vector<const CocoAnnotation*> truths;
};
// By the rank of the picture's id: equal scores are ordered by it.
using Groups = std::map<std::size_t, Group>;

// Over the detections of a picture or of all, by falling score. Flags of threshold t stand from
// t * scores.size() on.
struct Judged {
  std::vector<double> scores;
  std::vector<char> matched;
  std::vector<char> ignored;
  std::int64_t truths = 0;  // those that count
};

// Precision (mean over recalls) and recall for each threshold.
struct Curve {
  std::array<double, kThresholds> precision{};
  std::array<double, kThresholds> recall{};
};
// Nothing where no truth counts. [area][limit]
using CategoryCurves = std::array<std::array<std::optional<Curve>, kLimits.size()>, kAreas>;

template <typename Value, typename Key>
void sort_falling(std::vector<Value>& list, const Key& key) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const Value& a, const Value& b) { return key(a) > key(b); });
}

// Matches the detections of one picture with its truths.
class PictureJudge {
 public:
  // Sorts the detections and leaves out those beyond the limit.
  PictureJudge(Group group, IouKind kind) : group_(std::move(group)) {
    sort_falling(group_.detections, [](const CocoDetection* d) { return d->score; });
    if (group_.detections.size() > kMostDetections) group_.detections.resize(kMostDetections);
    overlaps_ = coco_overlaps(group_.detections, group_.truths, kind);
  }

  Judged judge(const AreaRange& range) const {
    Judged judged;
    std::vector<std::size_t> order;  // of the truths: those that count come first
    std::vector<char> ignored(group_.truths.size());
    for (std::size_t t = 0; t < ignored.size(); ++t) {
      ignored[t] = group_.truths[t]->crowd || !range.contains(group_.truths[t]->area);
      if (!ignored[t]) order.push_back(t);
    }
    judged.truths = static_cast<std::int64_t>(order.size());
    for (std::size_t t = 0; t < ignored.size(); ++t)
      if (ignored[t]) order.push_back(t);
    for (const CocoDetection* detection : group_.detections)
      judged.scores.push_back(detection->score);
    for (const double threshold : iou_thresholds()) match(order, ignored, threshold, range, judged);
    return judged;
  }

 private:
  // By falling score, each detection takes the free truth it overlaps most; one that is ignored
  // only if no other will do. Crowds are never used up. Of equal overlaps the last truth wins.
  void match(const std::vector<std::size_t>& order, const std::vector<char>& ignored,
             double threshold, const AreaRange& range, Judged& judged) const {
    std::vector<char> taken(ignored.size());
    for (std::size_t d = 0; d < group_.detections.size(); ++d) {
      double best = std::min(threshold, 1 - 1e-10);
      std::optional<std::size_t> match;
      for (const std::size_t t : order) {
        if (taken[t] && !group_.truths[t]->crowd) continue;
        if (match && !ignored[*match] && ignored[t]) break;
        if (overlaps_.at(d, t) < best) continue;
        best = overlaps_.at(d, t);
        match = t;
      }
      if (match) taken[*match] = 1;
      // pycocotools marks a match by the annotation's id, so that the id 0 reads as none.
      const bool matched = match && group_.truths[*match]->id != 0;
      const bool outside = !range.contains(group_.detections[d]->area);
      judged.matched.push_back(matched);
      judged.ignored.push_back((match && ignored[*match]) || (!matched && outside));
    }
  }

  Group group_;
  Matrix overlaps_;
};

// The best `limit` detections of each picture, all together by falling score.
Judged merged(const std::vector<Judged>& pictures, std::size_t limit) {
  struct Place {
    const Judged* picture;
    std::size_t index;
  };
  std::vector<Place> places;
  Judged all;
  for (const Judged& picture : pictures) {
    all.truths += picture.truths;
    for (std::size_t i = 0; i < std::min(limit, picture.scores.size()); ++i)
      places.push_back({&picture, i});
  }
  sort_falling(places, [](const Place& place) { return place.picture->scores[place.index]; });
  for (const Place& place : places) all.scores.push_back(place.picture->scores[place.index]);
  for (std::size_t threshold = 0; threshold < kThresholds; ++threshold) {
    for (const Place& place : places) {
      const std::size_t at = threshold * place.picture->scores.size() + place.index;
      all.matched.push_back(place.picture->matched[at]);
      all.ignored.push_back(place.picture->ignored[at]);
    }
  }
  return all;
}

// Precision at 101 recalls, where precision at a recall is the best at that or a higher one.
double mean_precision(std::vector<double> precision, const std::vector<double>& recall) {
  for (std::size_t i = precision.size(); i-- > 1;)
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;
  for (std::size_t r = 0; r < kRecalls; ++r) {
    const double wanted = r + 1 == kRecalls
                              ? 1.0
                              : static_cast<double>(r) * (1.0 / static_cast<double>(kRecalls - 1));
    const auto at = std::lower_bound(recall.begin(), recall.end(), wanted) - recall.begin();
    if (at < static_cast<std::ptrdiff_t>(precision.size()))
      sum += precision[static_cast<std::size_t>(at)];
  }
  return sum / static_cast<double>(kRecalls);
}

Curve curve_of(const Judged& judged) {
  Curve curve;
  const std::size_t count = judged.scores.size();
  for (std::size_t t = 0; t < kThresholds; ++t) {
    std::vector<double> precision;
    std::vector<double> recall;
    double right = 0;
    double wrong = 0;
    for (std::size_t i = t * count; i < (t + 1) * count; ++i) {
      if (!judged.ignored[i]) (judged.matched[i] ? right : wrong) += 1;
      recall.push_back(right / static_cast<double>(judged.truths));
      precision.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
    }
    curve.recall[t] = recall.empty() ? 0 : recall.back();
    curve.precision[t] = mean_precision(std::move(precision), recall);
  }
  return curve;
}

CategoryCurves curves_of(Groups groups, IouKind kind) {
  std::array<std::vector<Judged>, kAreas> judged;
  for (auto& [rank, group] : groups) {
    const PictureJudge judge(std::move(group), kind);
    for (std::size_t area = 0; area < kAreas; ++area)
      judged[area].push_back(judge.judge(kRanges[area]));
  }
  CategoryCurves curves;
  for (std::size_t area = 0; area < kAreas; ++area) {
    for (std::size_t limit = 0; limit < kLimits.size(); ++limit) {
      const Judged all = merged(judged[area], kLimits[limit]);
      if (all.truths > 0) curves[area][limit] = curve_of(all);
    }
  }
  return curves;
}

double mean(const double* first, std::size_t count) {
  return std::accumulate(first, first + count, 0.0) / static_cast<double>(count);
}

// The twelve numbers over some categories; each is the mean over those in which truths count.
CocoNumbers summary(const CategoryCurves* categories, std::size_t count) {
  const auto over = [&](std::size_t area, std::size_t limit, const auto& value) {
    double sum = 0;
    std::size_t present = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Curve>& curve = categories[i][area][limit];
      if (!curve) continue;
      sum += value(*curve);
      ++present;
    }
    return present == 0 ? -1.0 : sum / static_cast<double>(present);
  };
  const auto precision = [](const Curve& c) { return mean(c.precision.data(), kThresholds); };
  const auto recall = [](const Curve& c) { return mean(c.recall.data(), kThresholds); };
  constexpr std::size_t k75 = 5;  // the threshold 0.75
  constexpr std::size_t kAll = kLimits.size() - 1;
  return {over(0, kAll, precision),
          over(0, kAll, [](const Curve& c) { return c.precision[0]; }),
          over(0, kAll, [](const Curve& c) { return c.precision[k75]; }),
          over(1, kAll, precision),
          over(2, kAll, precision),
          over(3, kAll, precision),
          over(0, 0, recall),
          over(0, 1, recall),
          over(0, kAll, recall),
          over(1, kAll, recall),
          over(2, kAll, recall),
          over(3, kAll, recall)};
}

// Where each picture comes when they are sorted by id.
std::vector<std::size_t> ranks(const std::vector<CocoImage>& images) {
  std::vector<std::size_t> order(images.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return images[a].id < images[b].id; });
  std::vector<std::size_t> result(images.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = i;
  return result;
}

std::vector<Groups> groups_of(const CocoTruth& truth, const CocoResults& results) {
  const std::vector<std::size_t> rank = ranks(truth.images);
  std::vector<Groups> groups(truth.categories.size());
  const auto group = [&](std::int64_t image, std::int64_t category) -> Group& {
    return groups[truth.category_index.at(category)][rank[truth.image_index.at(image)]];
  };
  for (const CocoAnnotation& annotation : truth.annotations)
    group(annotation.image_id, annotation.category_id).truths.push_back(&annotation);
  for (const CocoDetection& detection : results.detections)
    group(detection.image_id, detection.category_id).detections.push_back(&detection);
  return groups;
}

}  // namespace

const std::array<double, kThresholds>& iou_thresholds() {
  static const std::array<double, kThresholds> thresholds = [] {
    constexpr double kFirst = 0.5;
    constexpr double kLast = 0.95;
    std::array<double, kThresholds> values{};
    for (std::size_t i = 0; i < kThresholds; ++i)
      values[i] = kFirst + static_cast<double>(i) * ((kLast - kFirst) / (kThresholds - 1));
    values.back() = kLast;
    return values;
  }();
  return thresholds;
}

CocoScores coco_scores(const CocoTruth& truth, const CocoResults& results, IouKind kind,
                       const ParallelFor& run) {
  std::vector<Groups> groups = groups_of(truth, results);
  std::vector<CategoryCurves> curves(groups.size());
  run(static_cast<std::int64_t>(groups.size()), [&](std::int64_t i) {
    const auto category = static_cast<std::size_t>(i);
    curves[category] = curves_of(std::move(groups[category]), kind);
  });
  CocoScores scores;
  scores.numbers = summary(curves.data(), curves.size());
  for (const CategoryCurves& category : curves) scores.categories.push_back(summary(&category, 1));
  return scores;
}

}  // namespace sam3::eval
