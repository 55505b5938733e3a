// The contract between a package's graphs: names, element types, ranks, and the sizes that must
// agree. Sources: the tables of the two published model cards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/model_file.h"

namespace sam3::model {

enum class GraphKind {
  kVisionEncoder,
  kTextEncoder,
  kDetector,
  kGeometryEncoder,  // optional: example boxes
  kTrackerVisionEncoder,
  kPromptDecoder,
  kBrowserImageEncoder,
  kBrowserLanguageEncoder,
  kBrowserDecoder,
};

// "vision_encoder", …, "sam3_decoder": folder (five-graph family) or file stem (browser family).
std::string_view graph_name(GraphKind kind);

struct ContractGraph {
  GraphKind kind;
  const graph::ModelFile* file;
};

struct ContractReport {
  std::vector<std::string> problems;  // one sentence each; empty if the graphs fit together
  std::vector<std::string> warnings;
};

// Checks all graphs together: a size that one graph names (channels, grid, tokens, queries) must be
// the same in every other.
ContractReport check_contract(const std::vector<ContractGraph>& graphs);

// True if `file` has every input that a graph of this kind must have; tells what an unnamed
// file is.
bool looks_like(GraphKind kind, const graph::ModelFile& file);

}  // namespace sam3::model
