#include "quantize/float16.h"

#include <gtest/gtest.h>

#include "quantize/quantize.h"
#include "stages.h"

namespace sam3::quantize {
namespace {

using test::data;

class Float16Stages : public testing::TestWithParam<std::tuple<Stage, const char*>> {
 protected:
  std::filesystem::path source() const {
    const auto& [stage, exporter] = GetParam();
    return data(std::string("tiny/") + exporter + "/" + stage.graph + "/model.onnx");
  }
};
INSTANTIATE_TEST_SUITE_P(Graphs, Float16Stages,
                         testing::Combine(testing::ValuesIn(stages()),
                                          testing::Values("dynamo", "torchscript")),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).graph + "_" +
                                  std::get<1>(parameter.param);
                         });

bool has_half(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with("_float16"); });
}

TEST_P(Float16Stages, StaysCloseAndKeepsItsTypes) {
  const Stage& stage = std::get<0>(GetParam());
  const auto exact = run_stage(source(), stage);
  auto model = graph::EditableModel::read(source()).value();
  const Report report = quantize(model, {.precision = Precision::kFloat16}).value();
  EXPECT_GT(report.quantized.at("MatMul"), 10);
  std::uint64_t halves = 0;
  std::uint64_t floats = 0;
  for (const auto& [name, weight] : model.weights)
    (weight.type == graph::ElementType::kFloat16 ? halves : floats) += weight.bytes();
  EXPECT_GT(halves, 0U);
  for (const auto& node : model.proto.graph().node())
    for (const char* kept : {"LayerNormalization", "Softmax", "Sigmoid", "Log", "Sin", "Cos",
                             "InstanceNormalization", "ReduceSum", "Clip"}) {
      if (node.op_type() == kept) {
        EXPECT_FALSE(has_half(node.input())) << node.name();
      }
    }
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "model.onnx";
  model.write(file).value();
  const auto source_file = graph::ModelFile::read(source()).value();
  const auto made = graph::ModelFile::read(file).value();
  for (std::size_t i = 0; i < source_file.inputs().size(); ++i)
    EXPECT_EQ(made.inputs()[i].describe(), source_file.inputs()[i].describe());
  for (std::size_t i = 0; i < source_file.outputs().size(); ++i)
    EXPECT_EQ(made.outputs()[i].describe(), source_file.outputs()[i].describe());
  const auto values = run_stage(file, stage);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    // Rounding to float16 is wrong by 2^-12 of a value on average; layers add that up. The heads of
    // these two outputs multiply small differences of large numbers.
    const bool amplified =
        stage.outputs[i] == "presence_logits" || stage.outputs[i] == "object_score_logits";
    EXPECT_LT(relative_error(values[i], exact[i]), amplified ? 2e-2 : 1e-2) << stage.outputs[i];
    EXPECT_GT(relative_error(values[i], exact[i]), 0) << stage.outputs[i];
  }
}

TEST(Float16, BoxHeadsStayFloat) {
  for (const char* exporter : {"dynamo", "torchscript"}) {
    auto model =
        graph::EditableModel::read(data(std::string("tiny/") + exporter + "/detector/model.onnx"))
            .value();
    const Report report = quantize(model, {.precision = Precision::kFloat16}).value();
    // Three decoder layers, each with a head of three matrices.
    const auto heads =
        std::count_if(report.skipped.begin(), report.skipped.end(),
                      [](const auto& node) { return node.reason == "it refines boxes"; });
    EXPECT_GE(heads, 3 * 3) << exporter;
    EXPECT_LE(heads, 4 * 3) << exporter;
  }
}

TEST(Float16, ValuesThatSubgraphsReadStayFloat) {
  ModelBuilder made;
  made.input("x", {2, 4});
  made.weight("w", {4, 4}, noise(16, 1));
  made.node("MatMul", {"x", "w"}, "h", "product");
  auto& attribute = *made.node("If", {"x"}, "r", "branch").add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  auto& inner = *attribute.mutable_g()->add_node();
  inner.set_op_type("Relu");
  inner.add_input("h");
  inner.add_output("inner");
  made.node("MatMul", {"h", "w"}, "y", "second");
  made.output("y", {2, 4});
  ASSERT_TRUE(quantize(made.model, {.precision = Precision::kFloat16}).ok());
  bool found = false;
  for (const auto& node : made.model.proto.graph().node())
    found = found || (node.op_type() == "Cast" && node.output(0) == "h");
  EXPECT_TRUE(found);
}

TEST(Float16, PatternsChoose) {
  ModelBuilder made;
  made.input("x", {2, 4});
  made.weight("w", {4, 4}, noise(16, 1));
  made.node("MatMul", {"x", "w"}, "h", "first");
  made.node("MatMul", {"h", "w"}, "y", "second");
  made.output("y", {2, 4});
  const Report report =
      quantize(made.model, {.precision = Precision::kFloat16, .exclude = {"sec*"}}).value();
  EXPECT_EQ(report.count(), 1);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].node, "second");
  EXPECT_TRUE(made.model.weights.contains("w"));  // the second node's
  EXPECT_EQ(run(made.model, {2, 4}, noise(8, 2)).size(), 8U);
}

}  // namespace
}  // namespace sam3::quantize
