// Parts of a graph: which nodes depend on what, and models of their own made of some of the nodes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/editable_model.h"
#include "graph/element_types.h"
#include "sam3/result.h"

namespace sam3::rewrite {

using Names = std::set<std::string, std::less<>>;

// A model's nodes by what they make. The model must stay as it is.
class GraphIndex {
 public:
  explicit GraphIndex(const graph::EditableModel& model);

  // The node that makes a value; null for inputs and weights.
  const onnx::NodeProto* producer(std::string_view value) const;
  // The graph's inputs that a node depends on, as a set of bits: bit i for input i of `inputs`.
  // 0 for what is made of weights alone.
  std::map<const onnx::NodeProto*, unsigned> dependence(
      const std::vector<std::string>& inputs) const;
  // Nodes that are needed to make `outputs` from `given` values.
  std::set<const onnx::NodeProto*> needed(const Names& given,
                                          const std::vector<std::string>& outputs) const;
  // Where the way from `outputs` back meets nodes that `is_done` says are computed already: values
  // from which the rest can be made. Nodes that only move data are not cut behind, but before them,
  // and so are those that quantize for the product that follows.
  Names frontier(const std::vector<std::string>& outputs,
                 const std::function<bool(const onnx::NodeProto&)>& is_done) const;
  // A model that makes `outputs` of `given` values and of inputs of the graph. Its inputs are those
  // of them that it needs. kUnsupported where the element type of a new input or output cannot be
  // told.
  Result<graph::EditableModel> extract(const Names& given,
                                       const std::vector<std::string>& outputs) const;

 private:
  Result<onnx::ValueInfoProto> declare(const std::string& value) const;

  const graph::EditableModel* model_;
  std::map<std::string, const onnx::NodeProto*, std::less<>> producers_;
  std::map<std::string, const onnx::ValueInfoProto*, std::less<>> declared_;
  graph::ElementTypes types_;
};

// Takes out nodes and weights from which no output follows.
void remove_dead(graph::EditableModel& model);

}  // namespace sam3::rewrite
