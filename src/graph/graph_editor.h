// Rewrites the nodes of an EditableModel one after the other, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/editable_model.h"

namespace sam3::graph {

// What an operand of a node really is.
struct Operand {
  std::string name;  // of the weight behind Identity and Transpose nodes
  Weight weight;
  bool transposed = false;          // the operand is the weight transposed (matrices only)
  std::vector<std::string> passed;  // names that were passed on the way, the weight's included
  std::string reason;               // why it is none that could be quantized; else empty
};

// Standard operators only: nodes of other domains have names of their own.
bool is_standard(const onnx::NodeProto& node);
// The name of a node, or that of its output.
std::string label(const onnx::NodeProto& node);
// An input of a node; empty where it has none.
const std::string& input_of(const onnx::NodeProto& node, int index);
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                           std::int64_t otherwise);
float float_attribute(const onnx::NodeProto& node, std::string_view name, float otherwise);
std::vector<std::int64_t> ints_attribute(const onnx::NodeProto& node, std::string_view name);

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;
// Adds an attribute, which the node must not have yet.
void set_attribute(onnx::NodeProto& node, std::string_view name, const Attribute& value);

// Leaves the nodes whose place in the graph is marked, and the declarations of values that they
// make or that `is_known`.
void keep_nodes(onnx::GraphProto& graph, const std::vector<bool>& stays,
                const std::function<bool(const std::string&)>& is_known);

// Calls visit(name) for every value that a node reads, those of its subgraphs included.
template <typename Visit>
void for_each_use(const onnx::NodeProto& node, const Visit& visit) {
  for (const std::string& input : node.input())
    if (!input.empty()) visit(input);
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const auto& inner : attribute.g().node()) for_each_use(inner, visit);
    for (const auto& output : attribute.g().output()) visit(output.name());
  }
}

class GraphEditor {
 public:
  // Takes the nodes out of `model`, which must outlive the editor; finish() puts new ones in.
  explicit GraphEditor(EditableModel& model);

  const std::vector<onnx::NodeProto>& source() const { return source_; }
  std::int64_t opset() const;  // of the standard operators; 0 if none
  bool is_graph_input(std::string_view name) const;
  // The node that makes a value, or null.
  const onnx::NodeProto* producer(std::string_view name) const;

  // Looks for a weight of floats through Identity, Transpose and Constant nodes.
  Operand look_up(std::string_view name) const;

  // A name that no value or node has, made from `wanted`.
  std::string unique(const std::string& wanted);
  void keep(const onnx::NodeProto& node) { *graph().add_node() = node; }
  onnx::NodeProto& add(const std::string& op_type, const std::vector<std::string>& inputs,
                       const std::string& output, const std::string& name);
  // Declares a weight under a new name, which is returned.
  std::string add_weight(const std::string& wanted, Weight weight);
  // What the operand stood for may go if nothing else needs it.
  void release(const Operand& operand);
  void need_domain(const std::string& domain, std::int64_t version);

  // Removes what was released and is not used, and declarations of values that are no more.
  void finish();

  onnx::GraphProto& graph() { return *model_.proto.mutable_graph(); }
  EditableModel& model() { return model_; }
  const EditableModel& model() const { return model_; }
  const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& outputs() const {
    return model_.proto.graph().output();
  }

 private:
  EditableModel& model_;
  std::vector<onnx::NodeProto> source_;
  std::map<std::string, const onnx::NodeProto*, std::less<>> producers_;
  std::set<std::string, std::less<>> graph_inputs_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> released_;
};

}  // namespace sam3::graph
