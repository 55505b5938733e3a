#include "rewrite/detector.h"

#include <algorithm>
#include <optional>

#include "base/macros.h"
#include "graph/graph_editor.h"
#include "rewrite/subgraph.h"

namespace sam3::rewrite {

namespace {

using Nodes = std::set<const onnx::NodeProto*>;

class Cutter {
 public:
  Cutter(const graph::EditableModel& detector, const DetectorCut& cut)
      : index_(detector), cut_(cut) {
    std::vector<std::string> inputs = cut.picture_inputs;
    inputs.insert(inputs.end(), cut.phrase_inputs.begin(), cut.phrase_inputs.end());
    dependence_ = index_.dependence(inputs);
    const unsigned all = (1U << inputs.size()) - 1;
    picture_bits_ = (1U << cut.picture_inputs.size()) - 1;
    phrase_bits_ = all & ~picture_bits_;
  }

  Result<DetectorStages> run() {
    DetectorStages stages;
    const Names before = index_.frontier(
        cut_.object_outputs, [&](const onnx::NodeProto& node) { return one_sided(node); });
    const Nodes in_objects = index_.needed(before, cut_.object_outputs);
    const Nodes in_front = index_.needed({}, {before.begin(), before.end()});
    const std::vector<std::string> mask_outputs{cut_.mask_output};
    // What depends on the picture alone and was not needed for the boxes stays with the masks.
    const Names carried = index_.frontier(mask_outputs, [&](const onnx::NodeProto& node) {
      return dependence_.at(&node) != 0 &&
             (in_objects.contains(&node) || in_front.contains(&node) ||
              (dependence_.at(&node) & picture_bits_) == 0);
    });
    Names fronted = before;
    for (const std::string& value : carried)
      if (!in_objects.contains(index_.producer(value))) fronted.insert(value);
    std::vector<std::string> of_picture;
    std::vector<std::string> of_phrase;
    for (const std::string& value : fronted)
      (is_picture(*index_.producer(value)) ? of_picture : of_phrase).push_back(value);
    SAM3_ASSIGN_OR_RETURN(stages.picture, index_.extract({}, of_picture));
    SAM3_ASSIGN_OR_RETURN(stages.phrase, index_.extract({}, of_phrase));
    std::vector<std::string> of_objects = cut_.object_outputs;
    for (const std::string& value : carried)
      if (in_objects.contains(index_.producer(value)) &&
          std::find(of_objects.begin(), of_objects.end(), value) == of_objects.end())
        of_objects.push_back(value);
    SAM3_ASSIGN_OR_RETURN(stages.objects, index_.extract(fronted, of_objects));
    SAM3_ASSIGN_OR_RETURN(stages.masks, index_.extract(carried, mask_outputs));
    return stages;
  }

 private:
  bool is_picture(const onnx::NodeProto& node) const {
    return (dependence_.at(&node) & phrase_bits_) == 0;
  }
  // Depends on something, but not on picture and phrase.
  bool one_sided(const onnx::NodeProto& node) const {
    const unsigned bits = dependence_.at(&node);
    return bits != 0 && ((bits & picture_bits_) == 0 || (bits & phrase_bits_) == 0);
  }

  GraphIndex index_;
  const DetectorCut& cut_;
  std::map<const onnx::NodeProto*, unsigned> dependence_;
  unsigned picture_bits_ = 0;
  unsigned phrase_bits_ = 0;
};

// The packing of bits between the product of queries with pixels and the output: sizes in it that
// count queries are to follow from the values.
class KeptQueries {
 public:
  KeptQueries(graph::EditableModel& masks, const std::string& output)
      : model_(masks), output_(output) {}

  // False, and nothing changed, where the product is not found.
  bool apply() {
    onnx::NodeProto* product = find_product();
    if (!product) return false;
    std::vector<std::pair<std::string, graph::Weight>> shapes;
    for (onnx::NodeProto* reshape : reshapes_) {
      const auto shape = freed(*reshape);
      if (!shape) return false;
      if (shape->bytes() > 0) shapes.emplace_back(reshape->input(1), *shape);
    }
    for (auto& [name, shape] : shapes) model_.weights[name] = std::move(shape);
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    const int place = index_of(product);
    const std::string kept = product->input(0) + "_kept";
    const std::string all = product->input(0);
    product->set_input(0, kept);
    onnx::NodeProto& gather = *graph.add_node();
    gather.set_op_type("Gather");
    gather.set_name(kept);
    gather.add_input(all);
    gather.add_input(kKeptQueries);
    gather.add_output(kept);
    graph::set_attribute(gather, "axis", std::int64_t{1});
    for (int i = graph.node_size() - 1; i > place; --i)
      graph.mutable_node()->SwapElements(i, i - 1);
    auto& input = *graph.add_input();
    input.set_name(kKeptQueries);
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::INT64);
    type.mutable_shape()->add_dim()->set_dim_param("K");
    forget_sizes();
    return true;
  }

 private:
  bool multiplies_queries(const onnx::NodeProto& node) {
    if (node.op_type() == "MatMul")
      return !is_constant(node.input(0)) && !is_constant(node.input(1));
    const auto* equation = graph::find_attribute(node, "equation");
    if (node.op_type() != "Einsum" || !equation || node.input_size() != 2) return false;
    // "bqc,bchw->bqhw" in any letters.
    std::string text = equation->s();
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const std::size_t arrow = text.find("->");
    return text.size() > 3 && arrow != std::string::npos && text[3] == ',' &&
           arrow + 4 <= text.size() && text[0] == text[arrow + 2] && text[1] == text[arrow + 3];
  }

  onnx::NodeProto* find_product() {
    // Nodes that treat every query alike, with one operand that is no constant, lie between.
    static const Names kAlike{"Add", "Cast", "Greater", "GreaterOrEqual", "Identity",
                              "Mul", "Pad",  "Reshape", "ReduceSum"};
    std::string value = output_;
    for (int steps = 0; steps < 16; ++steps) {
      onnx::NodeProto* node = producer(value);
      if (!node) return nullptr;
      if (multiplies_queries(*node)) return node;
      if (!kAlike.contains(node->op_type())) return nullptr;
      if (node->op_type() == "Reshape") reshapes_.push_back(node);
      value.clear();
      for (const std::string& input : node->input()) {
        if (is_constant(input)) continue;
        // The shape operand of a Reshape may be computed from the value itself.
        if (!value.empty() && node->op_type() == "Reshape") continue;
        if (!value.empty()) return nullptr;
        value = input;
      }
      if (value.empty()) return nullptr;
    }
    return nullptr;
  }

  // The shape of a Reshape without the number of queries, or an empty weight where it is computed;
  // nothing where it cannot be freed.
  std::optional<graph::Weight> freed(const onnx::NodeProto& reshape) {
    const auto found = model_.weights.find(reshape.input(1));
    if (found == model_.weights.end()) {
      if (is_constant(reshape.input(1))) return std::nullopt;
      return graph::Weight{};
    }
    auto shape = graph::read_values<std::int64_t>(found->second);
    if (!shape || shape->size() < 3 || (*shape)[0] != 1 || (*shape)[1] != queries() ||
        std::find(shape->begin(), shape->end(), -1) != shape->end())
      return std::nullopt;
    (*shape)[1] = -1;
    const auto size = static_cast<std::int64_t>(shape->size());
    return graph::make_weight(graph::ElementType::kInt64, {size}, *shape);
  }

  bool is_constant(const std::string& value) {
    if (model_.weights.contains(value)) return true;
    const onnx::NodeProto* node = producer(value);
    return node && (node->op_type() == "Constant" ||
                    (node->op_type() == "Identity" && is_constant(node->input(0))));
  }

  onnx::NodeProto* producer(const std::string& value) {
    for (auto& node : *model_.proto.mutable_graph()->mutable_node())
      if (std::find(node.output().begin(), node.output().end(), value) != node.output().end())
        return &node;
    return nullptr;
  }

  // Q, as the output declares it; 0 where it does not.
  std::int64_t queries() const {
    for (const auto& output : model_.proto.graph().output())
      if (output.name() == output_ && output.type().tensor_type().shape().dim_size() > 1)
        return output.type().tensor_type().shape().dim(1).dim_value();
    return 0;
  }

  int index_of(const onnx::NodeProto* node) const {
    const auto& nodes = model_.proto.graph().node();
    for (int i = 0; i < nodes.size(); ++i)
      if (&nodes[i] == node) return i;
    return nodes.size();
  }

  // Declared sizes behind the product are those of all queries.
  void forget_sizes() {
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    graph.clear_value_info();
    for (auto& output : *graph.mutable_output()) {
      auto& shape = *output.mutable_type()->mutable_tensor_type()->mutable_shape();
      if (shape.dim_size() > 1) shape.mutable_dim(1)->set_dim_param("K");
    }
  }

  graph::EditableModel& model_;
  const std::string& output_;
  std::vector<onnx::NodeProto*> reshapes_;
};

}  // namespace

Result<DetectorStages> cut_detector(const graph::EditableModel& detector, const DetectorCut& cut,
                                    bool kept_masks) {
  SAM3_ASSIGN_OR_RETURN(DetectorStages stages, Cutter(detector, cut).run());
  stages.only_kept = kept_masks && KeptQueries(stages.masks, cut.mask_output).apply();
  return stages;
}

}  // namespace sam3::rewrite
