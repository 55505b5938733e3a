#include "rewrite/attention.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/element_types.h"
#include "graph/graph_editor.h"
#include "rewrite/subgraph.h"

namespace sam3::rewrite {

namespace {

using graph::GraphEditor;
using graph::input_of;
using Perm = std::vector<std::int64_t>;

// [B, L, H, D] and back; of [B, H, S, D] for the product with K; both together.
const Perm kSwapHeads{0, 2, 1, 3};
const Perm kTurnRows{0, 1, 3, 2};
const Perm kTurnHeads{0, 2, 3, 1};

struct Operand {
  std::string value;
  bool rows_first = false;  // [B, L, H, D]
};

struct Match {
  Operand query, key, value;
  std::string bias;
  float scale = 1;
  bool zero_empty = false;
  bool result_rows = false;
  std::string result;
};

class Matcher {
 public:
  Matcher(const GraphEditor& editor, graph::ElementTypes types)
      : editor_(editor), types_(std::move(types)) {
    for (const auto& node : editor.source())
      graph::for_each_use(node, [&](const std::string& name) { readers_[name].push_back(&node); });
  }

  // The attention whose last product is `node`.
  std::optional<Match> match(const onnx::NodeProto& node) const {
    if (!is(node, "MatMul")) return std::nullopt;
    Match match;
    const onnx::NodeProto* softmax = find_softmax(input_of(node, 0), match);
    if (!softmax) return std::nullopt;
    const onnx::NodeProto* scores = find_scores(softmax->input(0), match);
    if (!scores) return std::nullopt;
    bool is_rank_four = false;
    match.query = find_rows(input_of(*scores, 0), match.scale, is_rank_four);
    if (!find_key(input_of(*scores, 1), match, is_rank_four)) return std::nullopt;
    float factor = 1;
    match.value = find_rows(input_of(node, 1), factor, is_rank_four, false);
    if (!is_rank_four || !is_float(match.query.value) || !is_float(match.key.value) ||
        !is_float(match.value.value) || (!match.bias.empty() && !is_float(match.bias)))
      return std::nullopt;
    match.result = node.output(0);
    const auto readers = readers_.find(match.result);
    if (readers != readers_.end() && readers->second.size() == 1 &&
        turns(*readers->second.front(), kSwapHeads) && !is_output(match.result)) {
      match.result_rows = true;
      match.result = readers->second.front()->output(0);
    }
    return match;
  }

 private:
  static bool is(const onnx::NodeProto& node, const char* op) {
    return graph::is_standard(node) && node.op_type() == op;
  }
  const onnx::NodeProto* made_by(const std::string& value, const char* op) const {
    const onnx::NodeProto* node = editor_.producer(value);
    return node && is(*node, op) ? node : nullptr;
  }
  static bool turns(const onnx::NodeProto& node, const Perm& perm) {
    return is(node, "Transpose") && graph::ints_attribute(node, "perm") == perm;
  }
  bool is_float(const std::string& value) const {
    const auto found = types_.find(value);
    return found != types_.end() && found->second == graph::ElementType::kFloat;
  }
  // Follows casts of floats to floats, which some exporters leave behind.
  std::string without_casts(std::string value) const {
    for (;;) {
      const auto* cast = made_by(value, "Cast");
      if (!cast || !is_float(value) || !is_float(cast->input(0))) return value;
      value = cast->input(0);
    }
  }
  bool is_output(const std::string& value) const {
    for (const auto& output : editor_.outputs())
      if (output.name() == value) return true;
    return false;
  }

  // A constant with one element.
  std::optional<float> scalar(const std::string& value) const {
    const graph::Operand operand = editor_.look_up(value);
    if (!operand.reason.empty() || operand.weight.bytes() != sizeof(float)) return std::nullopt;
    const auto values = graph::read_values<float>(operand.weight);
    if (!values) return std::nullopt;
    return values->front();
  }

  // Follows products with scalars, which go into `scale`.
  std::string without_scale(std::string value, float& scale) const {
    for (;;) {
      const onnx::NodeProto* node = editor_.producer(value);
      if (!node || !graph::is_standard(*node) || node->input_size() != 2) return value;
      const bool divides = node->op_type() == "Div";
      if (!divides && node->op_type() != "Mul") return value;
      if (const auto right = scalar(node->input(1))) {
        scale = divides ? scale / *right : scale * *right;
        value = node->input(0);
      } else if (const auto left = scalar(node->input(0)); left && !divides) {
        scale *= *left;
        value = node->input(1);
      } else {
        return value;
      }
    }
  }

  const onnx::NodeProto* find_softmax(std::string value, Match& match) const {
    value = without_casts(value);
    if (const auto* where = made_by(value, "Where")) {  // rows of NaN become zeros
      const auto* test = made_by(where->input(0), "IsNaN");
      const auto zero = scalar(where->input(1));
      if (!test || test->input(0) != where->input(2) || !zero || *zero != 0) return nullptr;
      match.zero_empty = true;
      value = where->input(2);
    }
    const auto* softmax = made_by(value, "Softmax");
    if (!softmax) return nullptr;
    constexpr std::int64_t kAxisFromTheEnd = 13;  // the opset since which -1 is the default
    const std::int64_t otherwise = editor_.opset() >= kAxisFromTheEnd ? -1 : 1;
    const std::int64_t axis = graph::int_attribute(*softmax, "axis", otherwise);
    return axis == -1 || axis == 3 ? softmax : nullptr;
  }

  const onnx::NodeProto* find_scores(const std::string& value, Match& match) const {
    if (const auto* product = scaled_product(value, match.scale)) return product;
    const auto* sum = made_by(value, "Add");
    if (!sum) return nullptr;
    for (const int side : {0, 1}) {
      const auto* product = scaled_product(sum->input(side), match.scale);
      if (!product) continue;
      match.bias = sum->input(1 - side);
      return product;
    }
    return nullptr;
  }

  const onnx::NodeProto* scaled_product(const std::string& value, float& scale) const {
    float factor = scale;
    const auto* product = made_by(without_scale(value, factor), "MatMul");
    if (product) scale = factor;
    return product;
  }

  // [B, H, L, D], or what it was before its heads were swapped.
  Operand find_rows(const std::string& value, float& scale, bool& is_rank_four,
                    bool scaled = true) const {
    Operand operand{scaled ? without_scale(value, scale) : value, false};
    const onnx::NodeProto* node = editor_.producer(operand.value);
    if (node && turns(*node, kSwapHeads)) {
      operand = {node->input(0), true};
      is_rank_four = true;
    }
    return operand;
  }

  bool find_key(const std::string& value, Match& match, bool& is_rank_four) const {
    const std::string turned = without_scale(value, match.scale);
    const onnx::NodeProto* node = editor_.producer(turned);
    if (!node) return false;
    if (turns(*node, kTurnHeads)) {
      match.key = {node->input(0), true};
      is_rank_four = true;
      return true;
    }
    if (turns(*node, kTurnRows)) {
      is_rank_four = true;
      match.key = find_rows(node->input(0), match.scale, is_rank_four);
      return true;
    }
    // The same with batches and heads as one axis in between.
    if (!is(*node, "Reshape")) return false;
    const onnx::NodeProto* inner = made_by(node->input(0), "Transpose");
    if (!inner || graph::ints_attribute(*inner, "perm") != Perm{0, 2, 1}) return false;
    const onnx::NodeProto* joined = made_by(inner->input(0), "Reshape");
    if (!joined) return false;
    bool splits_to_four = false;
    match.key = find_rows(joined->input(0), match.scale, splits_to_four);
    // Where the sizes stand in the graph, [.., S, D] must have become [B, H, D, S].
    const auto before = constant_shape(input_of(*joined, 1));
    const auto after = constant_shape(input_of(*node, 1));
    if (before && after) {
      splits_to_four = before->size() == 3 && after->size() == 4 && (*before)[1] == (*after)[3] &&
                       (*before)[2] == (*after)[2];
      if (!splits_to_four) return false;
    }
    is_rank_four = is_rank_four || splits_to_four;
    return splits_to_four;
  }

  std::optional<Perm> constant_shape(const std::string& value) const {
    const auto found = editor_.model().weights.find(value);
    if (found == editor_.model().weights.end()) return std::nullopt;
    if (found->second.type != graph::ElementType::kInt64) return std::nullopt;
    const auto values = graph::read_values<std::int64_t>(found->second);
    if (!values) return std::nullopt;
    return *values;
  }

  const GraphEditor& editor_;
  graph::ElementTypes types_;
  std::map<std::string, std::vector<const onnx::NodeProto*>, std::less<>> readers_;
};

void emit(GraphEditor& editor, const Match& match, const std::string& name) {
  std::vector<std::string> inputs{match.query.value, match.key.value, match.value.value};
  if (!match.bias.empty()) inputs.push_back(match.bias);
  onnx::NodeProto& node = editor.add("Attention", inputs, match.result, name + "_attention");
  node.set_domain("sam3");
  const auto flag = [](bool value) { return std::int64_t{value}; };
  graph::set_attribute(node, "scale", match.scale);
  graph::set_attribute(node, "zero_empty", flag(match.zero_empty));
  graph::set_attribute(node, "query_rows", flag(match.query.rows_first));
  graph::set_attribute(node, "key_rows", flag(match.key.rows_first));
  graph::set_attribute(node, "value_rows", flag(match.value.rows_first));
  graph::set_attribute(node, "result_rows", flag(match.result_rows));
}

}  // namespace

int fuse_attention(graph::EditableModel& model) {
  int count = 0;
  {
    graph::ElementTypes types = graph::infer_types(model);
    GraphEditor editor(model);
    const Matcher matcher(editor, std::move(types));
    Names replaced;
    for (const auto& node : editor.source()) {
      if (node.output_size() == 1 && replaced.contains(node.output(0))) continue;
      const auto match = matcher.match(node);
      if (!match) {
        editor.keep(node);
        continue;
      }
      emit(editor, *match, graph::label(node));
      replaced.insert(match->result);
      ++count;
    }
    if (count > 0) editor.need_domain("sam3", 1);
    editor.finish();
  }
  if (count > 0) remove_dead(model);
  return count;
}

}  // namespace sam3::rewrite
