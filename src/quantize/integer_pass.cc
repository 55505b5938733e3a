#include "quantize/integer_pass.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph_editor.h"
#include "quantize/lazy_weights.h"

namespace sam3::quantize {

using graph::ElementType;
using graph::float_attribute;
using graph::GraphEditor;
using graph::input_of;
using graph::int_attribute;
using graph::ints_attribute;
using graph::is_standard;
using graph::label;
using graph::Operand;
using graph::Weight;

namespace {

constexpr std::int64_t kDynamicQuantizeOpset = 11;
constexpr std::int64_t kDequantizeAxisOpset = 13;
constexpr std::string_view kMicrosoft = "com.microsoft";

bool is_integer_arithmetic(const onnx::NodeProto& node) {
  static constexpr std::array kOperators{
      "MatMulInteger", "ConvInteger",          "QLinearMatMul",
      "QLinearConv",   "MatMulNBits",          "DequantizeLinear",
      "QGemm",         "MatMulIntegerToFloat", "DynamicQuantizeMatMul"};
  return std::find(kOperators.begin(), kOperators.end(), node.op_type()) != kOperators.end();
}

std::int64_t opset_of(const graph::EditableModel& model) {
  for (const auto& opset : model.proto.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return opset.version();
  return 0;
}

// The names under which a quantized weight is declared.
struct WeightNames {
  std::string values;
  std::string scales;
  std::string zero_point;
};

// The weight of a product.
struct Matrix {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool outputs_first = false;  // in the weight as it is stored
};

// What a Gemm does with its product: alpha * product + beta * C. Nothing for MatMul.
struct GemmRest {
  explicit GemmRest(const onnx::NodeProto& node) {
    if (node.op_type() != "Gemm") return;
    alpha = float_attribute(node, "alpha", 1);
    beta = float_attribute(node, "beta", 1);
    adds = node.input_size() > 2 && !node.input(2).empty() && beta != 0;
  }
  bool empty() const { return alpha == 1 && !adds; }

  float alpha = 1;
  float beta = 1;
  bool adds = false;
};

// Products are summed in 32 bits.
bool sum_may_overflow(std::int64_t terms) {
  constexpr std::int64_t kLargestProduct = 255 * 127;
  return terms > std::numeric_limits<std::int32_t>::max() / kLargestProduct;
}

std::string too_long(std::int64_t terms) {
  return "sums of " + std::to_string(terms) + " products do not fit into 32 bits";
}

class IntegerPass {
 public:
  IntegerPass(graph::EditableModel& model, const Options& options)
      : editor_(model), options_(options) {}

  Report run() {
    report_.nodes_before = static_cast<std::int64_t>(editor_.source().size());
    for (const auto& node : editor_.source()) {
      if (is_integer_arithmetic(node)) ++report_.quantized_before;
      const std::string_view op = operator_of(node);
      if (op.empty()) {
        editor_.keep(node);
        continue;
      }
      const std::string reason = convert(node, op);
      if (reason.empty()) {
        ++report_.quantized[node.op_type()];
      } else {
        report_.skipped.push_back({label(node), node.op_type(), reason});
        editor_.keep(node);
      }
    }
    editor_.finish();
    report_.nodes_after = editor_.graph().node_size();
    return std::move(report_);
  }

 private:
  // Which of the chosen operators a node is; empty if none.
  std::string_view operator_of(const onnx::NodeProto& node) const {
    if (!is_standard(node) || node.input_size() < 2 || node.output_size() != 1) return "";
    const std::string& type = node.op_type() == "Gemm" ? std::string(kMatMul) : node.op_type();
    for (const std::string& op : options_.ops)
      if (op == type) return op;
    return "";
  }

  std::string convert(const onnx::NodeProto& node, std::string_view op) {
    const auto named = [&](const std::string& pattern) { return matches(pattern, label(node)); };
    const auto& include = options_.include;
    const auto& exclude = options_.exclude;
    if (!include.empty() && std::none_of(include.begin(), include.end(), named))
      return "no pattern to include names it";
    const auto excluded = std::find_if(exclude.begin(), exclude.end(), named);
    if (excluded != exclude.end()) return "excluded by '" + *excluded + "'";
    if (op == kMatMul) return product(node);
    return op == kConv ? convolution(node) : transposed_convolution(node);
  }

  std::string product(const onnx::NodeProto& node) {
    const bool is_gemm = node.op_type() == "Gemm";
    if (is_gemm && int_attribute(node, "transA", 0) != 0) return "its first operand is transposed";
    const Operand weight = editor_.look_up(node.input(1));
    if (!weight.reason.empty()) return weight.reason;
    if (weight.weight.dims.size() != 2)
      return "its weight has " + std::to_string(weight.weight.dims.size()) + " axes instead of two";
    const bool turned = is_gemm && int_attribute(node, "transB", 0) != 0;
    Matrix matrix;
    matrix.outputs_first = weight.transposed != turned;
    matrix.inputs = weight.weight.dims[matrix.outputs_first ? 1 : 0];
    matrix.outputs = weight.weight.dims[matrix.outputs_first ? 0 : 1];
    switch (options_.precision) {
      case Precision::kInt8:
        if (sum_may_overflow(matrix.inputs)) return too_long(matrix.inputs);
        integer_product(node, weight, matrix);
        break;
      case Precision::kInt8Weights:
        if (editor_.opset() < kDequantizeAxisOpset) return too_old();
        dequantize_operand(node, matrix_form(weight, matrix));
        break;
      default:
        block_product(node, weight, matrix);
    }
    editor_.release(weight);
    return "";
  }

  // A matrix as [inputs, outputs], whichever way it is stored.
  ChannelForm matrix_form(const Operand& weight, const Matrix& matrix) const {
    ChannelForm form = channel_form(weight, matrix.outputs_first ? 0 : 1);
    form.transpose = matrix.outputs_first;
    return form;
  }

  ChannelForm channel_form(const Operand& weight, std::size_t axis) const {
    ChannelForm form;
    form.name = weight.name;
    form.source = weight.weight;
    form.axis = axis;
    form.parallel = options_.parallel;
    return form;
  }

  void integer_product(const onnx::NodeProto& node, const Operand& weight, const Matrix& matrix) {
    const WeightNames names = quantized_weight(matrix_form(weight, matrix));
    const WeightNames activation = quantized_activation(node.input(0));
    const std::string sum = editor_.unique(node.output(0) + "_output_quantized");
    editor_.add("MatMulInteger",
                {activation.values, names.values, activation.zero_point, names.zero_point}, sum,
                label(node) + "_quant");
    const GemmRest rest(node);
    const std::string product = rest.empty() ? node.output(0) : editor_.unique(sum + "_product");
    scale_sum(node, sum, {activation.scales, names.scales}, product);
    if (!rest.empty()) finish_gemm(node, rest, product);
  }

  void block_product(const onnx::NodeProto& node, const Operand& weight, const Matrix& matrix) {
    BlockLayout layout;
    layout.inputs = matrix.inputs;
    layout.outputs = matrix.outputs;
    layout.outputs_first = matrix.outputs_first;
    layout.bits = options_.precision == Precision::kInt4Blocks ? 4 : 8;
    WeightNames& names = weights_[weight.name + (matrix.outputs_first ? "|turned" : "")];
    if (names.values.empty()) {
      ChannelWeights packed =
          quantize_blocks(weight.name, weight.weight, layout, options_.parallel);
      names.values = editor_.add_weight(weight.name + "_Q" + std::to_string(layout.bits),
                                        std::move(packed.values));
      names.scales = editor_.add_weight(weight.name + "_scales", std::move(packed.scales));
    }
    editor_.need_domain(std::string(kMicrosoft), 1);
    const GemmRest rest(node);
    const std::string product =
        rest.empty() ? node.output(0) : editor_.unique(node.output(0) + "_product");
    auto& added = editor_.add("MatMulNBits", {node.input(0), names.values, names.scales}, product,
                              label(node) + "_Q" + std::to_string(layout.bits));
    added.set_domain(std::string(kMicrosoft));
    graph::set_attribute(added, "K", layout.inputs);
    graph::set_attribute(added, "N", layout.outputs);
    graph::set_attribute(added, "bits", layout.bits);
    graph::set_attribute(added, "block_size", layout.block);
    if (!rest.empty()) finish_gemm(node, rest, product);
  }

  void finish_gemm(const onnx::NodeProto& node, const GemmRest& rest, const std::string& product) {
    const std::string name = label(node);
    std::string term = product;
    if (rest.alpha != 1) {
      term = rest.adds ? editor_.unique(product + "_alpha") : node.output(0);
      editor_.add("Mul", {product, scalar(name + "_alpha", rest.alpha)}, term, name + "_alpha_mul");
    }
    if (!rest.adds) return;
    std::string bias = node.input(2);
    if (rest.beta != 1) {
      bias = editor_.unique(product + "_beta");
      editor_.add("Mul", {node.input(2), scalar(name + "_beta", rest.beta)}, bias,
                  name + "_beta_mul");
    }
    editor_.add("Add", {term, bias}, node.output(0), name + "_bias_add");
  }

  std::string convolution(const onnx::NodeProto& node) {
    const Operand weight = editor_.look_up(node.input(1));
    if (const std::string reason = unfit(node, weight); !reason.empty()) return reason;
    if (!options_.patch_embedding && cuts_patches(node))
      return "it cuts the picture into patches, which is left alone";
    if (options_.precision == Precision::kInt8Weights) {
      if (editor_.opset() < kDequantizeAxisOpset) return too_old();
      dequantize_operand(node, channel_form(weight, 0));
      editor_.release(weight);
      return "";
    }
    const bool has_bias = node.input_size() > 2 && !node.input(2).empty();
    Operand bias;
    if (has_bias) bias = editor_.look_up(node.input(2));
    if (!bias.reason.empty()) return "its bias is no constant of type float";
    const std::int64_t channels = weight.weight.dims[0];
    if (has_bias && bias.weight.dims != std::vector<std::int64_t>{channels})
      return "its bias does not have one value per output channel";
    const auto terms = static_cast<std::int64_t>(weight.weight.bytes() / sizeof(float)) / channels;
    if (sum_may_overflow(terms)) return too_long(terms);
    integer_convolution(node, weight, has_bias ? &bias : nullptr);
    editor_.release(weight);
    if (has_bias) editor_.release(bias);
    return "";
  }

  void integer_convolution(const onnx::NodeProto& node, const Operand& weight,
                           const Operand* bias) {
    const std::size_t spatial = weight.weight.dims.size() - 2;
    ChannelForm form = channel_form(weight, 0);
    // ONNX Runtime's CPU provider has no ConvInteger with signed weights.
    form.add_128 = true;
    form.ones_before = 1;
    form.ones_after = spatial;
    const std::int64_t channels = weight.weight.dims[0];
    const WeightNames names = quantized_weight(std::move(form));
    const WeightNames activation = quantized_activation(node.input(0));
    const std::string& output = node.output(0);
    const std::string sum = editor_.unique(output + "_output_quantized");
    auto& added = editor_.add(
        "ConvInteger", {activation.values, names.values, activation.zero_point, names.zero_point},
        sum, label(node) + "_quant");
    *added.mutable_attribute() = node.attribute();
    const std::string product = bias ? editor_.unique(output + "_without_bias") : output;
    scale_sum(node, sum, {activation.scales, names.scales}, product);
    if (!bias) return;
    std::vector<std::int64_t> dims(spatial + 2, 1);
    dims[1] = channels;
    std::string& shaped = biases_[bias->name + "|" + std::to_string(spatial)];
    if (shaped.empty())
      shaped = editor_.add_weight(bias->name + "_reshaped", reshaped(bias->weight, dims));
    editor_.add("Add", {product, shaped}, output, label(node) + "_bias_add");
  }

  std::string transposed_convolution(const onnx::NodeProto& node) {
    const Operand weight = editor_.look_up(node.input(1));
    if (const std::string reason = unfit(node, weight); !reason.empty()) return reason;
    if (editor_.opset() < kDequantizeAxisOpset) return too_old();
    dequantize_operand(node, channel_form(weight, 1));
    editor_.release(weight);
    return "";
  }

  // Why the weight of a convolution cannot be quantized; else empty.
  static std::string unfit(const onnx::NodeProto& node, const Operand& weight) {
    if (!weight.reason.empty()) return weight.reason;
    if (weight.transposed || weight.weight.dims.size() < 3)
      return "its weight has " + std::to_string(weight.weight.dims.size()) + " axes";
    const std::int64_t group = int_attribute(node, "group", 1);
    return group == 1 ? "" : "it has " + std::to_string(group) + " groups";
  }

  // True if the windows do not overlap and the picture comes in as the caller gave it, scaled and
  // turned at most: the patch embedding of a vision transformer.
  bool cuts_patches(const onnx::NodeProto& node) const {
    const std::vector<std::int64_t> kernel = ints_attribute(node, "kernel_shape");
    const std::vector<std::int64_t> strides = ints_attribute(node, "strides");
    const bool apart = strides == kernel && std::any_of(kernel.begin(), kernel.end(),
                                                        [](std::int64_t size) { return size > 1; });
    if (!apart) return false;
    static constexpr std::array kPreparing{"Cast", "Identity",  "Add",     "Sub",       "Mul",
                                           "Div",  "Transpose", "Reshape", "Unsqueeze", "Squeeze"};
    std::string_view name = node.input(0);
    while (const onnx::NodeProto* made_by = editor_.producer(name)) {
      if (std::find(kPreparing.begin(), kPreparing.end(), made_by->op_type()) == kPreparing.end())
        return false;
      name = input_of(*made_by, 0);
    }
    return editor_.is_graph_input(name);
  }

  // One DynamicQuantizeLinear for all readers of a value.
  const WeightNames& quantized_activation(const std::string& value) {
    WeightNames& names = activations_[value];
    if (!names.values.empty()) return names;
    names = {editor_.unique(value + "_quantized"), editor_.unique(value + "_scale"),
             editor_.unique(value + "_zero_point")};
    auto& added =
        editor_.add("DynamicQuantizeLinear", {value}, names.values, value + "_QuantizeLinear");
    added.add_output(names.scales);
    added.add_output(names.zero_point);
    return names;
  }

  // Declares a weight in a form, once.
  const WeightNames& quantized_weight(ChannelForm form) {
    const std::string key = form.name + "|" + std::to_string(form.axis) +
                            (form.transpose ? "t" : "") + (form.add_128 ? "u" : "") +
                            std::to_string(form.ones_after);
    WeightNames& names = weights_[key];
    if (!names.values.empty()) return names;
    const std::string name = form.name;
    const auto channels = static_cast<std::size_t>(form.source.dims[form.axis]);
    const bool add_128 = form.add_128;
    ChannelWeights made = quantize_channels(std::move(form));
    // The values come first by name too: then their source is read once.
    names.values = editor_.add_weight(name + "_quantized", std::move(made.values));
    names.scales = editor_.add_weight(name + "_scale", std::move(made.scales));
    // ConvInteger takes one zero point only.
    names.zero_point = editor_.add_weight(
        name + "_zero_point",
        add_128 ? graph::make_weight(ElementType::kUint8, {}, std::string(1, '\x80'))
                : graph::make_weight(ElementType::kInt8, {static_cast<std::int64_t>(channels)},
                                     std::string(channels, '\0')));
    return names;
  }

  // output = float(sum) * (first scale * second scale).
  void scale_sum(const onnx::NodeProto& node, const std::string& sum,
                 const std::vector<std::string>& scales, const std::string& output) {
    const std::string name = label(node) + "_quant";
    const std::string cast = editor_.unique(sum + "_cast_output");
    graph::set_attribute(editor_.add("Cast", {sum}, cast, sum + "_cast"), "to",
                         std::int64_t{onnx::TensorProto::FLOAT});
    const std::string scale = editor_.unique(name + "_scales_mul:0");
    editor_.add("Mul", scales, scale, name + "_scales_mul");
    editor_.add("Mul", {cast, scale}, output, name + "_output_scale_mul");
  }

  // Keeps the node, with DequantizeLinear before its weight.
  void dequantize_operand(const onnx::NodeProto& node, ChannelForm form) {
    const std::size_t axis = form.transpose ? 1 - form.axis : form.axis;
    const std::string name = form.name;
    const WeightNames& names = quantized_weight(std::move(form));
    // One for each use: ONNX Runtime fuses it with the node behind it.
    const std::string restored = editor_.unique(name + "_dequantized");
    graph::set_attribute(
        editor_.add("DequantizeLinear", {names.values, names.scales, names.zero_point}, restored,
                    name + "_DequantizeLinear"),
        "axis", static_cast<std::int64_t>(axis));
    editor_.keep(node);
    onnx::NodeProto& kept = *editor_.graph().mutable_node()->rbegin();
    kept.set_input(1, restored);
    // A Gemm whose matrix was [outputs, inputs] gets it as [inputs, outputs].
    for (auto& attribute : *kept.mutable_attribute())
      if (attribute.name() == "transB") attribute.set_i(0);
  }

  std::string too_old() const {
    return "opset " + std::to_string(editor_.opset()) +
           " has no DequantizeLinear with an axis (13 is the first)";
  }

  std::string scalar(const std::string& name, float value) {
    return editor_.add_weight(
        name, graph::make_weight(ElementType::kFloat, {}, std::vector<float>{value}));
  }

  GraphEditor editor_;
  const Options& options_;
  Report report_;
  std::map<std::string, WeightNames> activations_;  // by value
  std::map<std::string, WeightNames> weights_;      // by source and form
  std::map<std::string, std::string> biases_;       // by source and form
};

}  // namespace

Result<Report> quantize_integers(graph::EditableModel& model, const Options& options) {
  const std::int64_t opset = opset_of(model);
  if (options.precision == Precision::kInt8 && opset < kDynamicQuantizeOpset)
    return Error{ErrorCode::kUnsupported,
                 "the graph is of opset " + std::to_string(opset) +
                     ", and DynamicQuantizeLinear is known from 11 on",
                 "", ""};
  Report report = IntegerPass(model, options).run();
  if (report.count() == 0 && report.quantized_before > 0)
    return Error{ErrorCode::kUnsupported,
                 "the graph is quantized already: " + std::to_string(report.quantized_before) +
                     " nodes are integer arithmetic, and nothing is left to quantize",
                 "", ""};
  return report;
}

}  // namespace sam3::quantize
