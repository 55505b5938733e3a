// How far the quantized graphs are from the float graphs, beside ONNX Runtime's quantize_dynamic.
#include <gtest/gtest.h>

#include "quantize/quantize.h"
#include "stages.h"

namespace sam3::quantize {
namespace {

using test::data;

std::string title(const Stage& stage) { return stage.graph; }

std::vector<std::vector<float>> run_quantized(const Stage& stage, const std::string& exporter,
                                              const Options& options) {
  const test::TemporaryFolder folder;
  auto model =
      graph::EditableModel::read(data("tiny/" + exporter + "/" + stage.graph + "/model.onnx"))
          .value();
  quantize(model, options).value();
  model.write(folder / "model.onnx").value();
  return run_stage(folder / "model.onnx", stage);
}

class Errors : public testing::TestWithParam<Stage> {};
INSTANTIATE_TEST_SUITE_P(Graphs, Errors, testing::ValuesIn(stages()),
                         [](const auto& parameter) { return title(parameter.param); });

TEST_P(Errors, MatMulIsAsCloseAsOnnxRuntimes) {
  const Stage& stage = GetParam();
  const auto exact = run_stage(data("tiny/dynamo/" + stage.graph + "/model.onnx"), stage);
  const auto theirs = run_stage(data("tiny/int8/" + stage.graph + "/model.onnx"), stage);
  const auto ours = run_quantized(stage, "dynamo", {});
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = relative_error(ours[i], exact[i]);
    EXPECT_LE(error, relative_error(theirs[i], exact[i]) * 1.0001) << stage.outputs[i];
    EXPECT_GT(error, 0) << stage.outputs[i];
  }
}

// Weights alone lose less than weights and activations; 4 bits lose more than 8.
TEST_P(Errors, FormsStandInTheExpectedOrder) {
  const Stage& stage = GetParam();
  const auto exact = run_stage(data("tiny/dynamo/" + stage.graph + "/model.onnx"), stage);
  const auto error = [&](Precision precision) {
    const auto values = run_quantized(stage, "dynamo", {.precision = precision});
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) sum += relative_error(values[i], exact[i]);
    return sum;
  };
  const double int8 = error(Precision::kInt8);
  EXPECT_LT(error(Precision::kInt8Weights), int8);
  const double blocks = error(Precision::kInt8Blocks);
  EXPECT_LT(blocks, int8);
  EXPECT_GT(error(Precision::kInt4Blocks), blocks);
}

TEST(NeckConvolutions, OneScaleAChannelBeatsOneATensor) {
  const Stage& stage = stages()[0];
  const auto exact = run_stage(data("tiny/dynamo/vision_encoder/model.onnx"), stage);
  const auto theirs = run_stage(data("tiny/int8/vision_encoder_conv/model.onnx"), stage);
  const auto ours =
      run_quantized(stage, "dynamo", {.ops = default_ops(Precision::kInt8, "vision_encoder")});
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_LT(relative_error(ours[i], exact[i]), relative_error(theirs[i], exact[i]))
        << stage.outputs[i];
}

// TorchScript's graphs have constants behind Identity, weights in Gemm, and If nodes. The nodes
// differ, so the roundings do: the errors need only be of the same size.
TEST_P(Errors, TheOtherExportersGraphsAreAboutAsClose) {
  const Stage& stage = GetParam();
  const auto exact = run_stage(data("tiny/torchscript/" + stage.graph + "/model.onnx"), stage);
  const auto theirs = run_stage(data("tiny/int8/" + stage.graph + "/model.onnx"), stage);
  const auto ours = run_quantized(stage, "torchscript", {});
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_LT(relative_error(ours[i], exact[i]), relative_error(theirs[i], exact[i]) * 3)
        << stage.outputs[i];
}

}  // namespace
}  // namespace sam3::quantize
