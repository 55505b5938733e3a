#include "eval/sa_co.h"

#include <cmath>

#include "eval/assignment.h"

namespace sam3::eval {
namespace {

// What the reference adds to its denominators.
constexpr double kSmall = 1e-4;
constexpr double kSmaller = 1e-6;

double over(std::int64_t part, std::int64_t whole, double small) {
  return static_cast<double>(part) / (static_cast<double>(whole) + small);
}

double harmonic(double precision, double recall, double small) {
  return 2 * precision * recall / (precision + recall + small);
}

// All sums at one threshold.
SaCoMeasures measures(std::span<const SaCoOutcome> outcomes, std::size_t threshold, double mcc) {
  std::int64_t matches = 0;
  std::int64_t detections = 0;
  std::int64_t detections_where_present = 0;
  std::int64_t truths = 0;
  std::int64_t answered = 0;
  double f1_sum = 0;
  for (const SaCoOutcome& outcome : outcomes) {
    const std::int64_t right = outcome.matches[threshold];
    matches += right;
    detections += outcome.detections;
    truths += outcome.truths;
    if (outcome.truths == 0 || outcome.detections == 0) continue;
    detections_where_present += outcome.detections;
    ++answered;
    f1_sum += harmonic(over(right, outcome.detections, kSmall), over(right, outcome.truths, kSmall),
                       kSmall);
  }
  SaCoMeasures result;
  result.precision = over(matches, detections, kSmall);
  result.recall = over(matches, truths, kSmall);
  result.f1 = harmonic(result.precision, result.recall, kSmall);
  result.positive_micro_precision = over(matches, detections_where_present, kSmall);
  result.positive_micro_f1 = harmonic(result.positive_micro_precision, result.recall, kSmall);
  result.positive_macro_f1 = answered == 0 ? -1 : f1_sum / static_cast<double>(answered);
  result.cgf1 = result.positive_micro_f1 * mcc;
  return result;
}

void count_presence(std::span<const SaCoOutcome> outcomes, std::int64_t silent,
                    SaCoScores& scores) {
  scores.true_absent = silent;
  for (const SaCoOutcome& outcome : outcomes) {
    if (outcome.truths > 0)
      ++(outcome.detections > 0 ? scores.true_present : scores.false_absent);
    else
      ++(outcome.detections > 0 ? scores.false_present : scores.true_absent);
  }
  const std::int64_t said_present = scores.true_present + scores.false_present;
  const std::int64_t present = scores.true_present + scores.false_absent;
  const std::int64_t absent = scores.true_absent + scores.false_present;
  const std::int64_t said_absent = scores.true_absent + scores.false_absent;
  scores.il_recall = over(scores.true_present, present, kSmaller);
  scores.il_precision = over(scores.true_present, said_present, kSmaller);
  scores.il_f1 = harmonic(scores.il_precision, scores.il_recall, kSmaller);
  scores.il_fpr = over(scores.false_present, absent, kSmaller);
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  scores.il_mcc =
      (real(scores.true_present) * real(scores.true_absent) -
       real(scores.false_present) * real(scores.false_absent)) /
      (std::sqrt(real(said_present) * real(present) * real(absent) * real(said_absent)) + kSmaller);
}

}  // namespace

SaCoOutcome sa_co_outcome(const Matrix& overlaps) {
  SaCoOutcome outcome;
  outcome.detections = static_cast<std::int64_t>(overlaps.rows);
  outcome.truths = static_cast<std::int64_t>(overlaps.columns);
  const auto truths = best_assignment(overlaps);
  for (std::size_t d = 0; d < truths.size(); ++d)
    for (std::size_t t = 0; truths[d] && t < kThresholds; ++t)
      if (overlaps.at(d, *truths[d]) >= iou_thresholds()[t]) ++outcome.matches[t];
  return outcome;
}

SaCoScores sa_co_scores(std::span<const SaCoOutcome> outcomes, std::int64_t silent) {
  SaCoScores scores;
  count_presence(outcomes, silent, scores);
  double SaCoMeasures::*const kAll[] = {
      &SaCoMeasures::cgf1,
      &SaCoMeasures::positive_micro_f1,
      &SaCoMeasures::positive_micro_precision,
      &SaCoMeasures::positive_macro_f1,
      &SaCoMeasures::precision,
      &SaCoMeasures::recall,
      &SaCoMeasures::f1,
  };
  for (std::size_t t = 0; t < kThresholds; ++t) {
    const SaCoMeasures one = measures(outcomes, t, scores.il_mcc);
    if (t == 0) scores.at_50 = one;
    if (t == kThresholds / 2) scores.at_75 = one;
    for (double SaCoMeasures::*const member : kAll)
      scores.mean.*member += one.*member / static_cast<double>(kThresholds);
  }
  if (scores.at_50.positive_macro_f1 < 0) scores.mean.positive_macro_f1 = -1;
  return scores;
}

}  // namespace sam3::eval
