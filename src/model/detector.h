// The detector of the five-graph family as it is run: whole, or in stages (rewrite/detector.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/model_file.h"
#include "model/features.h"
#include "model/lazy_session.h"
#include "model/text_workflow.h"
#include "runtime/tensor.h"
#include "sam3/result.h"

namespace sam3::model {

class Detector {
 public:
  static Result<std::unique_ptr<const Detector>> create(graph::ModelFile file,
                                                        const WorkflowContext& context);

  Status load() const;
  // What can be computed of a picture's fpn_0, fpn_1 and fpn_2 alone, and of a phrase's
  // text_features and attention_mask: nothing where the detector is not cut.
  Result<NamedTensors> of_picture(const NamedTensors& features) const;
  Result<NamedTensors> of_phrase(const NamedTensors& text) const;
  // Boxes and scores, and what masks() needs. `values` are the inputs and what the two calls above
  // made of them.
  Result<NamedTensors> objects(const NamedTensors& values) const;

  struct Masks {
    runtime::Tensor bits;    // uint8 [1, N, H, W / 8]
    bool only_kept = false;  // whether its planes are those of `kept`, in order, or of all queries
  };
  // `values` also hold what objects() made; `kept` is not empty.
  Result<Masks> masks(const NamedTensors& values, const std::vector<std::int64_t>& kept) const;

 private:
  struct Stage {
    std::unique_ptr<LazySession> session;  // null: nothing to do
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;

    Result<NamedTensors> run(const NamedTensors& values) const;
  };

  Status cut(graph::ModelFile& file, const WorkflowContext& context);
  static Result<Stage> make_stage(const graph::EditableModel& model, const graph::ModelFile& origin,
                                  const WorkflowContext& context, const std::string& name);

  Stage picture_;
  Stage phrase_;
  Stage objects_;
  Stage masks_;
  bool only_kept_ = false;
};

}  // namespace sam3::model
