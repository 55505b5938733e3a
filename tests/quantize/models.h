// Small graphs made in a test, and running them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "graph/editable_model.h"
#include "runtime/session.h"
#include "support/files.h"

namespace sam3::quantize {

using Dims = std::vector<std::int64_t>;

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 18) {
    model.proto.set_ir_version(8);
    auto& imported = *model.proto.add_opset_import();
    imported.set_domain("");
    imported.set_version(opset);
    model.proto.mutable_graph()->set_name("test");
  }

  void input(const std::string& name, const Dims& dims) {
    declare(*graph().add_input(), name, dims);
  }
  void output(const std::string& name, const Dims& dims) {
    declare(*graph().add_output(), name, dims);
  }
  void weight(const std::string& name, const Dims& dims, const std::vector<float>& values) {
    model.weights[name] = graph::make_weight(graph::ElementType::kFloat, dims, values);
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& name) {
    onnx::NodeProto& added = *graph().add_node();
    added.set_op_type(op);
    added.set_name(name);
    for (const std::string& input : inputs) added.add_input(input);
    added.add_output(output);
    return added;
  }
  static void set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set(onnx::NodeProto& node, const std::string& name, float value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  static void set(onnx::NodeProto& node, const std::string& name, const Dims& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }

  graph::EditableModel model;

 private:
  onnx::GraphProto& graph() { return *model.proto.mutable_graph(); }
  static void declare(onnx::ValueInfoProto& value, const std::string& name, const Dims& dims) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
};

// Values of no pattern in [-1, 1).
inline std::vector<float> noise(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / 8388608.0F - 1.0F;
  }
  return values;
}

inline std::shared_ptr<const runtime::Session> open_session(const std::filesystem::path& file) {
  static const auto engine = runtime::Engine::create({.device = "cpu", .threads = 2}).value();
  runtime::GraphSource source{file, "", ""};
  // As the library itself loads models.
  auto model = graph::ModelFile::read(file).value();
  if (runtime::int8_sums_saturate() &&
      model.unshare_initializers("MatMulInteger", {1, 3}) +
              model.unshare_initializers("DequantizeLinear", {0, 1, 2}) >
          0)
    source = {file, model.serialize_with_locations({}).value(), file.parent_path()};
  auto session = runtime::Session::open(engine, file.filename().string(), source);
  if (!session.ok()) throw std::runtime_error(session.error().to_string());
  return *session;
}

// Runs a model of one input and one output.
inline std::vector<float> run(const graph::EditableModel& model, const Dims& dims,
                              const std::vector<float>& input) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "model.onnx";
  model.write(file).value();
  const auto& graph = model.proto.graph();
  const std::string output = graph.output(0).name();
  const std::vector<runtime::NamedTensor> inputs{
      {graph.input(0).name(), runtime::Tensor(dims, input)}};
  const auto results = open_session(file)->run(inputs, std::vector<std::string>{output});
  if (!results.ok()) throw std::runtime_error(results.error().to_string());
  const auto values = (*results)[0].floats();
  return {values.begin(), values.end()};
}

inline std::map<std::string, int> operators(const graph::EditableModel& model) {
  std::map<std::string, int> counts;
  for (const auto& node : model.proto.graph().node()) ++counts[node.op_type()];
  return counts;
}

template <typename T>
std::vector<T> values_of(const graph::EditableModel& model, const std::string& name) {
  return graph::read_values<T>(model.weights.at(name)).value();
}

}  // namespace sam3::quantize
