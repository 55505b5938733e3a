#include "rewrite/subgraph.h"

#include <algorithm>

#include "base/macros.h"
#include "graph/graph_editor.h"

namespace sam3::rewrite {

namespace {

// Operators that are rather repeated than cut behind: they move data and compute nothing, or the
// engine joins them with the product that follows.
bool is_repeated(const onnx::NodeProto& node) {
  static const Names kRepeated{"Concat",    "DynamicQuantizeLinear",
                               "Expand",    "Flatten",
                               "Gather",    "Identity",
                               "Reshape",   "Shape",
                               "Slice",     "Split",
                               "Squeeze",   "Tile",
                               "Transpose", "Unsqueeze"};
  return graph::is_standard(node) && kRepeated.contains(node.op_type());
}

std::vector<std::string> uses_of(const onnx::NodeProto& node) {
  std::vector<std::string> uses;
  graph::for_each_use(node, [&](const std::string& name) { uses.push_back(name); });
  return uses;
}

}  // namespace

GraphIndex::GraphIndex(const graph::EditableModel& model)
    : model_(&model), types_(graph::infer_types(model)) {
  const onnx::GraphProto& graph = model.proto.graph();
  for (const auto& node : graph.node())
    for (const std::string& output : node.output())
      if (!output.empty()) producers_[output] = &node;
  for (const auto* values : {&graph.value_info(), &graph.input(), &graph.output()})
    for (const auto& value : *values) declared_[value.name()] = &value;
}

const onnx::NodeProto* GraphIndex::producer(std::string_view value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? nullptr : found->second;
}

std::map<const onnx::NodeProto*, unsigned> GraphIndex::dependence(
    const std::vector<std::string>& inputs) const {
  std::map<std::string_view, unsigned> of_value;
  for (std::size_t i = 0; i < inputs.size(); ++i) of_value[inputs[i]] = 1U << i;
  std::map<const onnx::NodeProto*, unsigned> of_node;
  for (const auto& node : model_->proto.graph().node()) {
    unsigned bits = 0;
    graph::for_each_use(node, [&](const std::string& name) {
      if (const auto found = of_value.find(name); found != of_value.end()) bits |= found->second;
    });
    of_node[&node] = bits;
    for (const std::string& output : node.output()) of_value[output] = bits;
  }
  return of_node;
}

std::set<const onnx::NodeProto*> GraphIndex::needed(const Names& given,
                                                    const std::vector<std::string>& outputs) const {
  std::set<const onnx::NodeProto*> nodes;
  std::vector<std::string> todo = outputs;
  while (!todo.empty()) {
    const std::string value = std::move(todo.back());
    todo.pop_back();
    if (given.contains(value)) continue;
    const onnx::NodeProto* node = producer(value);
    if (!node || !nodes.insert(node).second) continue;
    graph::for_each_use(*node, [&](const std::string& name) { todo.push_back(name); });
  }
  return nodes;
}

Names GraphIndex::frontier(const std::vector<std::string>& outputs,
                           const std::function<bool(const onnx::NodeProto&)>& is_done) const {
  Names cut;
  Names seen;
  std::vector<std::string> todo = outputs;
  while (!todo.empty()) {
    const std::string value = std::move(todo.back());
    todo.pop_back();
    const onnx::NodeProto* node = producer(value);
    if (!node || !seen.insert(value).second) continue;
    if (is_done(*node) && !is_repeated(*node)) {
      cut.insert(value);
      continue;
    }
    for (std::string& name : uses_of(*node)) todo.push_back(std::move(name));
  }
  return cut;
}

Result<onnx::ValueInfoProto> GraphIndex::declare(const std::string& value) const {
  if (const auto found = declared_.find(value); found != declared_.end()) return *found->second;
  const auto type = types_.find(value);
  if (type == types_.end())
    return Error{ErrorCode::kUnsupported, "the element type of '" + value + "' cannot be told", "",
                 ""};
  onnx::ValueInfoProto info;
  info.set_name(value);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type->second));
  return info;
}

Result<graph::EditableModel> GraphIndex::extract(const Names& given,
                                                 const std::vector<std::string>& outputs) const {
  const std::set<const onnx::NodeProto*> nodes = needed(given, outputs);
  const onnx::GraphProto& whole = model_->proto.graph();
  graph::EditableModel part;
  part.proto.set_ir_version(model_->proto.ir_version());
  *part.proto.mutable_opset_import() = model_->proto.opset_import();
  *part.proto.mutable_functions() = model_->proto.functions();
  onnx::GraphProto& graph = *part.proto.mutable_graph();
  graph.set_name(whole.name());
  Names used;
  Names made;
  for (const auto& node : whole.node()) {
    if (!nodes.contains(&node)) continue;
    *graph.add_node() = node;
    graph::for_each_use(node, [&](const std::string& name) { used.insert(name); });
    made.insert(node.output().begin(), node.output().end());
  }
  used.insert(outputs.begin(), outputs.end());
  Names inputs;
  for (const auto& input : whole.input())
    if (used.contains(input.name())) inputs.insert(input.name());
  for (const std::string& name : given)
    if (used.contains(name) && !made.contains(name)) inputs.insert(name);
  for (const std::string& name : inputs) {
    SAM3_ASSIGN_OR_RETURN(*graph.add_input(), declare(name));
  }
  for (const std::string& name : outputs) {
    SAM3_ASSIGN_OR_RETURN(*graph.add_output(), declare(name));
  }
  for (const auto& [name, weight] : model_->weights)
    if (used.contains(name)) part.weights.emplace(name, weight);
  for (const auto& value : whole.value_info())
    if (made.contains(value.name())) *graph.add_value_info() = value;
  return part;
}

void remove_dead(graph::EditableModel& model) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  Names used;
  for (const auto& output : graph.output()) used.insert(output.name());
  const auto& nodes = graph.node();
  std::vector<bool> stays(static_cast<std::size_t>(nodes.size()));
  for (int i = nodes.size() - 1; i >= 0; --i) {
    const auto& outputs = nodes[i].output();
    const bool needed = std::any_of(outputs.begin(), outputs.end(),
                                    [&](const std::string& name) { return used.contains(name); });
    stays[static_cast<std::size_t>(i)] = needed;
    if (needed) graph::for_each_use(nodes[i], [&](const std::string& name) { used.insert(name); });
  }
  std::erase_if(model.weights, [&](const auto& entry) { return !used.contains(entry.first); });
  graph::keep_nodes(graph, stays, [](const std::string&) { return false; });
}

}  // namespace sam3::rewrite
