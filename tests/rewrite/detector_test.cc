// The detector in stages gives what the whole one gives, from every exporter.
#include "rewrite/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <span>

#include "engine.h"

namespace sam3::rewrite {
namespace {

using runtime::Tensor;

const DetectorCut& contract() {
  static const auto* const cut =
      new DetectorCut{.picture_inputs = {"fpn_0", "fpn_1", "fpn_2"},
                      .phrase_inputs = {"text_features", "attention_mask"},
                      .object_outputs = {"pred_boxes", "pred_logits", "presence_logits"},
                      .mask_output = "pred_masks_bits"};
  return *cut;
}

// The engine joins other nodes in a whole graph than in its parts, and rounds there differently.
struct Case {
  GraphCase graph;
  float rounding;
  double flipped_bits;  // of all

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.graph; }
};

class DetectorStagesTest : public testing::TestWithParam<Case> {
 protected:
  // Made-up inputs of the declared sizes, with half of the prompt as padding.
  static Values inputs(const graph::EditableModel& detector) {
    Values values;
    std::uint32_t seed = 0;
    for (const auto& input : detector.proto.graph().input()) {
      std::vector<std::int64_t> dims;
      for (const auto& dim : input.type().tensor_type().shape().dim())
        dims.push_back(dim.dim_value() > 0 ? dim.dim_value() : 32);
      if (input.name() == "attention_mask") {
        std::vector<std::int64_t> mask(static_cast<std::size_t>(dims[1]), 0);
        std::fill_n(mask.begin(), mask.size() / 2, 1);
        values[input.name()] = Tensor(dims, std::move(mask));
      } else {
        values[input.name()] = made_up(dims, ++seed);
      }
    }
    return values;
  }
  Values run(const graph::EditableModel& model, const Values& values) const {
    return rewrite::run(model, GetParam().graph.folder(), values);
  }
  static void expect_near(const Tensor& tensor, const Tensor& expected, const std::string& name) {
    ASSERT_EQ(tensor.dims(), expected.dims()) << name;
    for (std::size_t i = 0; i < expected.element_count(); ++i)
      ASSERT_NEAR(tensor.floats()[i], expected.floats()[i], GetParam().rounding)
          << name << " " << i;
  }
  static void expect_same_bits(std::span<const std::uint8_t> bits,
                               std::span<const std::uint8_t> expected) {
    ASSERT_EQ(bits.size(), expected.size());
    int flipped = 0;
    for (std::size_t i = 0; i < bits.size(); ++i)
      flipped += std::popcount(static_cast<unsigned>(bits[i] ^ expected[i]));
    EXPECT_LE(flipped, GetParam().flipped_bits * 8 * static_cast<double>(bits.size()));
  }
};

int products(const graph::EditableModel& model) {
  const auto& nodes = model.proto.graph().node();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [](const auto& node) {
    const std::string& op = node.op_type();
    return op.starts_with("MatMul") || op.starts_with("Conv") || op == "Gemm" || op == "Einsum";
  }));
}

TEST_P(DetectorStagesTest, GiveTheSameAnswers) {
  const graph::EditableModel detector = GetParam().graph.read();
  const DetectorStages stages = cut_detector(detector, contract(), true).value();
  ASSERT_TRUE(stages.only_kept);
  Values values = inputs(detector);
  Values expected = run(detector, values);
  for (const graph::EditableModel* stage : {&stages.picture, &stages.phrase, &stages.objects})
    values.merge(run(*stage, values));
  for (const char* name : {"pred_boxes", "pred_logits", "presence_logits"})
    expect_near(values.at(name), expected.at(name), name);

  const Tensor& all = expected["pred_masks_bits"];
  const auto plane = static_cast<std::size_t>(all.dim(2) * all.dim(3));
  const std::vector<std::int64_t> kept{all.dim(1) - 1, 0, 3};
  values[kKeptQueries] = Tensor({3}, std::vector<std::int64_t>(kept));
  const Values masks = run(stages.masks, values);
  const Tensor& bits = masks.at("pred_masks_bits");
  ASSERT_EQ(bits.dims(), (std::vector<std::int64_t>{1, 3, all.dim(2), all.dim(3)}));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto theirs = all.bytes().subspan(static_cast<std::size_t>(kept[i]) * plane, plane);
    expect_same_bits(bits.bytes().subspan(i * plane, plane), theirs);
  }
}

TEST_P(DetectorStagesTest, WorkIsDividedAndNotRepeated) {
  const graph::EditableModel detector = GetParam().graph.read();
  const DetectorStages stages = cut_detector(detector, contract(), true).value();
  const int in_stages = products(stages.picture) + products(stages.phrase) +
                        products(stages.objects) + products(stages.masks);
  EXPECT_LE(in_stages, products(detector));
  EXPECT_GT(products(stages.picture), 0);
  EXPECT_GT(products(stages.phrase), 0);
  // Boxes need neither the finer maps nor any convolution.
  for (const auto& input : stages.objects.proto.graph().input())
    EXPECT_THAT(input.name(), testing::Not(testing::AnyOf("fpn_0", "fpn_1")));
  for (const auto& node : stages.objects.proto.graph().node()) EXPECT_NE(node.op_type(), "Conv");
}

TEST_P(DetectorStagesTest, AllMasksWhereThatIsWanted) {
  const graph::EditableModel detector = GetParam().graph.read();
  const DetectorStages stages = cut_detector(detector, contract(), false).value();
  EXPECT_FALSE(stages.only_kept);
  Values values = inputs(detector);
  const Values expected = run(detector, values);
  for (const graph::EditableModel* stage :
       {&stages.picture, &stages.phrase, &stages.objects, &stages.masks})
    values.merge(run(*stage, values));
  expect_same_bits(values.at("pred_masks_bits").bytes(), expected.at("pred_masks_bits").bytes());
}

INSTANTIATE_TEST_SUITE_P(
    Exporters, DetectorStagesTest,
    testing::Values(
        Case{{"Dynamo", "tests/data/tiny/dynamo/detector/model.onnx"}, 1e-4F, 1e-4},
        Case{{"TorchScript", "tests/data/tiny/torchscript/detector/model.onnx"}, 1e-4F, 1e-4},
        // A float that is rounded otherwise can tip an int8 step.
        Case{{"Int8", "tests/data/tiny/int8/detector/model.onnx"}, 0.03F, 5e-3},
        Case{{"Converter", "models/demo/detector/model.onnx"}, 0.03F, 5e-3}),
    [](const auto& given) { return std::string(given.param.graph.name); });

}  // namespace
}  // namespace sam3::rewrite
