// Which detection is which true object, and how good that is: precision, recall, F1, mean IoU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eval/matrix.h"
#include "sam3/mask.h"
#include "sam3/picture.h"

namespace sam3::eval {

// Intersection over union; 0 where the boxes have no area in common.
double box_iou(const Box& a, const Box& b);

// A detection or a true object of one picture. All masks of a picture have the same size; they are
// not owned.
struct Instance {
  Box box;
  const Mask* mask = nullptr;
  double score = 1;  // of truths: not used
  int category = 0;  // only instances of the same category match
};

enum class Assignment {
  kOptimal,  // as many matches as possible, and of these ways one with the largest sum of IoUs
  kGreedy,   // by falling score, each detection takes the free truth with the largest IoU
};

// A detection and a truth can match if the IoU of their boxes and that of their masks reach both
// bounds. A bound of 0 asks nothing. Where a mask is missing the IoU of the masks is 0, so that
// instances without masks need `mask_iou` 0.
struct MatchOptions {
  double box_iou = 0.5;
  double mask_iou = 0.5;
  Assignment assignment = Assignment::kOptimal;
};

struct Match {
  std::size_t detection = 0;
  std::size_t truth = 0;
  double box_iou = 0;
  double mask_iou = 0;
};

// Sums over any number of pictures and prompts.
struct MatchCounts {
  std::int64_t matches = 0;
  std::int64_t detections = 0;
  std::int64_t truths = 0;
  double box_iou_sum = 0;  // over the matches
  double mask_iou_sum = 0;

  MatchCounts& operator+=(const MatchCounts& other);
  // Matches over detections and over truths; 1 where there is nothing that could be wrong.
  double precision() const;
  double recall() const;
  // 2 * matches / (detections + truths); 1 when there are neither.
  double f1() const;
  // 0 without matches.
  double mean_box_iou() const;
  double mean_mask_iou() const;
};

struct Matching {
  std::vector<Match> matches;  // by detection
  MatchCounts counts;
};

// Pairs the detections of one picture with its truths, one to one.
// Source of the defaults: the model card of the five-graph family counts a detection as right at a
// box and mask IoU of 0.5.
Matching match_instances(std::span<const Instance> detections, std::span<const Instance> truths,
                         const MatchOptions& options = {});

// The same from overlaps that are known, detections by truths; all are of one category.
struct Overlaps {
  Matrix box;
  Matrix mask;
  std::vector<double> scores;  // of the detections
};
Matching match_overlaps(const Overlaps& overlaps, const MatchOptions& options = {});

}  // namespace sam3::eval
