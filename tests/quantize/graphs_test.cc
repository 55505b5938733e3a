// Graphs made for one question each: odd weights, odd operands, convolutions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "models.h"
#include "quantize/quantize.h"

namespace sam3::quantize {
namespace {

using testing::Contains;
using testing::Each;
using testing::Eq;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

// y = x [rows, inputs] * w.
ModelBuilder product(std::int64_t rows, const Dims& weight, const std::vector<float>& values) {
  ModelBuilder made;
  made.input("x", {rows, weight[0]});
  made.weight("w", weight, values);
  made.node("MatMul", {"x", "w"}, "y", "product");
  made.output("y", {rows, weight[1]});
  return made;
}

std::string only_reason(const Report& report) {
  if (report.count() != 0 || report.skipped.size() != 1) return "not one node skipped";
  return report.skipped[0].reason;
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::fabs(static_cast<double>(value)));
  return most;
}

void expect_near(const std::vector<float>& values, const std::vector<float>& expected,
                 double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance * largest(expected)) << i;
}

TEST(Degenerate, ZeroColumnAndOutlier) {
  const std::int64_t inputs = 16;
  std::vector<float> weights = noise(16 * 4, 5);
  for (std::size_t k = 0; k < 16; ++k) {
    weights[k * 4 + 1] = 0;      // all zero
    weights[k * 4 + 2] = 1e-3F;  // small beside one outlier
  }
  weights[2] = 1e6F;
  ModelBuilder made = product(3, {inputs, 4}, weights);
  const auto x = noise(3 * 16, 8);
  const auto expected = run(made.model, {3, inputs}, x);
  ASSERT_TRUE(quantize(made.model, {}).ok());
  const auto scales = values_of<float>(made.model, "w_scale");
  EXPECT_EQ(scales[1], 1.0F);
  EXPECT_FLOAT_EQ(scales[2], 1e6F / 127);
  const auto y = run(made.model, {3, inputs}, x);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(y[row * 4 + 1], 0.0F);
    EXPECT_NEAR(y[row * 4 + 2] / expected[row * 4 + 2], 1, 0.02);
    // The outlier's column takes nothing from its neighbours.
    for (const std::size_t column : {0U, 3U})
      EXPECT_NEAR(y[row * 4 + column], expected[row * 4 + column], 0.05);
  }
}

TEST(Degenerate, OneWeightForTwoNodes) {
  ModelBuilder made;
  made.input("x", {2, 6});
  made.weight("w", {6, 6}, noise(36, 2));
  made.node("MatMul", {"x", "w"}, "h", "first");
  made.node("MatMul", {"h", "w"}, "y", "second");
  made.output("y", {2, 6});
  const auto x = noise(12, 4);
  const auto expected = run(made.model, {2, 6}, x);
  const Report report = quantize(made.model, {}).value();
  EXPECT_EQ(report.quantized.at("MatMul"), 2);
  EXPECT_EQ(made.model.weights.size(), 3U);  // values, scales, zero points
  expect_near(run(made.model, {2, 6}, x), expected, 0.05);
}

// Also in both orientations: two forms, since the axes of the outputs differ.
TEST(Degenerate, OneWeightBothWays) {
  ModelBuilder made;
  made.input("x", {2, 6});
  made.weight("w", {6, 6}, noise(36, 2));
  made.node("MatMul", {"x", "w"}, "h", "first");
  made.node("Transpose", {"w"}, "t", "turn");
  made.node("MatMul", {"h", "t"}, "y", "second");
  made.output("y", {2, 6});
  const auto x = noise(12, 4);
  const auto expected = run(made.model, {2, 6}, x);
  ASSERT_TRUE(quantize(made.model, {}).ok());
  EXPECT_THAT(operators(made.model), Not(Contains(Key("Transpose"))));
  EXPECT_EQ(made.model.weights.size(), 6U);
  expect_near(run(made.model, {2, 6}, x), expected, 0.05);
}

TEST(Degenerate, WeightThatOthersNeedStaysForThem) {
  for (const std::string reader : {"node", "output", "subgraph"}) {
    ModelBuilder made = product(2, {4, 4}, noise(16, 1));
    auto& graph = *made.model.proto.mutable_graph();
    if (reader == "node") made.node("Relu", {"w"}, "r", "other"), made.output("r", {4, 4});
    if (reader == "output") made.output("w", {4, 4});
    if (reader == "subgraph") {
      auto& attribute = *made.node("If", {"x"}, "r", "other").add_attribute();
      attribute.set_name("then_branch");
      attribute.set_type(onnx::AttributeProto::GRAPH);
      auto& inner = *attribute.mutable_g()->add_node();
      inner.set_op_type("Relu");
      inner.add_input("w");
      inner.add_output("inner");
    }
    EXPECT_EQ(quantize(made.model, {})->count(), 1);
    EXPECT_THAT(made.model.weights, Contains(Key("w"))) << reader;
    EXPECT_THAT(operators(made.model), Contains(Key("MatMulInteger")));
    EXPECT_GT(graph.node_size(), 1);
  }
}

TEST(Skipped, WeightThatIsAnInput) {
  ModelBuilder made = product(2, {4, 4}, noise(16, 1));
  made.input("w", {4, 4});
  EXPECT_THAT(only_reason(quantize(made.model, {}).value()), HasSubstr("also an input"));
  made.model.weights.clear();
  EXPECT_THAT(only_reason(quantize(made.model, {}).value()), HasSubstr("is an input"));
  EXPECT_EQ(operators(made.model), (std::map<std::string, int>{{"MatMul", 1}}));
}

TEST(Skipped, WeightsThatDoNotFit) {
  const auto reason = [](const Dims& dims) {
    ModelBuilder made;
    made.input("x", {2, dims[0]});
    const auto count = static_cast<std::size_t>(graph::element_count(dims).value());
    made.weight("w", dims, noise(count, 1));
    made.node("MatMul", {"x", "w"}, "y", "product");
    made.output("y", {});
    return only_reason(quantize(made.model, {}).value());
  };
  EXPECT_THAT(reason({0, 4}), HasSubstr("no elements"));
  EXPECT_THAT(reason({4, 0}), HasSubstr("no elements"));
  EXPECT_THAT(reason({4}), HasSubstr("1 axes"));
  EXPECT_THAT(reason({2, 4, 4}), HasSubstr("3 axes"));
  EXPECT_THAT(reason({70000, 1}), HasSubstr("32 bits"));
  ModelBuilder made = product(2, {4, 4}, noise(16, 1));
  made.model.weights["w"] =
      graph::make_weight(graph::ElementType::kFloat16, {4, 4}, std::string(32, '\0'));
  EXPECT_THAT(only_reason(quantize(made.model, {}).value()), HasSubstr("float16"));
}

TEST(Skipped, WhatIsComputedAndWhatIsExcluded) {
  ModelBuilder made = product(4, {4, 4}, noise(16, 1));
  made.node("MatMul", {"x", "y"}, "z", "attention");
  made.output("z", {4, 4});
  const Report report = quantize(made.model, {.exclude = {"prod*"}}).value();
  ASSERT_EQ(report.skipped.size(), 2U);
  EXPECT_THAT(report.skipped[0].reason, HasSubstr("'prod*'"));
  EXPECT_EQ(report.skipped[1].node, "attention");
  EXPECT_THAT(report.skipped[1].reason, HasSubstr("at run time"));
  EXPECT_EQ(quantize(made.model, {.include = {"nothing"}})->count(), 0);
  EXPECT_EQ(quantize(made.model, {.include = {"product"}})->count(), 1);
}

struct GemmCase {
  float alpha;
  float beta;
  bool trans_b;
  bool bias;
};

class Gemm : public testing::TestWithParam<std::tuple<GemmCase, Precision>> {};
INSTANTIATE_TEST_SUITE_P(
    Forms, Gemm,
    testing::Combine(testing::Values(GemmCase{1, 1, true, true}, GemmCase{1, 1, false, false},
                                     GemmCase{0.5F, 1, true, false},
                                     GemmCase{2, 0.25F, false, true}, GemmCase{1, 0, true, true}),
                     testing::Values(Precision::kInt8, Precision::kInt8Weights,
                                     Precision::kInt8Blocks, Precision::kInt4Blocks,
                                     Precision::kFloat16)));

TEST_P(Gemm, GivesWhatItGave) {
  const auto [gemm, precision] = GetParam();
  // With a weight as it is, and behind a Transpose.
  for (const bool turned : {false, true}) {
    ModelBuilder made;
    made.input("x", {3, 40});
    const bool outputs_first = gemm.trans_b != turned;
    made.weight("w", outputs_first ? Dims{7, 40} : Dims{40, 7}, noise(280, 6));
    made.weight("c", {7}, noise(7, 7));
    if (turned) made.node("Transpose", {"w"}, "t", "turn");
    std::vector<std::string> inputs{"x", turned ? "t" : "w"};
    if (gemm.bias) inputs.emplace_back("c");
    auto& node = made.node("Gemm", inputs, "y", "gemm");
    ModelBuilder::set(node, "alpha", gemm.alpha);
    ModelBuilder::set(node, "beta", gemm.beta);
    ModelBuilder::set(node, "transB", std::int64_t{gemm.trans_b});
    made.output("y", {3, 7});
    const auto x = noise(120, 3);
    const auto expected = run(made.model, {3, 40}, x);
    EXPECT_EQ(quantize(made.model, {.precision = precision})->quantized.at("Gemm"), 1);
    EXPECT_THAT(made.model.weights, Not(Contains(Key("w"))));
    const double tolerance = precision == Precision::kInt4Blocks ? 0.15 : 0.02;
    expect_near(run(made.model, {3, 40}, x), expected, tolerance);
  }
}

TEST(GemmSkipped, WithItsFirstOperandTransposed) {
  ModelBuilder made;
  made.input("x", {4, 3});
  made.weight("w", {4, 5}, noise(20, 6));
  ModelBuilder::set(made.node("Gemm", {"x", "w"}, "y", "gemm"), "transA", std::int64_t{1});
  made.output("y", {3, 5});
  EXPECT_THAT(only_reason(quantize(made.model, {}).value()), HasSubstr("first operand"));
}

// A picture of whole numbers with a step of exactly 1: the activations are quantized without loss,
// so the integer convolution must give what the dequantized weights give.
TEST(Conv, IntegerFormEqualsDequantizedWeights) {
  const auto build = [] {
    ModelBuilder made;
    made.input("x", {1, 3, 9, 11});
    made.weight("w", {5, 3, 3, 3}, noise(135, 11));
    made.weight("b", {5}, noise(5, 12));
    auto& node = made.node("Conv", {"x", "w", "b"}, "y", "conv");
    ModelBuilder::set(node, "kernel_shape", Dims{3, 3});
    ModelBuilder::set(node, "pads", Dims{1, 2, 0, 1});
    ModelBuilder::set(node, "strides", Dims{2, 1});
    made.output("y", {1, 5, 5, 12});
    return made;
  };
  std::vector<float> x;
  for (const float value : noise(297, 13)) x.push_back(std::round(value * 100));
  x[5] = -100, x[6] = 155;  // the zero point is 100, which the padding must use too
  ModelBuilder integer = build();
  ModelBuilder weights = build();
  EXPECT_EQ(quantize(integer.model, {.ops = {"Conv"}})->quantized.at("Conv"), 1);
  EXPECT_EQ(
      quantize(weights.model, {.precision = Precision::kInt8Weights, .ops = {"Conv"}})->count(), 1);
  EXPECT_EQ(operators(integer.model)["ConvInteger"], 1);
  EXPECT_EQ(operators(weights.model)["Conv"], 1);
  EXPECT_EQ(values_of<std::uint8_t>(integer.model, "w_zero_point"), std::vector<std::uint8_t>{128});
  const Dims dims{1, 3, 9, 11};
  expect_near(run(integer.model, dims, x), run(weights.model, dims, x), 1e-5);
}

TEST(Conv, GroupsAndComputedWeightsAreLeftAlone) {
  ModelBuilder made;
  made.input("x", {1, 4, 5, 5});
  made.weight("w", {4, 2, 3, 3}, noise(72, 1));
  ModelBuilder::set(made.node("Conv", {"x", "w"}, "y", "grouped"), "group", std::int64_t{2});
  made.node("Conv", {"x", "x"}, "z", "computed");
  made.output("y", {1, 4, 3, 3});
  const Report report = quantize(made.model, {.ops = {"Conv"}}).value();
  ASSERT_EQ(report.skipped.size(), 2U);
  EXPECT_THAT(report.skipped[0].reason, HasSubstr("2 groups"));
  EXPECT_THAT(report.skipped[1].reason, HasSubstr("an input of the graph"));
}

TEST(Conv, PatchEmbeddingOnlyWhenAsked) {
  const auto build = [](std::int64_t stride) {
    ModelBuilder made;
    made.input("x", {1, 3, 8, 8});
    made.weight("w", {6, 3, 4, 4}, noise(288, 1));
    made.node("Identity", {"x"}, "same", "same");
    auto& node = made.node("Conv", {"same", "w"}, "y", "patches");
    ModelBuilder::set(node, "kernel_shape", Dims{4, 4});
    ModelBuilder::set(node, "strides", Dims{stride, stride});
    made.output("y", {});
    return made;
  };
  ModelBuilder patches = build(4);
  EXPECT_THAT(only_reason(quantize(patches.model, {.ops = {"Conv"}}).value()),
              HasSubstr("patches"));
  EXPECT_EQ(quantize(patches.model, {.ops = {"Conv"}, .patch_embedding = true})->count(), 1);
  ModelBuilder overlapping = build(2);
  EXPECT_EQ(quantize(overlapping.model, {.ops = {"Conv"}})->count(), 1);
}

TEST(ConvTranspose, WeightsBehindDequantizeLinear) {
  ModelBuilder made;
  made.input("x", {1, 4, 3, 3});
  made.weight("w", {4, 2, 2, 2}, noise(32, 21));
  made.weight("b", {2}, noise(2, 22));
  ModelBuilder::set(made.node("ConvTranspose", {"x", "w", "b"}, "y", "up"), "strides", Dims{2, 2});
  made.output("y", {1, 2, 6, 6});
  const auto x = noise(36, 23);
  const auto expected = run(made.model, {1, 4, 3, 3}, x);
  ASSERT_EQ(quantize(made.model, {.ops = {"ConvTranspose"}})->count(), 1);
  EXPECT_EQ(values_of<float>(made.model, "w_scale").size(), 2U);
  expect_near(run(made.model, {1, 4, 3, 3}, x), expected, 0.01);
}

TEST(Opset, TooOldForTheOperators) {
  ModelBuilder old(9);
  old.input("x", {1, 2});
  old.weight("w", {2, 2}, noise(4, 1));
  old.node("MatMul", {"x", "w"}, "y", "product");
  old.output("y", {1, 2});
  const auto refused = quantize(old.model, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("opset 9"));
  EXPECT_EQ(old.model.proto.graph().node_size(), 1);
  const auto skipped = quantize(old.model, {.precision = Precision::kInt8Weights});
  EXPECT_THAT(only_reason(skipped.value()), HasSubstr("opset 9"));
}

TEST(QuantizedAlready, IsRefused) {
  ModelBuilder made = product(2, {4, 4}, noise(16, 1));
  ASSERT_TRUE(quantize(made.model, {}).ok());
  const std::string before = made.model.proto.SerializeAsString();
  const auto again = quantize(made.model, {});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("quantized already"));
  EXPECT_EQ(made.model.proto.SerializeAsString(), before);
}

TEST(Names, ThatAreTakenAreLeftAlone) {
  ModelBuilder made = product(2, {4, 4}, noise(16, 1));
  made.weight("w_quantized", {1}, {3});
  made.node("Add", {"y", "w_quantized"}, "x_quantized", "x_QuantizeLinear");
  made.output("x_quantized", {2, 4});
  ASSERT_TRUE(quantize(made.model, {}).ok());
  EXPECT_EQ(values_of<float>(made.model, "w_quantized"), std::vector<float>{3});
  EXPECT_TRUE(graph::check_order(made.model.proto.graph(), made.model).ok());
  EXPECT_EQ(run(made.model, {2, 4}, noise(8, 1)).size(), 8U);
  std::set<std::string> names;
  for (const auto& node : made.model.proto.graph().node())
    EXPECT_TRUE(names.insert(node.name()).second);
}

constexpr Precision kAll[] = {Precision::kInt8, Precision::kInt8Weights, Precision::kInt8Blocks,
                              Precision::kInt4Blocks, Precision::kFloat16};

TEST(Hostile, NodesInACircleAreRefused) {
  for (const Precision precision : kAll) {
    ModelBuilder made = product(2, {4, 4}, noise(16, 1));
    made.node("Identity", {"b"}, "a", "one");
    made.node("Identity", {"a"}, "b", "two");
    made.node("MatMul", {"x", "b"}, "z", "circle");
    const auto refused = quantize(made.model, {.precision = precision});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kBadData);
  }
}

TEST(Hostile, NodesWithoutInputsOrOutputsAreKept) {
  for (const Precision precision : kAll) {
    ModelBuilder made = product(2, {4, 4}, noise(16, 1));
    for (const std::string op : {"MatMul", "Gemm", "Conv", "Gather", "Identity", "Transpose",
                                 "Cast", "Sigmoid", "Add", "Constant", "Log", "If", "Softmax"}) {
      made.node(op, {}, "no_input_" + op, op);
      made.node("Sigmoid", {"no_input_" + op}, "s_" + op, "");
      made.node(op, {"x"}, "one_input_" + op, "").clear_output();
    }
    const int before = made.model.proto.graph().node_size();
    const auto report = quantize(made.model, {.precision = precision});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_GE(made.model.proto.graph().node_size(), before);
  }
}

TEST(Streaming, EveryWeightIsReadOncePerWrite) {
  ModelBuilder made;
  made.input("x", {2, 32});
  std::map<std::string, int> reads;
  std::string value = "x";
  for (const std::string name : {"a", "b", "c"}) {
    made.weight(name, {32, 32}, noise(1024, 1));
    auto& read = made.model.weights[name].read;
    read = [inner = read, name, &reads](std::span<std::byte> into) {
      ++reads[name];
      return inner(into);
    };
    made.node("MatMul", {value, name}, value + name, name);
    value += name;
  }
  made.output(value, {2, 32});
  ASSERT_TRUE(quantize(made.model, {}).ok());
  EXPECT_TRUE(reads.empty());
  const test::TemporaryFolder folder;
  ASSERT_TRUE(made.model.write(folder / "model.onnx").ok());
  EXPECT_EQ(reads, (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
}

TEST(Streaming, AWeightThatIsNotFiniteFailsTheWrite) {
  ModelBuilder made = product(2, {2, 2}, {1, 2, INFINITY, 4});
  ASSERT_TRUE(quantize(made.model, {}).ok());
  const test::TemporaryFolder folder;
  const auto written = made.model.write(folder / "model.onnx");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("'w'"));
  EXPECT_FALSE(std::filesystem::exists(folder / "model.onnx"));
}

}  // namespace
}  // namespace sam3::quantize
