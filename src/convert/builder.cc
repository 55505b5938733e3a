#include "convert/builder.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/macros.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

constexpr int kOpset = 18;
constexpr int kIrVersion = 8;  // of the first ONNX release with that opset
constexpr std::size_t kShownFailures = 8;
constexpr std::size_t kKeptFailures = 1000;

void declare(onnx::ValueInfoProto& info, const std::string& name, ElementType type,
             const std::vector<Dim>& dims) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type));
  auto& shape = *tensor.mutable_shape();
  for (const Dim& dim : dims) {
    if (const auto* size = std::get_if<std::int64_t>(&dim))
      shape.add_dim()->set_dim_value(*size);
    else
      shape.add_dim()->set_dim_param(std::get<std::string>(dim));
  }
}

// weight [out, in] -> [in, out], its rows in a given order.
graph::Weight transposed(graph::Weight weight, const std::vector<std::int64_t>& order) {
  const auto rows = static_cast<std::size_t>(weight.dims[0]);
  const auto columns = static_cast<std::size_t>(weight.dims[1]);
  return {ElementType::kFloat,
          {weight.dims[1], weight.dims[0]},
          [=, weight = std::move(weight)](std::span<std::byte> into) -> Status {
            SAM3_ASSIGN_OR_RETURN(const std::vector<float> from, graph::read_values<float>(weight));
            constexpr std::size_t kBlock = 32;  // both sides of a block stay in the cache
            for (std::size_t r0 = 0; r0 < rows; r0 += kBlock)
              for (std::size_t c0 = 0; c0 < columns; c0 += kBlock)
                for (std::size_t c = c0; c < std::min(c0 + kBlock, columns); ++c)
                  for (std::size_t r = r0; r < std::min(r0 + kBlock, rows); ++r) {
                    const std::size_t row = order.empty() ? r : static_cast<std::size_t>(order[r]);
                    std::memcpy(into.data() + (c * rows + r) * sizeof(float),
                                &from[row * columns + c], sizeof(float));
                  }
            return {};
          }};
}

graph::Weight reordered(graph::Weight weight, const std::vector<std::int64_t>& order) {
  if (order.empty()) return weight;
  return {ElementType::kFloat, weight.dims, [=](std::span<std::byte> into) -> Status {
            SAM3_ASSIGN_OR_RETURN(const std::vector<float> from, graph::read_values<float>(weight));
            for (std::size_t i = 0; i < order.size(); ++i)
              std::memcpy(into.data() + i * sizeof(float),
                          &from[static_cast<std::size_t>(order[i])], sizeof(float));
            return {};
          }};
}

}  // namespace

Builder::Builder(const WeightSource& source, const std::string& graph_name) : source_(source) {
  model_.proto.set_ir_version(kIrVersion);
  model_.proto.set_producer_name("sam3");
  model_.proto.mutable_graph()->set_name(graph_name);
  model_.proto.add_opset_import()->set_version(kOpset);
}

std::string Builder::unique(const std::string& wanted) {
  const int count = taken_[wanted]++;
  return count == 0 ? wanted : wanted + "_" + std::to_string(count);
}

Value Builder::input(const std::string& name, ElementType type, const std::vector<Dim>& dims) {
  declare(*model_.proto.mutable_graph()->add_input(), name, type, dims);
  return name;
}

void Builder::rename(const Value& from, const Value& to) {
  for (onnx::NodeProto& node : *model_.proto.mutable_graph()->mutable_node()) {
    for (std::string& value : *node.mutable_input())
      if (value == from) value = to;
    for (std::string& value : *node.mutable_output())
      if (value == from) value = to;
  }
}

void Builder::output(const Value& value, const std::string& name, ElementType type,
                     const std::vector<Dim>& dims) {
  rename(value, name);
  declare(*model_.proto.mutable_graph()->add_output(), name, type, dims);
}

Value Builder::named(const Value& value, const std::string& name) {
  const std::string full = unique(place_ + "/" + name);
  rename(value, full);
  return full;
}

std::vector<Value> Builder::nodes(const std::string& op, const std::vector<Value>& inputs,
                                  int outputs, const Attributes& attributes) {
  onnx::NodeProto& node = *model_.proto.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name(unique(place_ + "/" + op));
  for (const Value& value : inputs) node.add_input(value);
  std::vector<Value> made;
  for (int i = 0; i < outputs; ++i) {
    made.push_back(node.name() + "_output" + (i > 0 ? std::to_string(i) : ""));
    node.add_output(made.back());
  }
  for (const auto& [name, attribute] : attributes) graph::set_attribute(node, name, attribute);
  return made;
}

Value Builder::node(const std::string& op, const std::vector<Value>& inputs,
                    const Attributes& attributes) {
  return nodes(op, inputs, 1, attributes).front();
}

Value Builder::constant(const std::string& name, graph::Weight weight) {
  model_.weights.emplace(name, std::move(weight));
  return name;
}

Value Builder::ints(const std::vector<std::int64_t>& values) {
  std::string name = "ints";
  for (const std::int64_t value : values) name += "_" + std::to_string(value);
  return constant(name, graph::make_weight(ElementType::kInt64,
                                           {static_cast<std::int64_t>(values.size())}, values));
}

Value Builder::scalar(float value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "float_%.9g", static_cast<double>(value));
  return constant(digits.data(),
                  graph::make_weight(ElementType::kFloat, {}, std::vector<float>{value}));
}

Value Builder::floats(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  return constant(unique(place_ + "/constant"),
                  graph::make_weight(ElementType::kFloat, dims, values));
}

graph::Weight Builder::find(const std::string& key, const std::vector<std::int64_t>& dims) {
  auto found = source_.find(key, dims);
  if (found.ok()) return *std::move(found);
  if (failures_.size() < kKeptFailures) failures_.push_back(found.error());
  return {ElementType::kFloat, dims, [](std::span<std::byte>) -> Status { return {}; }};
}

Value Builder::weight(const std::string& key, const std::vector<std::int64_t>& dims,
                      const std::string& use) {
  const std::string name = use.empty() ? key : key + "@" + use;
  return first_use(name) ? constant(name, find(key, dims)) : name;
}

std::vector<float> Builder::values(const std::string& key, const std::vector<std::int64_t>& dims) {
  auto read = graph::read_values<float>(find(key, dims));
  if (read.ok()) return *std::move(read);
  failures_.push_back(read.error());
  return std::vector<float>(graph::element_count(dims).value_or(0));
}

Value Builder::reshape(const Value& x, const std::vector<std::int64_t>& dims) {
  return node("Reshape", {x, ints(dims)});
}
Value Builder::transpose(const Value& x, const std::vector<std::int64_t>& order) {
  return node("Transpose", {x}, {{"perm", order}});
}
Value Builder::unsqueeze(const Value& x, std::int64_t axis) {
  return node("Unsqueeze", {x, ints({axis})});
}
Value Builder::squeeze(const Value& x, std::int64_t axis) {
  return node("Squeeze", {x, ints({axis})});
}
Value Builder::slice(const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return node("Slice", {x, ints({begin}), ints({end}), ints({axis})});
}
Value Builder::concat(const std::vector<Value>& parts, std::int64_t axis) {
  return node("Concat", parts, {{"axis", axis}});
}
Value Builder::scale(const Value& x, double factor) {
  return mul(x, scalar(static_cast<float>(factor)));
}
Value Builder::clip(const Value& x, float low, float high) {
  return node("Clip", {x, scalar(low), scalar(high)});
}

Value Builder::activation(const Value& x, const std::string& name) {
  if (name == "relu") return node("Relu", {x});
  if (name == "quick_gelu") return mul(x, node("Sigmoid", {scale(x, 1.702)}));
  const Value erf = node("Erf", {node("Div", {x, scalar(static_cast<float>(std::sqrt(2.0)))})});
  return scale(mul(x, add(erf, scalar(1))), 0.5);
}

Value Builder::layer_norm(const Value& x, const std::string& key, std::int64_t width,
                          double epsilon) {
  return node("LayerNormalization",
              {x, weight(key + ".weight", {width}), weight(key + ".bias", {width})},
              {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}});
}

Value Builder::linear(const Value& x, const Linear& layer, const std::string& use) {
  const Scope scope(*this, layer.key.substr(layer.key.rfind('.') + 1));
  const std::string end = use.empty() ? "" : "@" + use;
  const std::string key = layer.key + ".weight";
  if (first_use(key + end))
    constant(key + end, transposed(find(key, {layer.out, layer.in}), layer.order));
  const Value product = node("MatMul", {x, key + end});
  if (!layer.bias) return product;
  const std::string bias = layer.key + ".bias";
  if (first_use(bias)) constant(bias, reordered(find(bias, {layer.out}), layer.order));
  return add(product, bias);
}

Value Builder::convolution(const Value& x, const Convolution& layer) {
  const Scope scope(*this, layer.key.substr(layer.key.rfind('.') + 1));
  std::vector<Value> inputs = {
      x, weight(layer.key + ".weight", {layer.out, layer.in, layer.kernel, layer.kernel})};
  if (layer.bias) inputs.push_back(weight(layer.key + ".bias", {layer.out}));
  return node("Conv", inputs,
              {{"kernel_shape", std::vector{layer.kernel, layer.kernel}},
               {"strides", std::vector{layer.stride, layer.stride}},
               {"pads", std::vector<std::int64_t>(4, layer.pad)}});
}

Value Builder::transposed_convolution(const Value& x, const Convolution& layer) {
  const Scope scope(*this, layer.key.substr(layer.key.rfind('.') + 1));
  const std::vector<Value> inputs = {
      x, weight(layer.key + ".weight", {layer.in, layer.out, layer.kernel, layer.kernel}),
      weight(layer.key + ".bias", {layer.out})};
  return node("ConvTranspose", inputs,
              {{"kernel_shape", std::vector{layer.kernel, layer.kernel}},
               {"strides", std::vector{layer.stride, layer.stride}}});
}

Value Builder::heads_of(const Value& x, const Attention& a) {
  return transpose(reshape(x, {0, 0, a.heads, a.inner / a.heads}), {0, 2, 1, 3});
}
Value Builder::key_heads_of(const Value& x, const Attention& a) {
  return transpose(reshape(x, {0, 0, a.heads, a.inner / a.heads}), {0, 2, 3, 1});
}

Value Builder::attend(const Value& queries, const Value& keys, const Value& values,
                      const Attention& a, const Value& bias) {
  const double factor = 1.0 / std::sqrt(static_cast<double>(a.inner / a.heads));
  Value scores = node("MatMul", {scale(queries, factor), keys});
  if (!bias.empty()) scores = add(scores, bias);
  const Value weights = node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value mixed = node("MatMul", {weights, values});
  return reshape(transpose(mixed, {0, 2, 1, 3}), {0, 0, a.inner});
}

Value Builder::attention(const Value& query, const Value& key, const Value& value,
                         const Attention& a, const Value& bias) {
  const Scope scope(*this, a.key.substr(a.key.rfind('.') + 1));
  const Value queries = heads_of(linear(query, {a.key + ".q_proj", a.width, a.inner}), a);
  const Value keys = key_heads_of(linear(key, {a.key + ".k_proj", a.width, a.inner}), a);
  const Value values = heads_of(linear(value, {a.key + ".v_proj", a.width, a.inner}), a);
  return linear(attend(queries, keys, values, a, bias), {a.key + "." + a.output, a.inner, a.width});
}

Result<graph::EditableModel> Builder::finish() && {
  if (!failures_.empty()) {
    Error error = failures_.front();
    for (std::size_t i = 1; i < failures_.size() && i < kShownFailures; ++i)
      error.message += "; " + failures_[i].message;
    if (failures_.size() > kShownFailures)
      error.message += "; and " + std::to_string(failures_.size() - kShownFailures) + " more";
    return error;
  }
  SAM3_RETURN_IF_ERROR(graph::check_order(model_.proto.graph(), model_));
  return std::move(model_);
}

}  // namespace sam3::convert
