#include "quantize/float16.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/element_types.h"
#include "graph/graph_editor.h"
#include "quantize/lazy_weights.h"

namespace sam3::quantize {

using graph::ElementType;
using graph::ElementTypes;
using graph::find_attribute;
using graph::for_each_use;
using graph::GraphEditor;
using graph::infer_types;
using graph::input_of;
using graph::is_standard;
using graph::label;
using graph::Operand;
using graph::Weight;

namespace {

using Names = std::set<std::string, std::less<>>;

bool is_one_of(const onnx::NodeProto& node, const Names& operators) {
  return is_standard(node) && operators.contains(node.op_type());
}

const Names& products() {
  static const Names names{"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"};
  return names;
}

const Names& followers() {
  static const Names names{"Add",   "Sub",     "Mul",       "Div",       "Neg",    "Relu",
                           "Erf",   "Where",   "Identity",  "Reshape",   "Concat", "Slice",
                           "Split", "Squeeze", "Unsqueeze", "Transpose", "Gather", "Expand",
                           "Tile",  "Pad",     "Flatten"};
  return names;
}

class Float16Pass {
 public:
  Float16Pass(graph::EditableModel& model, const Options& options)
      : types_(infer_types(model)), editor_(model), options_(options) {}

  Report run() {
    report_.nodes_before = static_cast<std::int64_t>(editor_.source().size());
    find_constants();
    for (const auto& node : editor_.source())
      if (is_one_of(node, {"Sigmoid"})) find_box_head(node);
    for (const auto& node : editor_.source()) decide(node);
    find_needs();
    emit();
    editor_.finish();
    report_.nodes_after = editor_.graph().node_size();
    return std::move(report_);
  }

 private:
  bool is_float(std::string_view value) const {
    const auto found = types_.find(value);
    return found != types_.end() && found->second == ElementType::kFloat;
  }

  bool is_half(const onnx::NodeProto& node) const { return half_nodes_.contains(&node); }

  void find_constants() {
    const auto note = [&](const std::string& name, std::span<const std::int64_t> dims) {
      const auto long_axes =
          std::count_if(dims.begin(), dims.end(), [](std::int64_t size) { return size > 1; });
      constants_.insert(name);
      if (long_axes > 1) tables_.insert(name);
    };
    for (const auto& [name, weight] : editor_.model().weights)
      if (weight.type == ElementType::kFloat && !editor_.is_graph_input(name))
        note(name, weight.dims);
    for (const auto& node : editor_.source()) {
      if (node.output_size() != 1) continue;
      if (is_one_of(node, {"Identity", "Transpose"}) && constants_.contains(input_of(node, 0))) {
        aliases_.insert(&node);
        constants_.insert(node.output(0));
        if (tables_.contains(input_of(node, 0))) tables_.insert(node.output(0));
      }
      const auto* value = find_attribute(node, "value");
      if (!is_one_of(node, {"Constant"}) || !value) continue;
      const auto& dims = value->t().dims();
      note(node.output(0), std::vector<std::int64_t>(dims.begin(), dims.end()));
    }
  }

  // True if the value comes from a Log through what turns it into an inverse sigmoid.
  bool is_inverse_sigmoid(std::string_view value) const {
    static const Names passed{"Sub", "Div", "Identity", "Reshape", "Unsqueeze", "Squeeze"};
    for (const auto* node = editor_.producer(value); node && node->input_size() > 0;
         node = editor_.producer(node->input(0))) {
      if (is_one_of(*node, {"Log"})) return true;
      if (!is_one_of(*node, passed)) return false;
    }
    return false;
  }

  // Sigmoid(head + inverse_sigmoid(reference)): walks back over the layers of the head. What is
  // constant of the references has become a table.
  void find_box_head(const onnx::NodeProto& sigmoid) {
    static const Names layers{"MatMul", "Gemm",  "Add",     "Relu", "Identity",
                              "Split",  "Slice", "Reshape", "Clip"};
    const auto* sum = editor_.producer(input_of(sigmoid, 0));
    if (!sum || !is_one_of(*sum, {"Add"}) || sum->input_size() != 2) return;
    for (int side = 0; side < 2; ++side) {
      const std::string& reference = sum->input(1 - side);
      if (!tables_.contains(reference) && !is_inverse_sigmoid(reference)) continue;
      const auto* node = editor_.producer(sum->input(side));
      while (node && is_one_of(*node, layers) && box_heads_.insert(node).second) {
        const auto flows =
            std::find_if(node->input().begin(), node->input().end(), [&](const std::string& input) {
              const auto* made_by = editor_.producer(input);
              return made_by && !constants_.contains(input);
            });
        node = flows == node->input().end() ? nullptr : editor_.producer(*flows);
      }
    }
  }

  // Why a product stays float32; else empty.
  std::string unfit(const onnx::NodeProto& node) const {
    if (box_heads_.contains(&node)) return "it refines boxes";
    const auto named = [&](const std::string& pattern) { return matches(pattern, label(node)); };
    const auto& include = options_.include;
    if (!include.empty() && std::none_of(include.begin(), include.end(), named))
      return "no pattern to include names it";
    const auto excluded = std::find_if(options_.exclude.begin(), options_.exclude.end(), named);
    if (excluded != options_.exclude.end()) return "excluded by '" + *excluded + "'";
    for (const std::string& value : node.input())
      if (!value.empty() && !is_float(value))
        return types_.contains(value) ? "'" + value + "' is not of type float"
                                      : "the type of '" + value + "' cannot be told";
    return "";
  }

  void decide(const onnx::NodeProto& node) {
    if (aliases_.contains(&node)) return;
    if (is_one_of(node, products())) {
      const std::string reason = unfit(node);
      if (!reason.empty()) {
        report_.skipped.push_back({label(node), node.op_type(), reason});
        return;
      }
      ++report_.quantized[node.op_type()];
    } else if (!is_one_of(node, followers()) || box_heads_.contains(&node) || !all_half(node)) {
      return;
    }
    half_nodes_.insert(&node);
    for (const std::string& output : node.output()) half_values_.insert(output);
  }

  // Of a node that follows: whether only float16 and constants flow into it.
  bool all_half(const onnx::NodeProto& node) const {
    const bool looks_up = node.op_type() == "Gather" && tables_.contains(input_of(node, 0));
    bool any = looks_up;
    for (const std::string& input : node.input()) {
      if (half_values_.contains(input)) any = true;
      if (input.empty() || half_values_.contains(input)) continue;
      if (!types_.contains(input)) return false;
      if (!is_float(input)) continue;
      if (!constants_.contains(input) || (tables_.contains(input) && !looks_up)) return false;
    }
    return any && node.output_size() > 0 && is_float(node.output(0));
  }

  // Which values must be there in which precision.
  void find_needs() {
    for (const auto& output : editor_.graph().output()) need_float_.insert(output.name());
    for (const auto& node : editor_.source()) {
      if (aliases_.contains(&node)) continue;
      if (!is_half(node)) {
        for_each_use(node, [&](const std::string& name) { need_float_.insert(name); });
        continue;
      }
      for (const std::string& input : node.input())
        if (is_float(input)) need_half_.insert(input);
    }
    const auto& nodes = editor_.source();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!aliases_.contains(&*node)) continue;
      const bool as_half = need_half_.contains(node->output(0));
      if (as_half) need_half_.insert(node->input(0));
      if (!as_half || need_float_.contains(node->output(0))) need_float_.insert(node->input(0));
    }
  }

  std::string half_name(const std::string& value) {
    std::string& name = half_names_[value];
    if (name.empty()) name = editor_.unique(value + "_float16");
    return name;
  }

  void cast(const std::string& from, const std::string& to, ElementType type) {
    graph::set_attribute(editor_.add("Cast", {from}, to, to + "_cast"), "to",
                         static_cast<std::int64_t>(type));
  }

  void halve_weights() {
    std::vector<std::string> names;
    for (const auto& [name, weight] : editor_.model().weights)
      if (need_half_.contains(name) && constants_.contains(name)) names.push_back(name);
    for (const std::string& name : names) {
      const graph::Weight& weight = editor_.model().weights.find(name)->second;
      editor_.model().weights.emplace(half_name(name), halve(weight, options_.parallel));
      Operand operand;
      operand.passed = {name};
      editor_.release(operand);
    }
  }

  void emit() {
    halve_weights();
    for (const auto& [name, weight] : editor_.model().weights)
      if (need_half_.contains(name) && !constants_.contains(name))
        cast(name, half_name(name), ElementType::kFloat16);
    for (const auto& input : editor_.graph().input())
      if (need_half_.contains(input.name()) && !editor_.model().weights.contains(input.name()))
        cast(input.name(), half_name(input.name()), ElementType::kFloat16);
    for (const auto& node : editor_.source()) {
      if (aliases_.contains(&node))
        emit_alias(node);
      else if (is_half(node))
        emit_half(node);
      else
        emit_float(node);
    }
  }

  // A constant under another name, or turned: once in each precision that is needed.
  void emit_alias(const onnx::NodeProto& node) {
    const bool as_half = need_half_.contains(node.output(0));
    if (!as_half || need_float_.contains(node.output(0))) editor_.keep(node);
    if (!as_half) return;
    auto& copy = editor_.add(node.op_type(), {half_name(node.input(0))}, half_name(node.output(0)),
                             label(node) + "_float16");
    *copy.mutable_attribute() = node.attribute();
  }

  void emit_float(const onnx::NodeProto& node) {
    editor_.keep(node);
    for (const std::string& output : node.output())
      if (need_half_.contains(output)) cast(output, half_name(output), ElementType::kFloat16);
  }

  void emit_half(const onnx::NodeProto& node) {
    editor_.keep(node);
    onnx::NodeProto& kept = *editor_.graph().mutable_node()->rbegin();
    for (std::string& input : *kept.mutable_input())
      if (is_float(input)) input = half_name(input);
    for (std::string& output : *kept.mutable_output())
      if (!output.empty()) output = half_name(output);
    for (const std::string& output : node.output())
      if (need_float_.contains(output)) cast(half_name(output), output, ElementType::kFloat);
  }

  ElementTypes types_;
  GraphEditor editor_;
  const Options& options_;
  Report report_;
  Names constants_;                           // weights, Constant nodes, and aliases of them
  Names tables_;                              // those with more than one long axis
  std::set<const onnx::NodeProto*> aliases_;  // Identity and Transpose of a constant
  std::set<const onnx::NodeProto*> box_heads_;
  std::set<const onnx::NodeProto*> half_nodes_;
  Names half_values_;
  Names need_float_;
  Names need_half_;
  std::map<std::string, std::string> half_names_;
};

}  // namespace

Result<Report> quantize_float16(graph::EditableModel& model, const Options& options) {
  return Float16Pass(model, options).run();
}

}  // namespace sam3::quantize
