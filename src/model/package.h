// A model package: a folder with graphs, tokenizer and what is known about them.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/editable_model.h"
#include "graph/model_file.h"
#include "model/contract.h"
#include "rewrite/rewrites.h"
#include "runtime/session.h"
#include "sam3/model.h"
#include "sam3/result.h"

namespace sam3::model {

enum class Family { kFiveGraph, kBrowser };

std::string_view family_name(Family family);

// The graphs of one workflow, read (without weights) and found to fit together.
struct CheckedGraphs {
  std::vector<std::pair<GraphKind, graph::ModelFile>> files;

  // The graph must be one of the workflow's.
  const graph::ModelFile& at(GraphKind kind) const;
  graph::ModelFile take(GraphKind kind);  // which is gone from here afterwards
  bool contains(GraphKind kind) const;
};

class Package {
 public:
  // Finds out what `folder` holds; opens no graph of the five-graph family.
  static Result<Package> open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  Family family() const { return family_; }
  const std::string& name() const { return name_; }
  // Per channel, for pixel values scaled to [0, 1].
  const std::array<float, 3>& mean() const { return mean_; }
  const std::array<float, 3>& std_deviation() const { return std_; }

  static std::vector<GraphKind> graphs_of(Family family, Workflow workflow);
  // The same with the optional graphs that this package has.
  std::vector<GraphKind> graphs_of(Workflow workflow) const;
  bool has(Workflow workflow) const;
  std::filesystem::path path_of(GraphKind kind) const;
  // kNotFound if the package has none.
  Result<std::filesystem::path> tokenizer_path() const;

  // Reads and checks the graphs of a workflow. The error lists everything that is wrong, a line
  // each: missing and damaged files, and all differences from the contract.
  Result<CheckedGraphs> check(Workflow workflow) const;
  // The same as lines, with what could be read of the graphs.
  std::vector<std::string> problems(Workflow workflow, CheckedGraphs& graphs) const;

 private:
  Status read_description();
  Status find_browser_graphs();

  std::filesystem::path folder_;
  Family family_ = Family::kFiveGraph;
  std::string name_;
  std::array<float, 3> mean_{0.5F, 0.5F, 0.5F};
  std::array<float, 3> std_{0.5F, 0.5F, 0.5F};
  std::vector<std::pair<GraphKind, std::filesystem::path>> paths_;
};

// How the engine has to be given a graph so that it finds the weights, also where model or data are
// symbolic links, as in a download cache, and so that int8 sums are exact on this processor.
// The rewrites of single graphs that are on are applied.
Result<runtime::GraphSource> graph_source(graph::ModelFile file,
                                          const rewrite::Rewrites& rewrites = rewrite::kNone);
// The same for a model that was made of `origin`'s. A value of its own weights is held in memory.
Result<runtime::GraphSource> graph_source(const graph::EditableModel& model,
                                          const graph::ModelFile& origin);
// A graph that can be changed, with weights of its own for each node where sums ask for that, and
// with the rewrites of single graphs that are on.
Result<graph::EditableModel> editable(graph::ModelFile& file, const rewrite::Rewrites& rewrites);

// The parts of an error's message, a line each, under a heading.
Error listed_error(ErrorCode code, const std::string& heading,
                   const std::vector<std::string>& lines, const std::filesystem::path& folder);

}  // namespace sam3::model
