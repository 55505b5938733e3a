#include "graph/editable_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sam3::graph {
namespace {

using testing::HasSubstr;

struct MadeNode {
  std::vector<std::string> inputs;
  std::string output;
};

// What check_order says about a graph with input x, weight w, output y and these nodes.
std::string problem(const std::vector<MadeNode>& nodes) {
  EditableModel model;
  model.weights.emplace("w", make_weight(ElementType::kFloat, {1}, std::vector<float>{1}));
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  graph.add_input()->set_name("x");
  graph.add_output()->set_name("y");
  for (const MadeNode& made : nodes) {
    onnx::NodeProto& node = *graph.add_node();
    for (const std::string& input : made.inputs) node.add_input(input);
    node.add_output(made.output);
  }
  const Status status = check_order(graph, model);
  return status.ok() ? "" : status.error().message;
}

TEST(CheckOrder, TakesWhatIsMadeOnce) {
  EXPECT_EQ(problem({{{"x", "w", ""}, "a"}, {{"a", "a"}, ""}, {{"a"}, "y"}}), "");
  EXPECT_EQ(problem({{{"x"}, ""}, {{"x"}, ""}, {{"x"}, "y"}}), "");
}

TEST(CheckOrder, RefusesCircles) {
  EXPECT_THAT(problem({{{"x", "b"}, "a"}, {{"a"}, "b"}, {{"b"}, "y"}}), HasSubstr("needs 'b'"));
  EXPECT_THAT(problem({{{"y"}, "y"}}), HasSubstr("needs 'y'"));
  EXPECT_THAT(problem({{{"x"}, "a"}}), HasSubstr("nothing makes the output 'y'"));
}

// An Identity from a value to itself is a circle, too, for who looks for the origin of a value.
TEST(CheckOrder, RefusesWhatIsMadeTwice) {
  EXPECT_THAT(problem({{{"x"}, "x"}, {{"x"}, "y"}}),
              HasSubstr("makes 'x', which is there already"));
  EXPECT_THAT(problem({{{"w"}, "w"}, {{"w"}, "y"}}),
              HasSubstr("makes 'w', which is there already"));
  EXPECT_THAT(problem({{{"x"}, "y"}, {{"x"}, "y"}}),
              HasSubstr("makes 'y', which is there already"));
}

TEST(CheckOrder, RefusesWhatIsDeclaredTwice) {
  EditableModel model;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  graph.add_input()->set_name("x");
  graph.add_output()->set_name("x");
  EXPECT_TRUE(check_order(graph, model).ok());
  graph.add_output()->set_name("x");
  EXPECT_THAT(check_order(graph, model).error().message, HasSubstr("output 'x' is declared twice"));
  graph.mutable_output()->RemoveLast();
  graph.add_input()->set_name("x");
  EXPECT_THAT(check_order(graph, model).error().message, HasSubstr("input 'x' is declared twice"));
}

}  // namespace
}  // namespace sam3::graph
