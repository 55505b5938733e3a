// Gates on the demo and the tiny model: what is the same passes, what is broken does not.
#include "quantize/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/editable_model.h"
#include "quantize/sensitivity.h"
#include "sam3/sam3.h"
#include "support/files.h"

namespace sam3::quantize {
namespace {

namespace fs = std::filesystem;
using test::data;
using test::TemporaryFolder;
using testing::HasSubstr;

fs::path demo() { return fs::path(SAM3_SOURCE_DIR) / "models/demo"; }

// The first held-out scenes with their phrases.
std::vector<GateCase> scenes(std::size_t count) {
  const auto truth = nlohmann::json::parse(test::read_file(data("scenes/truth.json")));
  std::vector<GateCase> cases;
  for (const auto& picture : truth["pictures"]) {
    if (cases.size() == count) break;
    const std::string file = picture["file"];
    GateCase one{file, read_picture(data("scenes/" + file)).value().picture, {}};
    for (const auto& prompt : picture["prompts"]) one.prompts.push_back(prompt["text"]);
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<GateCase> tiny_case() {
  return {{"picture",
           read_picture(data("tiny/io/picture.png")).value().picture,
           {"dog", "plastic bottle"}}};
}

TEST(Gates, TheInnerPointIsFarFromEveryEdge) {
  Mask mask({20, 12});
  EXPECT_FALSE(inner_point(mask));
  for (int y = 2; y < 9; ++y)
    for (int x = 3; x < 16; ++x) mask.set(x, y);
  const auto point = inner_point(mask);
  ASSERT_TRUE(point);
  EXPECT_DOUBLE_EQ(point->y, 5.5);
  EXPECT_GE(point->x, 6.5);
  EXPECT_LE(point->x, 12.5);
  // The picture's edge is an edge of the mask too.
  Mask full({9, 9});
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x) full.set(x, y);
  EXPECT_DOUBLE_EQ(inner_point(full)->x, 4.5);
  EXPECT_DOUBLE_EQ(inner_point(full)->y, 4.5);
}

TEST(Gates, APackageAgreesWithItself) {
  const TemporaryFolder scratch;
  const auto results = run_gates(demo(), demo(), scenes(1), {}, scratch.path());
  ASSERT_TRUE(results.ok()) << results.error().to_string();
  std::vector<std::string> graphs;
  for (const GateResult& gate : *results) {
    graphs.push_back(gate.graph);
    EXPECT_DOUBLE_EQ(gate.value, 1);
    EXPECT_TRUE(gate.passed());
    EXPECT_THAT(gate.worst, testing::IsEmpty());
    EXPECT_GT(gate.prompts, 0);
  }
  EXPECT_THAT(graphs,
              testing::ElementsAre("vision_encoder", "text_encoder", "detector", "text graphs",
                                   "tracker_vision_encoder", "prompt_decoder", "point graphs"));
}

// The graph with one scale for all channels of a weight, times four.
void break_scales(const fs::path& from, const fs::path& to) {
  graph::EditableModel model = graph::EditableModel::read(from).value();
  int changed = 0;
  for (auto& [name, scale] : model.weights) {
    if (!name.ends_with(".weight_scale")) continue;
    auto values = graph::read_values<float>(scale).value();
    const float largest = *std::max_element(values.begin(), values.end());
    std::fill(values.begin(), values.end(), 4 * largest);
    scale = graph::make_weight(scale.type, scale.dims, values);
    ++changed;
  }
  ASSERT_GT(changed, 10);
  fs::create_directories(to.parent_path());
  model.write(to).value();
}

TEST(Gates, ABrokenQuantizationFails) {
  const TemporaryFolder broken;
  const TemporaryFolder scratch;
  break_scales(demo() / "vision_encoder/model.onnx", broken / "vision_encoder/model.onnx");
  break_scales(demo() / "tracker_vision_encoder/model.onnx",
               broken / "tracker_vision_encoder/model.onnx");
  const auto results = run_gates(broken.path(), demo(), scenes(2), {}, scratch.path());
  ASSERT_TRUE(results.ok()) << results.error().to_string();
  ASSERT_EQ(results->size(), 2U);
  for (const GateResult& gate : *results) {
    EXPECT_FALSE(gate.passed()) << gate.graph << " " << gate.value;
    ASSERT_FALSE(gate.worst.empty());
    EXPECT_LE(gate.worst.front().score, gate.worst.back().score);
    EXPECT_FALSE(gate.worst.front().question.empty());
  }
}

TEST(Gates, WrongQuestionsAreNamed) {
  const TemporaryFolder scratch;
  EXPECT_THAT(run_gates(demo(), demo(), {}, {}, scratch.path()).error().message,
              HasSubstr("no picture"));
  GateOptions options;
  options.graphs = {"decoder"};
  EXPECT_THAT(run_gates(demo(), demo(), scenes(1), options, scratch.path()).error().message,
              HasSubstr("'decoder' is not in both"));
}

TEST(Sensitivity, LayerErrorsOfTheReferenceQuantizer) {
  const TemporaryFolder scratch;
  const auto errors = layer_errors({data("tiny/int8"), data("tiny/dynamo")}, "vision_encoder",
                                   tiny_case(), {}, scratch.path());
  ASSERT_TRUE(errors.ok()) << errors.error().to_string();
  ASSERT_GT(errors->size(), 20U);
  for (const NodeError& one : *errors) {
    EXPECT_GE(one.error, 0) << one.node;
    EXPECT_LT(one.error, 0.5) << one.node;
  }
  EXPECT_GT(errors->back().error, 0);
}

TEST(Sensitivity, LayersOfTheSameGraphHaveNoError) {
  const TemporaryFolder scratch;
  const auto errors = layer_errors({data("tiny/dynamo"), data("tiny/dynamo")}, "prompt_decoder",
                                   tiny_case(), {}, scratch.path());
  ASSERT_TRUE(errors.ok()) << errors.error().to_string();
  ASSERT_FALSE(errors->empty());
  for (const NodeError& one : *errors) EXPECT_EQ(one.error, 0) << one.node;
}

TEST(Sensitivity, ASearchEndsWithAGateThatPasses) {
  const TemporaryFolder scratch;
  SearchOptions options;
  options.gates.limit = 0.001;
  const auto found =
      search_exclusions(data("tiny/dynamo"), "text_encoder", tiny_case(), options, scratch.path());
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_TRUE(found->passed);
  EXPECT_GE(found->value, 0.999);
  EXPECT_LE(found->exclude.size(), found->nodes.size());
  for (std::size_t i = 1; i < found->nodes.size(); ++i)
    EXPECT_GE(found->nodes[i - 1].error, found->nodes[i].error);
  for (std::size_t i = 0; i < found->exclude.size(); ++i)
    EXPECT_EQ(found->exclude[i], found->nodes[i].node);
}

}  // namespace
}  // namespace sam3::quantize
