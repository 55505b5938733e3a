// The measures of SA-Co, the benchmark of the SAM 3 paper: cgF1, pmF1 and IL_MCC.
//
// Source: "SAM 3: Segment Anything with Concepts" (Carion et al. 2025) and sam3/eval/cgf1_eval.py
// of facebookresearch/sam3, with its epsilons; the numbers are the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "eval/coco.h"
#include "eval/matrix.h"

namespace sam3::eval {

// One picture asked for one phrase.
struct SaCoOutcome {
  std::int64_t truths = 0;
  std::int64_t detections = 0;
  // Pairs of the best assignment whose IoU reaches each of iou_thresholds().
  std::array<std::int64_t, kThresholds> matches{};
};

// From the IoUs of the detections with a score of 0.5 or more (the paper's threshold) and the
// truths that are no crowds. The assignment is the one with the largest sum of IoUs.
SaCoOutcome sa_co_outcome(const Matrix& overlaps);

// At one IoU threshold, or the mean over all.
struct SaCoMeasures {
  double cgf1 = 0;               // positive_micro_f1 * il_mcc
  double positive_micro_f1 = 0;  // pmF1: matches of all phrases together; false detections count
                                 // only where the phrase is present and something was detected
  double positive_micro_precision = 0;
  double positive_macro_f1 = 0;  // mean of the phrases' F1; -1 if none is present and detected
  double precision = 0;          // over all phrases
  double recall = 0;
  double f1 = 0;
};

struct SaCoScores {
  SaCoMeasures mean;
  SaCoMeasures at_50;
  SaCoMeasures at_75;
  // Image level: does the picture show the phrase at all?
  double il_mcc = 0;  // Matthews correlation coefficient
  double il_precision = 0;
  double il_recall = 0;
  double il_f1 = 0;
  double il_fpr = 0;
  std::int64_t true_present = 0;
  std::int64_t true_absent = 0;
  std::int64_t false_present = 0;  // detected, but not there
  std::int64_t false_absent = 0;   // there, but nothing detected
};

// `silent` is the number of further outcomes that have neither truths nor detections.
SaCoScores sa_co_scores(std::span<const SaCoOutcome> outcomes, std::int64_t silent = 0);

}  // namespace sam3::eval
