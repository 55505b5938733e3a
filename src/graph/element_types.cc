#include "graph/element_types.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "graph/graph_editor.h"

namespace sam3::graph {

namespace {

// What decides the type of a node's outputs.
enum class Rule { kFirstInput, kSecondInput, kThirdInput, kBool, kInt64, kInt32, kUnknown };

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table = [] {
    std::map<std::string_view, Rule> made;
    for (const char* op : {"Abs",
                           "Add",
                           "BatchNormalization",
                           "Ceil",
                           "Clip",
                           "Concat",
                           "Conv",
                           "ConvTranspose",
                           "Cos",
                           "CumSum",
                           "DepthToSpace",
                           "Div",
                           "Einsum",
                           "Elu",
                           "Erf",
                           "Exp",
                           "Expand",
                           "Flatten",
                           "Floor",
                           "Gather",
                           "GatherElements",
                           "GatherND",
                           "Gelu",
                           "Gemm",
                           "GlobalAveragePool",
                           "GridSample",
                           "GroupNormalization",
                           "HardSigmoid",
                           "Identity",
                           "InstanceNormalization",
                           "LayerNormalization",
                           "LeakyRelu",
                           "Log",
                           "LogSoftmax",
                           "MatMul",
                           "Max",
                           "MaxPool",
                           "Mean",
                           "Min",
                           "Mod",
                           "Mul",
                           "Neg",
                           "Pad",
                           "Pow",
                           "PRelu",
                           "Range",
                           "Reciprocal",
                           "ReduceL2",
                           "ReduceMax",
                           "ReduceMean",
                           "ReduceMin",
                           "ReduceProd",
                           "ReduceSum",
                           "Relu",
                           "Reshape",
                           "Resize",
                           "RoiAlign",
                           "Round",
                           "ScatterElements",
                           "ScatterND",
                           "Sigmoid",
                           "Sign",
                           "Sin",
                           "Slice",
                           "Softmax",
                           "Softplus",
                           "Split",
                           "Sqrt",
                           "Squeeze",
                           "Sub",
                           "Sum",
                           "Tan",
                           "Tanh",
                           "Tile",
                           "Transpose",
                           "Trilu",
                           "Unsqueeze"})
      made[op] = Rule::kFirstInput;
    for (const char* op : {"And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less",
                           "LessOrEqual", "Not", "Or", "Xor"})
      made[op] = Rule::kBool;
    for (const char* op : {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}) made[op] = Rule::kInt64;
    made["Where"] = Rule::kSecondInput;
    made["CastLike"] = Rule::kSecondInput;
    made["DequantizeLinear"] = Rule::kSecondInput;
    made["OneHot"] = Rule::kThirdInput;
    made["MatMulInteger"] = Rule::kInt32;
    made["ConvInteger"] = Rule::kInt32;
    return made;
  }();
  return table;
}

class Inference {
 public:
  explicit Inference(const EditableModel& model) {
    const onnx::GraphProto& graph = model.proto.graph();
    for (const auto* values : {&graph.value_info(), &graph.input(), &graph.output()})
      for (const auto& value : *values)
        if (value.type().tensor_type().elem_type() != 0)
          types_[value.name()] = static_cast<ElementType>(value.type().tensor_type().elem_type());
    for (const auto& [name, weight] : model.weights) types_[name] = weight.type;
    for (const auto& node : graph.node()) visit(node);
  }

  ElementTypes take() { return std::move(types_); }

 private:
  void visit(const onnx::NodeProto& node) {
    if (!is_standard(node)) return visit_other(node);
    if (node.op_type() == "DynamicQuantizeLinear" && node.output_size() == 3) {
      types_.emplace(node.output(0), ElementType::kUint8);
      types_.emplace(node.output(1), ElementType::kFloat);
      types_.emplace(node.output(2), ElementType::kUint8);
      return;
    }
    if (const auto* branch = find_attribute(node, "then_branch"))
      return visit_branch(node, *branch);
    const std::optional<ElementType> type = type_of(node);
    if (!type) return;
    for (const std::string& output : node.output())
      if (!output.empty()) types_.emplace(output, *type);
  }

  // Operators of the engine and of ours make floats, half ones of half ones; those that stay with
  // integers are named so.
  void visit_other(const onnx::NodeProto& node) {
    const bool known = node.domain() == "com.microsoft" || node.domain() == "sam3";
    if (!known || node.output_size() == 0) return;
    const std::optional<ElementType> first = input_type(node, 0);
    const bool keeps = node.op_type().starts_with("QLinear") || first == ElementType::kFloat16;
    if (keeps && first) types_.emplace(node.output(0), *first);
    if (!keeps) types_.emplace(node.output(0), ElementType::kFloat);
  }

  // The outputs of an If are those of its branches.
  void visit_branch(const onnx::NodeProto& node, const onnx::AttributeProto& branch) {
    for (int i = 0; i < std::min(node.output_size(), branch.g().output_size()); ++i) {
      const int type = branch.g().output(i).type().tensor_type().elem_type();
      if (type != 0) types_.emplace(node.output(i), static_cast<ElementType>(type));
    }
  }

  std::optional<ElementType> input_type(const onnx::NodeProto& node, int index) const {
    if (index >= node.input_size()) return std::nullopt;
    const auto found = types_.find(node.input(index));
    if (found == types_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<ElementType> type_of(const onnx::NodeProto& node) const {
    if (node.op_type() == "Cast") return static_cast<ElementType>(int_attribute(node, "to", 0));
    if (node.op_type() == "Constant" || node.op_type() == "ConstantOfShape") {
      const auto* value = find_attribute(node, "value");
      if (value) return static_cast<ElementType>(value->t().data_type());
      const bool integers = find_attribute(node, "value_int") || find_attribute(node, "value_ints");
      return integers ? ElementType::kInt64 : ElementType::kFloat;
    }
    const auto rule = rules().find(node.op_type());
    switch (rule == rules().end() ? Rule::kUnknown : rule->second) {
      case Rule::kFirstInput:
        return input_type(node, 0);
      case Rule::kSecondInput:
        return input_type(node, 1);
      case Rule::kThirdInput:
        return input_type(node, 2);
      case Rule::kBool:
        return ElementType::kBool;
      case Rule::kInt64:
        return ElementType::kInt64;
      case Rule::kInt32:
        return ElementType::kInt32;
      case Rule::kUnknown:
        break;
    }
    return std::nullopt;
  }

  ElementTypes types_;
};

}  // namespace

ElementTypes infer_types(const EditableModel& model) { return Inference(model).take(); }

}  // namespace sam3::graph
