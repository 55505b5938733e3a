#include "graph/graph_editor.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sam3::graph {

namespace {

// The value of a Constant node, if it is a tensor of floats.
std::optional<Weight> constant_floats(const onnx::NodeProto& node) {
  const auto* value = find_attribute(node, "value");
  if (!value || value->t().data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  const onnx::TensorProto& tensor = value->t();
  const std::vector<std::int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const auto count = element_count(dims);
  std::string bytes = tensor.raw_data();
  if (!tensor.has_raw_data())
    bytes.assign(reinterpret_cast<const char*>(tensor.float_data().data()),
                 static_cast<std::size_t>(tensor.float_data_size()) * sizeof(float));
  if (!count || bytes.size() != *count * sizeof(float)) return std::nullopt;
  return make_weight(ElementType::kFloat, dims, std::move(bytes));
}

// The names that a node makes known; also those inside its subgraphs.
template <typename Visit>
void for_each_name(const onnx::NodeProto& node, const Visit& visit) {
  visit(node.name());
  for (const std::string& output : node.output()) visit(output);
  for_each_use(node, visit);
}

bool swaps_axes(const onnx::NodeProto& transpose, std::size_t rank) {
  const std::vector<std::int64_t> perm = ints_attribute(transpose, "perm");
  return rank == 2 && (perm.empty() || perm == std::vector<std::int64_t>{1, 0});
}

}  // namespace

bool is_standard(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

std::string label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : node.op_type();
}

const std::string& input_of(const onnx::NodeProto& node, int index) {
  static const std::string none;
  return index < node.input_size() ? node.input(index) : none;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                           std::int64_t otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute ? attribute->i() : otherwise;
}

float float_attribute(const onnx::NodeProto& node, std::string_view name, float otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute ? attribute->f() : otherwise;
}

std::vector<std::int64_t> ints_attribute(const onnx::NodeProto& node, std::string_view name) {
  const auto* attribute = find_attribute(node, name);
  if (!attribute) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set_attribute(onnx::NodeProto& node, std::string_view name, const Attribute& value) {
  onnx::AttributeProto& proto = *node.add_attribute();
  proto.set_name(std::string(name));
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*s);
  } else {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t one : std::get<std::vector<std::int64_t>>(value)) proto.add_ints(one);
  }
}

void keep_nodes(onnx::GraphProto& graph, const std::vector<bool>& stays,
                const std::function<bool(const std::string&)>& is_known) {
  auto& nodes = *graph.mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i)
    if (stays[static_cast<std::size_t>(i)]) nodes.SwapElements(kept++, i);
  nodes.DeleteSubrange(kept, nodes.size() - kept);
  std::set<std::string, std::less<>> made;
  for (const auto& node : nodes) made.insert(node.output().begin(), node.output().end());
  auto& declared = *graph.mutable_value_info();
  const auto gone = std::remove_if(declared.begin(), declared.end(), [&](const auto& value) {
    return !made.contains(value.name()) && !is_known(value.name());
  });
  declared.erase(gone, declared.end());
}

GraphEditor::GraphEditor(EditableModel& model) : model_(model) {
  auto& nodes = *graph().mutable_node();
  source_.assign(std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  nodes.Clear();
  for (const auto& node : source_) {
    for (const std::string& output : node.output())
      if (!output.empty()) producers_[output] = &node;
    for_each_name(node, [&](const std::string& name) { taken_.insert(name); });
  }
  for (const auto& input : graph().input()) {
    graph_inputs_.insert(input.name());
    taken_.insert(input.name());
  }
  for (const auto& [name, weight] : model_.weights) taken_.insert(name);
}

std::int64_t GraphEditor::opset() const {
  for (const auto& opset : model_.proto.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return opset.version();
  return 0;
}

bool GraphEditor::is_graph_input(std::string_view name) const {
  return graph_inputs_.contains(name);
}

const onnx::NodeProto* GraphEditor::producer(std::string_view name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

Operand GraphEditor::look_up(std::string_view name) const {
  Operand operand;
  operand.name = name;
  const auto refuse = [&](const std::string& reason) {
    operand.reason = reason;
    return operand;
  };
  std::vector<const onnx::NodeProto*> transposes;
  for (;;) {
    operand.passed.push_back(operand.name);
    const onnx::NodeProto* made_by = producer(operand.name);
    if (!made_by) break;
    const bool passes = is_standard(*made_by) && made_by->input_size() == 1 &&
                        (made_by->op_type() == "Identity" || made_by->op_type() == "Transpose");
    if (!passes) break;
    if (made_by->op_type() == "Transpose") transposes.push_back(made_by);
    operand.name = made_by->input(0);
  }
  const onnx::NodeProto* made_by = producer(operand.name);
  if (const auto found = model_.weights.find(operand.name); found != model_.weights.end()) {
    operand.weight = found->second;
  } else if (made_by && is_standard(*made_by) && made_by->op_type() == "Constant") {
    const auto floats = constant_floats(*made_by);
    if (!floats) return refuse("its weight is no constant of type float");
    operand.weight = *floats;
  } else {
    return refuse(made_by ? "its second operand is computed at run time"
                          : "its second operand is an input of the graph");
  }
  if (is_graph_input(operand.name))
    return refuse("its weight '" + operand.name +
                  "' is also an input of the graph, which a caller may set");
  if (operand.weight.type != ElementType::kFloat)
    return refuse("its weight is of type " + to_string(operand.weight.type));
  if (operand.weight.bytes() == 0) return refuse("its weight has no elements");
  for (const auto* transpose : transposes) {
    if (!swaps_axes(*transpose, operand.weight.dims.size()))
      return refuse("its weight is turned by a Transpose of more than two axes");
    operand.transposed = !operand.transposed;
  }
  return operand;
}

std::string GraphEditor::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

onnx::NodeProto& GraphEditor::add(const std::string& op_type,
                                  const std::vector<std::string>& inputs, const std::string& output,
                                  const std::string& name) {
  onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(op_type);
  node.set_name(unique(name));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

std::string GraphEditor::add_weight(const std::string& wanted, Weight weight) {
  std::string name = unique(wanted);
  model_.weights.emplace(name, std::move(weight));
  return name;
}

void GraphEditor::release(const Operand& operand) {
  released_.insert(operand.passed.begin(), operand.passed.end());
}

void GraphEditor::need_domain(const std::string& domain, std::int64_t version) {
  for (const auto& opset : model_.proto.opset_import())
    if (opset.domain() == domain) return;
  auto& opset = *model_.proto.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

void GraphEditor::finish() {
  std::set<std::string, std::less<>> used;
  for (const auto& output : graph().output()) used.insert(output.name());
  const auto& nodes = graph().node();
  std::vector<bool> stays(static_cast<std::size_t>(nodes.size()), true);
  // From the end, so that a node is looked at when all its readers have been.
  for (int i = nodes.size() - 1; i >= 0; --i) {
    const auto& node = nodes[i];
    const bool unused = node.output_size() == 1 && released_.contains(node.output(0)) &&
                        !used.contains(node.output(0));
    stays[static_cast<std::size_t>(i)] = !unused;
    if (!unused) for_each_use(node, [&](const std::string& name) { used.insert(name); });
  }
  for (const std::string& name : released_)
    if (!used.contains(name)) model_.weights.erase(name);
  keep_nodes(graph(), stays, [&](const std::string& value) {
    return model_.weights.contains(value) || is_graph_input(value);
  });
}

}  // namespace sam3::graph
