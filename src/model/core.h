// What stands behind sam3::Model: a package, an engine, and the two workflows, each made on first
// use.
#pragma once

#include <memory>
#include <mutex>

#include "base/parallel.h"
#include "model/package.h"
#include "model/point_workflow.h"
#include "model/text_workflow.h"
#include "runtime/engine.h"
#include "sam3/model.h"

namespace sam3::model {

class Core {
 public:
  static Result<std::shared_ptr<const Core>> open(const std::filesystem::path& folder,
                                                  const ModelOptions& options);

  const Package& package() const { return package_; }
  const runtime::Engine& engine() const { return *engine_; }
  // Made and checked on the first call; a failure is not remembered, so that a repaired package
  // works.
  Result<const TextWorkflow*> text() const;
  Result<const PointWorkflow*> point() const;

 private:
  Core(Package package, std::shared_ptr<const runtime::Engine> engine, bool low_memory,
       const rewrite::Rewrites& rewrites);

  WorkflowContext context() const;

  Package package_;
  std::shared_ptr<const runtime::Engine> engine_;
  bool low_memory_;
  rewrite::Rewrites rewrites_;
  mutable ThreadPool pool_;  // for the work between the graphs
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const TextWorkflow> text_;
  mutable std::unique_ptr<const PointWorkflow> point_;
};

// See sam3::Model::info.
Result<ModelInfo> describe(const Package& package);

}  // namespace sam3::model
