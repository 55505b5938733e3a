#include "model/contract.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>

namespace sam3::model {

using graph::ElementType;
using graph::ValueInfo;

namespace {

// `shape` is a list of sizes separated by spaces: a number, a letter that stands for one size in
// all graphs of the package, or "*" for any size, dynamic ones included.
struct TensorRule {
  std::string_view name;
  ElementType type;
  std::string_view shape;
  bool optional = false;
};

struct GraphRule {
  GraphKind kind;
  std::string_view name;
  std::vector<TensorRule> inputs;
  std::vector<TensorRule> outputs;
};

constexpr ElementType kF = ElementType::kFloat;
constexpr ElementType kI = ElementType::kInt64;
constexpr ElementType kU = ElementType::kUint8;
constexpr ElementType kB = ElementType::kBool;

const std::vector<GraphRule>& rules() {
  static const auto* const rules = new std::vector<GraphRule>{
      {GraphKind::kVisionEncoder,
       "vision_encoder",
       {{"pixel_values", kF, "1 3 S S"}},
       {{"fpn_0", kF, "1 C H W"}, {"fpn_1", kF, "1 C H1 W1"}, {"fpn_2", kF, "1 C H2 W2"}}},
      {GraphKind::kTextEncoder,
       "text_encoder",
       {{"input_ids", kI, "1 L"}, {"attention_mask", kI, "1 L"}},
       {{"text_features", kF, "1 L C"}}},
      {GraphKind::kDetector,
       "detector",
       {{"fpn_0", kF, "1 C H W"},
        {"fpn_1", kF, "1 C H1 W1"},
        {"fpn_2", kF, "1 C H2 W2"},
        {"text_features", kF, "1 L C"},
        {"attention_mask", kI, "1 L"}},
       {{"pred_masks_bits", kU, "1 Q H W/8"},
        {"pred_boxes", kF, "1 Q 4"},
        {"pred_logits", kF, "1 Q"},
        {"presence_logits", kF, "1 1"}}},
      {GraphKind::kGeometryEncoder,
       "geometry_encoder",
       {{"fpn_2", kF, "1 C H2 W2"},
        {"input_boxes", kF, "1 * 4"},
        {"input_boxes_labels", kI, "1 *"}},
       {{"prompt_features", kF, "1 * C"}, {"prompt_mask", kI, "1 *", true}}},
      {GraphKind::kTrackerVisionEncoder,
       "tracker_vision_encoder",
       {{"pixel_values", kF, "1 3 S S"}},
       {{"image_embeddings_0", kF, "1 E0 H W"},
        {"image_embeddings_1", kF, "1 E1 H1 W1"},
        {"image_embeddings_2", kF, "1 E2 H2 W2"}}},
      {GraphKind::kPromptDecoder,
       "prompt_decoder",
       {{"image_embeddings_0", kF, "1 E0 H W"},
        {"image_embeddings_1", kF, "1 E1 H1 W1"},
        {"image_embeddings_2", kF, "1 E2 H2 W2"},
        {"input_points", kF, "1 * * 2"},
        {"input_labels", kI, "1 * *"}},
       {{"pred_masks", kF, "1 * M H W"},
        {"iou_scores", kF, "1 * M"},
        {"object_score_logits", kF, "1 * 1"}}},
      {GraphKind::kBrowserImageEncoder,
       "sam3_image_encoder",
       {{"image", kU, "3 S S"}},
       {{"vision_pos_enc_0", kF, "1 C H W", true},
        {"vision_pos_enc_1", kF, "1 C H1 W1", true},
        {"vision_pos_enc_2", kF, "1 C H2 W2"},
        {"backbone_fpn_0", kF, "1 C H W"},
        {"backbone_fpn_1", kF, "1 C H1 W1"},
        {"backbone_fpn_2", kF, "1 C H2 W2"}}},
      {GraphKind::kBrowserLanguageEncoder,
       "sam3_language_encoder",
       {{"tokens", kI, "1 L"}},
       {{"text_attention_mask", kB, "1 L"},
        {"text_memory", kF, "L 1 C"},
        {"text_embeds", kF, "L 1 *", true}}},
      // Exporters drop the inputs that do not reach an output.
      {GraphKind::kBrowserDecoder,
       "sam3_decoder",
       {{"original_height", kI, ""},
        {"original_width", kI, ""},
        {"vision_pos_enc_0", kF, "1 C H W", true},
        {"vision_pos_enc_1", kF, "1 C H1 W1", true},
        {"vision_pos_enc_2", kF, "1 C H2 W2", true},
        {"backbone_fpn_0", kF, "1 C H W"},
        {"backbone_fpn_1", kF, "1 C H1 W1"},
        {"backbone_fpn_2", kF, "1 C H2 W2"},
        {"language_mask", kB, "1 L"},
        {"language_features", kF, "L 1 C"},
        {"language_embeds", kF, "L 1 *", true},
        {"box_coords", kF, "1 1 4"},
        {"box_labels", kI, "1 1"},
        {"box_masks", kB, "1 1"}},
       {{"boxes", kF, "* 4"}, {"scores", kF, "*"}, {"masks", kB, "* * * *"}}},
  };
  return *rules;
}

const GraphRule& rule_of(GraphKind kind) {
  return *std::find_if(rules().begin(), rules().end(),
                       [&](const GraphRule& rule) { return rule.kind == kind; });
}

std::vector<std::string> split(std::string_view shape) {
  std::vector<std::string> parts;
  while (!shape.empty()) {
    const std::size_t space = shape.find(' ');
    parts.emplace_back(shape.substr(0, space));
    shape = space == std::string_view::npos ? "" : shape.substr(space + 1);
  }
  return parts;
}

// What a letter stands for, and which tensor said so first.
struct Binding {
  std::int64_t value;
  std::string source;
};

class Checker {
 public:
  ContractReport check(const std::vector<ContractGraph>& graphs) {
    for (const ContractGraph& graph : graphs) {
      const GraphRule& rule = rule_of(graph.kind);
      for (const TensorRule& input : rule.inputs)
        check_tensor(rule, input, "input", graph.file->find_input(input.name));
      for (const TensorRule& output : rule.outputs)
        check_tensor(rule, output, "output", graph.file->find_output(output.name));
      for (const ValueInfo& input : graph.file->inputs()) {
        const bool known = std::any_of(rule.inputs.begin(), rule.inputs.end(),
                                       [&](const TensorRule& r) { return r.name == input.name; });
        if (!known)
          problem(rule, "has an input '" + input.name + "' that this graph should not have");
      }
    }
    return std::move(report_);
  }

 private:
  void problem(const GraphRule& graph, const std::string& text) {
    report_.problems.push_back(std::string(graph.name) + " " + text);
  }

  void check_tensor(const GraphRule& graph, const TensorRule& rule, std::string_view role,
                    const ValueInfo* value) {
    const std::string title = std::string(role) + " '" + std::string(rule.name) + "'";
    if (!value) {
      if (!rule.optional) problem(graph, "lacks its " + title);
      return;
    }
    if (value->type != rule.type) {
      problem(graph, title + " has element type " + to_string(value->type) + " instead of " +
                         to_string(rule.type));
      return;
    }
    const std::vector<std::string> shape = split(rule.shape);
    // An output may be declared without a shape; the first run shows it.
    if (role == "output" && value->dims.empty() && !shape.empty()) return;
    if (value->dims.size() != shape.size()) {
      problem(graph, title + " has " + std::to_string(value->dims.size()) + " axes instead of " +
                         std::to_string(shape.size()) + ": " + value->describe());
      return;
    }
    // Some exporters declare outputs wrongly, which the engine forgives; a batch that is not one
    // shows it.
    if (role == "output" && !value->dims.empty() && shape[0] == "1" && value->dims[0] > 1) {
      report_.warnings.push_back(std::string(graph.name) + " declares " + value->describe() +
                                 ", which cannot be right; the shape of the first run counts");
      return;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      check_size(graph, title, shape[axis], axis, *value);
  }

  void check_size(const GraphRule& graph, const std::string& title, std::string rule,
                  std::size_t axis, const ValueInfo& value) {
    std::int64_t found = value.dims[axis];
    if (rule == "*" || found < 0) return;
    if (rule.ends_with("/8")) {  // bytes of a row of bits
      found *= 8;
      rule.resize(rule.size() - 2);
    }
    std::int64_t wanted = 0;
    const auto [end, error] = std::from_chars(rule.data(), rule.data() + rule.size(), wanted);
    std::string reason;
    if (error != std::errc{} || end != rule.data() + rule.size()) {
      const auto [binding, is_new] = sizes_.try_emplace(
          rule, Binding{found, std::string(graph.name) + " " + value.describe()});
      if (is_new) return;
      wanted = binding->second.value;
      reason = ", as " + binding->second.source + " has it";
    }
    if (found != wanted)
      problem(graph, title + " has size " + std::to_string(found) + " on axis " +
                         std::to_string(axis) + " instead of " + std::to_string(wanted) + reason +
                         ": " + value.describe());
  }

  ContractReport report_;
  std::map<std::string, Binding> sizes_;
};

}  // namespace

std::string_view graph_name(GraphKind kind) { return rule_of(kind).name; }

ContractReport check_contract(const std::vector<ContractGraph>& graphs) {
  return Checker().check(graphs);
}

bool looks_like(GraphKind kind, const graph::ModelFile& file) {
  const GraphRule& rule = rule_of(kind);
  return std::all_of(rule.inputs.begin(), rule.inputs.end(), [&](const TensorRule& input) {
    return input.optional || file.find_input(input.name) != nullptr;
  });
}

}  // namespace sam3::model
