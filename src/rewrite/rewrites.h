// The rewrites by name, and which of them are on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::rewrite {

struct Rewrites {
  bool detector_stages = true;  // the detector cut by what depends on picture and phrase
  bool kept_masks = true;       // masks of kept queries only; needs the stages
  bool attention = true;        // attention as one operator
  // The engine's own settings of memory and of sums, instead of those that suit these graphs: with
  // no rewrites, what ONNX Runtime does by itself. For comparisons.
  bool engine_defaults = false;
};

inline constexpr Rewrites kNone{false, false, false, false};

// "detector-stages", "kept-masks", "attention".
std::vector<std::string> rewrite_names();

// "all", "none", "plain" (none, and engine_defaults), or names to leave out, each behind a minus:
// "-attention", "-attention,-kept-masks". kInvalidArgument for anything else.
Result<Rewrites> parse_rewrites(std::string_view text);

}  // namespace sam3::rewrite
