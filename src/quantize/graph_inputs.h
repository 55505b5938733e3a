// Inputs for single graphs of a package: what the package's other graphs make of pictures and
// prompts.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/editable_model.h"
#include "quantize/gates.h"
#include "runtime/session.h"
#include "sam3/result.h"

namespace sam3::quantize {

using NamedValues = std::vector<std::pair<std::string, runtime::Tensor>>;

class GraphInputs {
 public:
  // kUnsupported for a package that is not of the five-graph family.
  static Result<GraphInputs> create(const std::filesystem::path& package,
                                    const std::vector<GateCase>& cases,
                                    const ModelOptions& options);

  // One set of inputs for each run that the cases ask of a graph.
  Result<std::vector<NamedValues>> of(const std::string& graph) const;

  const std::shared_ptr<const runtime::Engine>& engine() const { return engine_; }

 private:
  GraphInputs(std::filesystem::path package, const std::vector<GateCase>& cases, Model model,
              std::shared_ptr<const runtime::Engine> engine)
      : package_(std::move(package)),
        cases_(&cases),
        model_(std::move(model)),
        engine_(std::move(engine)) {}

  Result<NamedValues> pixels(const GateCase& one) const;
  Result<std::vector<NamedValues>> texts() const;
  Result<std::vector<NamedValues>> prompts() const;
  Result<std::vector<NamedValues>> points() const;

  std::filesystem::path package_;
  const std::vector<GateCase>* cases_;
  Model model_;
  std::shared_ptr<const runtime::Engine> engine_;
};

// Runs a graph file once for each set of inputs; all outputs, or the named ones.
Result<std::vector<NamedValues>> run_graph(const std::shared_ptr<const runtime::Engine>& engine,
                                           const std::filesystem::path& file,
                                           const std::vector<NamedValues>& inputs,
                                           std::vector<std::string> outputs = {});

}  // namespace sam3::quantize
