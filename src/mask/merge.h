// One thing found under several class names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sam3/mask.h"
#include "sam3/picture.h"

namespace sam3::mask {

// A detection of one class. `mask` is not owned; all masks of one call have the same size, the
// picture's or the model's. The model's is enough and keeps memory small (200 masks take 2 MB
// whatever the picture's size): all masks of a picture share one grid whose cells are equally
// large, so the ratio of areas is the same but for how the edges are interpolated.
struct MergeCandidate {
  std::string_view class_name;
  double score = 0;
  Box box;
  const Mask* mask = nullptr;
};

// What became of a candidate: the index of the kept candidate it was merged into, and the IoU of
// the two masks. Kept if `into` is empty.
struct MergeOutcome {
  std::optional<std::size_t> into;
  double iou = 0;
};

// Removes detections that another class describes with a higher score: going through all candidates
// by falling score, one is merged if the IoU of its mask with that of an already kept candidate of
// another class is at least `overlap`, into the kept candidate with the largest IoU. Candidates of
// the same class never merge. Masks without a common pixel never merge, also with `overlap` 0; an
// `overlap` of 1 or more keeps everything, identical masks included.
// Source: classes.py as the model card of the five-graph family describes it; the card does not say
// which overlap is meant, IoU is the symmetric one that leaves a small thing on a large one alone.
//
// The outcomes have the order of the candidates, but do not depend on it: equal scores are ordered
// by class name, then by box (x0, y0, x1, y1), and candidates that agree in all of these are of the
// same class and so do not compete. A score that is not a number comes last.
std::vector<MergeOutcome> merge_across_classes(std::span<const MergeCandidate> candidates,
                                               double overlap);

}  // namespace sam3::mask
