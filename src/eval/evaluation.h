// Everything `sam3 eval` measures, from truth and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "eval/coco.h"
#include "eval/coco_data.h"
#include "eval/matching.h"
#include "eval/sa_co.h"

namespace sam3::eval {

struct EvaluationOptions {
  // Detections with this score or more are answers: for F1, SA-Co's measures and presence. Average
  // precision looks at all.
  double threshold = 0.5;
  // When a detection is right, for F1. Without masks in truth or results only boxes are compared.
  MatchOptions matching;
};

// Does a picture show what a prompt names?
struct PresenceCounts {
  std::int64_t present = 0;
  std::int64_t absent = 0;
  std::int64_t false_present = 0;  // something detected where it is absent
  std::int64_t false_absent = 0;   // nothing detected where it is present
};

// A prompt is a category; in a file of SA-Co, the phrase of a picture.
struct PromptScores {
  std::string name;
  // Average precision over IoU thresholds; not of phrases, whose objects share one category.
  std::optional<double> box_ap;
  std::optional<double> mask_ap;
  MatchCounts counts;
  PresenceCounts presence;
};

struct Evaluation {
  EvaluationOptions options;
  std::size_t images = 0;  // entries of the file
  std::size_t queries =
      0;  // pictures times prompts, or entries with a phrase; exhaustive ones only
  bool has_phrases = false;  // every entry has its own prompt
  bool has_masks = false;    // both truth and results
  CocoNumbers box{};
  std::optional<CocoNumbers> mask;
  MatchCounts counts;
  PresenceCounts presence;
  SaCoScores sa_co;  // by masks if there are some, else by boxes
  std::vector<PromptScores> prompts;
};

// Crowds, which stand for an unknown number of objects, are left out of F1 and SA-Co's measures,
// and so are pictures that are not exhaustively annotated. `results` were read with this `truth`.
Evaluation evaluate(const CocoTruth& truth, const CocoResults& results,
                    const EvaluationOptions& options = {}, const ParallelFor& run = run_serially);

// The same as a JSON object and as a table for people. What could not be measured is null, or "-".
nlohmann::ordered_json evaluation_json(const Evaluation& evaluation);
std::string evaluation_table(const Evaluation& evaluation);

}  // namespace sam3::eval
