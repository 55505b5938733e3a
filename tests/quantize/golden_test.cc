// Against ONNX Runtime's quantize_dynamic of the same graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "models.h"
#include "quantize/quantize.h"
#include "support/files.h"

namespace sam3::quantize {
namespace {

using test::data;

struct Product {
  Dims dims;
  std::vector<std::int8_t> values;
  std::vector<float> scales;
  std::vector<std::int8_t> zero_point;
  friend bool operator==(const Product&, const Product&) = default;
};

// The products of a quantized graph, by the value of the source that they (with their bias) make.
std::map<std::string, Product> integer_products(const graph::EditableModel& model,
                                                const std::set<std::string>& source_values) {
  std::map<std::string, const onnx::NodeProto*> reader;
  std::map<std::string, const onnx::NodeProto*> maker;
  for (const auto& node : model.proto.graph().node()) {
    for (const auto& input : node.input()) reader[input] = &node;
    for (const auto& output : node.output()) maker[output] = &node;
  }
  std::map<std::string, Product> products;
  for (const auto& node : model.proto.graph().node()) {
    if (node.op_type() != "MatMulInteger") continue;
    const auto* scaled = reader.at(reader.at(node.output(0))->output(0));
    const auto* scales = maker.at(scaled->input(1));
    std::string value = scaled->output(0);
    if (!source_values.contains(value)) value = reader.at(value)->output(0);
    products[value] = {
        model.weights.at(node.input(1)).dims, values_of<std::int8_t>(model, node.input(1)),
        values_of<float>(model, scales->input(1)), values_of<std::int8_t>(model, node.input(3))};
  }
  return products;
}

std::set<std::string> values_made(const graph::EditableModel& model) {
  std::set<std::string> values;
  for (const auto& node : model.proto.graph().node())
    values.insert(node.output().begin(), node.output().end());
  return values;
}

class Golden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Graphs, Golden,
                         testing::Values("vision_encoder", "text_encoder", "detector",
                                         "tracker_vision_encoder", "prompt_decoder"));

TEST_P(Golden, WeightsScalesAndZeroPointsAreThoseOfOnnxRuntime) {
  const std::string graph = GetParam();
  auto model = graph::EditableModel::read(data("tiny/dynamo/" + graph + "/model.onnx")).value();
  const auto golden =
      graph::EditableModel::read(data("tiny/int8/" + graph + "/model.onnx")).value();
  const std::set<std::string> values = values_made(model);
  const Report report = quantize(model, {}).value();
  const auto ours = integer_products(model, values);
  const auto theirs = integer_products(golden, values);
  EXPECT_GT(theirs.size(), 10U);
  for (const auto& [value, product] : theirs) {
    ASSERT_TRUE(ours.contains(value)) << value;
    EXPECT_TRUE(ours.at(value) == product) << value;
  }
  EXPECT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(static_cast<std::size_t>(report.count()), theirs.size());
  // Values that several products read are quantized once.
  EXPECT_EQ(operators(model)["DynamicQuantizeLinear"], operators(golden)["DynamicQuantizeLinear"]);
}

// The other exporter stores them under other names, turned, or behind Identity.
TEST_P(Golden, BothExportersGiveTheSameWeights) {
  const auto weights = [](const std::string& exporter) {
    const std::string file = "tiny/" + exporter + "/" + GetParam() + "/model.onnx";
    auto model = graph::EditableModel::read(data(file)).value();
    const std::set<std::string> values = values_made(model);
    quantize(model, {}).value();
    std::set<std::vector<std::int8_t>> distinct;
    for (const auto& [value, product] : integer_products(model, values))
      distinct.insert(product.values);
    return distinct;
  };
  const auto dynamo = weights("dynamo");
  const auto torchscript = weights("torchscript");
  const auto missing = std::count_if(dynamo.begin(), dynamo.end(), [&](const auto& values) {
    return !torchscript.contains(values);
  });
  EXPECT_EQ(missing, 0) << dynamo.size();
}

TEST(GoldenConvTranspose, WeightsAreThoseOfTheReference) {
  auto model = graph::EditableModel::read(data("tiny/dynamo/vision_encoder/model.onnx")).value();
  const auto golden =
      graph::EditableModel::read(data("tiny/int8/vision_encoder_conv/model.onnx")).value();
  ASSERT_TRUE(quantize(model, {.ops = {"ConvTranspose"}}).ok());
  int compared = 0;
  for (const auto& node : golden.proto.graph().node()) {
    if (node.op_type() != "DequantizeLinear") continue;
    EXPECT_EQ(values_of<std::int8_t>(model, node.input(0)),
              values_of<std::int8_t>(golden, node.input(0)));
    EXPECT_EQ(values_of<float>(model, node.input(1)), values_of<float>(golden, node.input(1)));
    ++compared;
  }
  EXPECT_EQ(compared, 3);
  EXPECT_EQ(operators(model)["DequantizeLinear"], 3);
}

// Matrices that reach their products through Identity (TorchScript's way to share them) are left
// in float by quantize_dynamic.
TEST(SharedHeads, AreFoundBehindIdentity) {
  auto model = graph::EditableModel::read(data("tiny/torchscript/detector/model.onnx")).value();
  const auto before = operators(model);
  const Report report = quantize(model, {}).value();
  EXPECT_EQ(report.quantized.at("MatMul"), 94 + 24);
  EXPECT_EQ(report.quantized.at("Gemm"), 1);
  auto after = operators(model);
  EXPECT_EQ(after["MatMulInteger"], 94 + 24 + 1);
  EXPECT_LT(after["Identity"], before.at("Identity"));
  // Declared once each: a quantized weight for every float weight that went.
  std::set<std::string> distinct;
  for (const auto& node : model.proto.graph().node())
    if (node.op_type() == "MatMulInteger") distinct.insert(node.input(1));
  EXPECT_EQ(distinct.size(), 94U + 1U);
}

}  // namespace
}  // namespace sam3::quantize
