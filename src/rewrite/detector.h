// The detector of the five-graph family cut into stages, so that nothing is computed twice or for
// nobody: what depends on the picture alone once for a picture, on the phrase alone once for a
// phrase, and masks only where somebody wants them.
#pragma once

#include <string>
#include <vector>

#include "graph/editable_model.h"
#include "sam3/result.h"

namespace sam3::rewrite {

// The graph input of the masks stage that names the queries whose masks are made: int64 [K].
inline constexpr const char* kKeptQueries = "kept_queries";

struct DetectorCut {
  std::vector<std::string> picture_inputs;
  std::vector<std::string> phrase_inputs;
  std::vector<std::string> object_outputs;  // boxes and scores
  std::string mask_output;                  // [1, Q, H, W / 8], a plane of bits for each query
};

// Each stage takes inputs of the detector and outputs of the stages before it, by name. A stage
// without outputs has nothing to do.
struct DetectorStages {
  graph::EditableModel picture;
  graph::EditableModel phrase;
  graph::EditableModel objects;
  graph::EditableModel masks;
  // Whether the masks stage has the input kKeptQueries and makes [1, K, H, W / 8]; otherwise the
  // product of queries and pixels was not found, and it makes all Q.
  bool only_kept = false;
};

// Nothing is computed differently; but the engine joins other nodes in parts than in the whole, and
// rounds there.
// kUnsupported where an operator is not known well enough to cut behind it.
Result<DetectorStages> cut_detector(const graph::EditableModel& detector, const DetectorCut& cut,
                                    bool kept_masks);

}  // namespace sam3::rewrite
