// Where quantization hurts: errors layer by layer, and which nodes to leave alone so that a gate
// passes. For packages of the five-graph family.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quantize/gates.h"
#include "quantize/options.h"
#include "sam3/result.h"

namespace sam3::quantize {

// Relative errors are the root of the sum of squared differences over that of squared values.

struct NodeError {
  std::string node;
  std::string op_type;
  double error = 0;
};

struct PackagePair {
  std::filesystem::path candidate;
  std::filesystem::path reference;
};

// For every node of the reference graph that multiplies by weights, in order: how far its value in
// the candidate's graph is from that in the reference's, when both get what the reference's graphs
// make of the cases. Errors: kUnsupported for a browser package; those of opening and running.
Result<std::vector<NodeError>> layer_errors(const PackagePair& packages, const std::string& graph,
                                            const std::vector<GateCase>& cases,
                                            const ModelOptions& options,
                                            const std::filesystem::path& scratch);

struct SearchOptions {
  Options quantization;  // with the operators to quantize
  GateOptions gates;
  // Called after each step, with what was tried.
  std::function<void(const std::string&)> progress;
};

struct SearchResult {
  std::string graph;
  // Each node quantized alone: relative error of the graph's outputs, the largest first.
  std::vector<NodeError> nodes;
  std::vector<std::string> exclude;  // nodes to leave alone; the fewest in that order
  bool passed = false;
  double value = 0;  // of the gate, with those left alone
};

// Quantizes one graph of the reference again and again: first each node alone, then all but the
// most sensitive ones, until the gate passes.
Result<SearchResult> search_exclusions(const std::filesystem::path& reference,
                                       const std::string& graph, const std::vector<GateCase>& cases,
                                       const SearchOptions& options,
                                       const std::filesystem::path& scratch);

}  // namespace sam3::quantize
