// Attention as one operator gives what the single nodes give, in graphs of every exporter.
#include "rewrite/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine.h"

namespace sam3::rewrite {
namespace {

using runtime::Tensor;

struct Case {
  GraphCase graph;
  double tolerance;  // of the largest value: int8 graphs round what differs by float rounding

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.graph; }
};

class FusedAttention : public testing::TestWithParam<Case> {};

std::int64_t size_of(const std::string& input, const onnx::TensorShapeProto::Dimension& dim) {
  if (dim.dim_value() > 0) return dim.dim_value();
  return input == "input_points" || input == "input_labels" ? 2 : 1;
}

// Made-up values for whatever a graph takes.
Values inputs_of(const graph::EditableModel& model) {
  Values values;
  std::uint32_t seed = 0;
  for (const auto& input : model.proto.graph().input()) {
    std::vector<std::int64_t> dims;
    std::size_t count = 1;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      dims.push_back(size_of(input.name(), dim));
      count *= static_cast<std::size_t>(dims.back());
    }
    const Tensor random = made_up(dims, ++seed);
    switch (input.type().tensor_type().elem_type()) {
      case onnx::TensorProto::INT64: {
        std::vector<std::int64_t> whole(count, input.name() == "original_height" ? 40 : 1);
        if (input.name() == "input_ids" || input.name() == "tokens")
          for (std::size_t i = 0; i < count; ++i)
            whole[i] = static_cast<std::int64_t>(i * 37 % 900);
        if (input.name() == "original_width") whole.assign(count, 50);
        if (input.name() == "attention_mask")
          std::fill(whole.begin() + static_cast<std::ptrdiff_t>(count / 2), whole.end(), 0);
        values[input.name()] = Tensor(dims, std::move(whole));
        break;
      }
      case onnx::TensorProto::BOOL: {
        std::vector<std::uint8_t> flags(count, 0);
        std::fill(flags.begin() + static_cast<std::ptrdiff_t>(count / 2), flags.end(), 1);
        values[input.name()] = Tensor::booleans(dims, std::move(flags));
        break;
      }
      case onnx::TensorProto::UINT8: {
        std::vector<std::uint8_t> bytes(count);
        for (std::size_t i = 0; i < count; ++i)
          bytes[i] = static_cast<std::uint8_t>(random.floats()[i] * 100 + 120);
        values[input.name()] = Tensor(dims, std::move(bytes));
        break;
      }
      default:
        values[input.name()] = random;
    }
  }
  return values;
}

int count_of(const graph::EditableModel& model, const std::string& op) {
  const auto& nodes = model.proto.graph().node();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                        [&](const auto& node) { return node.op_type() == op; }));
}

TEST_P(FusedAttention, IsFoundAndGivesTheSame) {
  const GraphCase& file = GetParam().graph;
  const graph::EditableModel before = file.read();
  graph::EditableModel after = before;
  const int softmaxes = count_of(before, "Softmax");
  EXPECT_GT(softmaxes, 0);
  EXPECT_EQ(fuse_attention(after), softmaxes);
  EXPECT_EQ(count_of(after, "Softmax"), 0);
  EXPECT_EQ(count_of(after, "Attention"), softmaxes);
  EXPECT_LT(after.proto.graph().node_size(), before.proto.graph().node_size());
  EXPECT_LE(count_of(after, "Transpose"), count_of(before, "Transpose"));

  const Values inputs = inputs_of(before);
  const Values expected = run(before, file.folder(), inputs);
  const Values found = run(after, file.folder(), inputs);
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(found.at(name).dims(), tensor.dims()) << name;
    if (tensor.type() != runtime::TensorType::kFloat) continue;
    double scale = 1e-6;
    double worst = 0;
    for (std::size_t i = 0; i < tensor.element_count(); ++i) {
      const auto value = static_cast<double>(tensor.floats()[i]);
      scale = std::max(scale, std::abs(value));
      const double difference = std::abs(value - static_cast<double>(found.at(name).floats()[i]));
      ASSERT_FALSE(std::isnan(difference)) << name << " " << i;
      worst = std::max(worst, difference);
    }
    EXPECT_LE(worst, GetParam().tolerance * scale) << name;
  }
}

#define TINY "tests/data/tiny/"
INSTANTIATE_TEST_SUITE_P(
    Graphs, FusedAttention,
    testing::Values(Case{{"DynamoVision", TINY "dynamo/vision_encoder/model.onnx"}, 1e-4},
                    Case{{"DynamoText", TINY "dynamo/text_encoder/model.onnx"}, 1e-4},
                    Case{{"DynamoDetector", TINY "dynamo/detector/model.onnx"}, 1e-4},
                    Case{{"DynamoTracker", TINY "dynamo/tracker_vision_encoder/model.onnx"}, 1e-4},
                    Case{{"DynamoPoints", TINY "dynamo/prompt_decoder/model.onnx"}, 1e-4},
                    Case{{"TorchScriptVision", TINY "torchscript/vision_encoder/model.onnx"}, 1e-4},
                    Case{{"TorchScriptText", TINY "torchscript/text_encoder/model.onnx"}, 1e-4},
                    Case{{"TorchScriptDetector", TINY "torchscript/detector/model.onnx"}, 1e-4},
                    Case{"TorchScriptTracker", TINY "torchscript/tracker_vision_encoder/model.onnx",
                         1e-4},
                    Case{{"TorchScriptPoints", TINY "torchscript/prompt_decoder/model.onnx"}, 1e-4},
                    Case{{"Int8Vision", TINY "int8/vision_encoder/model.onnx"}, 0.03},
                    Case{{"Int8Detector", TINY "int8/detector/model.onnx"}, 0.03},
                    Case{{"ConvertedVision", "models/demo/vision_encoder/model.onnx"}, 0.05},
                    Case{{"ConvertedText", "models/demo/text_encoder/model.onnx"}, 0.03},
                    Case{{"ConvertedDetector", "models/demo/detector/model.onnx"}, 0.03},
                    Case{{"ConvertedPoints", "models/demo/prompt_decoder/model.onnx"}, 0.03},
                    Case{{"BrowserImage", TINY "browser/sam3_image_encoder.onnx"}, 1e-4},
                    Case{{"BrowserLanguage", TINY "browser/sam3_language_encoder.onnx"}, 1e-4}),
    [](const auto& given) { return std::string(given.param.graph.name); });

}  // namespace
}  // namespace sam3::rewrite
