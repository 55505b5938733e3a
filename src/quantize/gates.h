// Gates: how close the answers of a package come to those of a reference, each graph swapped alone
// into the reference, and all together.
// Source of the measures: the model card of the five-graph family (its table "Quantization").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/matching.h"
#include "sam3/model.h"
#include "sam3/result.h"

namespace sam3::quantize {

// A picture and what is asked about it.
struct GateCase {
  std::string name;
  Picture picture;
  std::vector<std::string> prompts;
};

// A click or a box.
struct GatePoint {
  std::string what;  // "centre click", "click inside", "box"; "grid click", "middle box"
  PointPrompt prompt;
};

// How far two answers to one question are apart.
struct GateDifference {
  std::size_t picture = 0;  // which case
  std::string question;     // the phrase, or "click inside 3"
  double score = 0;         // F1, or IoU of the masks
  std::vector<Mask> reference;
  std::vector<Mask> answer;
};

struct GateResult {
  std::string graph;   // "vision_encoder"; "text graphs" or "point graphs" for all together
  std::string metric;  // "detection F1" or "mask IoU"
  double value = 0;
  double limit = 0;        // the value must be at least 1 - limit
  std::string samples;     // "24 pictures, 96 prompts"
  eval::MatchCounts text;  // of the text workflow
  double least = 0;        // of the point workflow: smallest IoU
  std::int64_t good = 0;   // and number of prompts with an IoU of at least 0.9
  std::int64_t prompts = 0;
  std::vector<GateDifference> worst;  // the worst first

  bool passed() const { return value >= 1 - limit; }
};

struct GateOptions {
  double limit = 0.05;
  double threshold = 0.5;           // of detections
  std::size_t worst = 4;            // differences that are kept of each gate
  std::vector<std::string> graphs;  // empty: all that both packages have
  ModelOptions model;
  std::function<void(const GateResult&)> progress;
};

// A point of the mask that is as far from its edge as any, in the middle of its pixel; nothing for
// an empty mask. Distances are counted in steps to one of the eight neighbours.
std::optional<Point> inner_point(const Mask& mask);

// The questions of the point workflow about a picture: a click into its middle, and for each
// detection of the reference a click inside and its box.
std::vector<GatePoint> gate_points(const Picture& picture, const std::vector<Detection>& found);

// The same for a reference without text workflow, whose objects are not known: clicks on a grid,
// and a box around the middle half.
std::vector<GatePoint> grid_points(const Picture& picture);

// A package in `folder` (which exists and is empty) made of links: the reference's files, with the
// graphs named in `swapped` taken from `candidate`.
Status compose_package(const std::filesystem::path& reference,
                       const std::filesystem::path& candidate,
                       const std::vector<std::string>& swapped,
                       const std::filesystem::path& folder);

// Runs all gates, of both workflows where both packages have them. `scratch` is an existing empty
// folder for composed packages. Errors: those of opening and running the packages; kInvalidArgument
// without pictures or prompts, and for graphs that are not in both packages.
Result<std::vector<GateResult>> run_gates(const std::filesystem::path& candidate,
                                          const std::filesystem::path& reference,
                                          const std::vector<GateCase>& cases,
                                          const GateOptions& options,
                                          const std::filesystem::path& scratch);

}  // namespace sam3::quantize
