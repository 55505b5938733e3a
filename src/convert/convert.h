// Checkpoint in, model package out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "convert/config.h"
#include "convert/graphs.h"
#include "convert/weights.h"
#include "sam3/result.h"

namespace sam3::convert {

enum class Family { kFiveGraph, kBrowser };

// One graph of a package.
struct GraphRecipe {
  std::string name;            // "vision_encoder"
  std::filesystem::path file;  // in the package
  std::function<Result<graph::EditableModel>()> build;
};

struct ConvertOptions {
  Family family = Family::kFiveGraph;
  GraphOptions graphs;
  // Five-graph family only: geometry_encoder as well, and a detector whose prompt may be longer.
  bool exemplars = false;
  // Called for each graph before it is written; may change it (quantize it).
  std::function<Status(const std::string& name, graph::EditableModel& model)> transform;
  // Called for each graph after it was written.
  std::function<void(const std::string& name, const graph::WrittenModel& written)> progress;
};

// The graphs of a package, in the order in which they are written. `config` and `source` must
// outlive the recipes.
std::vector<GraphRecipe> graph_recipes(const Config& config, const WeightSource& source,
                                       const ConvertOptions& options);

// Builds and writes all graphs into `folder`, one after the other.
Status write_graphs(const Config& config, const WeightSource& source, const ConvertOptions& options,
                    const std::filesystem::path& folder);

// Finds tokenizer.json in `from` or `from`/tokenizer and writes what the family needs: the files of
// the tokenizer into `to`/tokenizer, or `to`/clip_tokenizer.json. kNotFound if there is none,
// kBadData if it is not CLIP's.
Status write_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to,
                       Family family);

// Writes model.json.
struct Description {
  std::string name;
  std::string provenance;
  std::string licence;
};
Status write_description(const Config& config, Family family, const Description& description,
                         const std::filesystem::path& folder);

}  // namespace sam3::convert
