#include "rewrite/subgraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sam3::rewrite {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

void add_node(graph::EditableModel& model, const char* op, std::vector<std::string> inputs,
              const char* output) {
  auto& node = *model.proto.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name(std::string("make_") + output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

void declare(onnx::ValueInfoProto& value, const char* name) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
}

//  a ── Relu ── p ── Transpose ── t ──┐
//  b ── Relu ── q ────────────────────┴─ Add ── s ── Neg ── out
//  w ── Sqrt ── c ───────────────────────────────── (Mul) ── other
graph::EditableModel example() {
  graph::EditableModel model;
  auto& graph = *model.proto.mutable_graph();
  for (const char* name : {"a", "b"}) declare(*graph.add_input(), name);
  for (const char* name : {"out", "other"}) declare(*graph.add_output(), name);
  model.weights.emplace(
      "w", graph::make_weight<float>(graph::ElementType::kFloat, {2, 2}, {1, 2, 3, 4}));
  add_node(model, "Relu", {"a"}, "p");
  add_node(model, "Transpose", {"p"}, "t");
  add_node(model, "Relu", {"b"}, "q");
  add_node(model, "Add", {"t", "q"}, "s");
  add_node(model, "Neg", {"s"}, "out");
  add_node(model, "Sqrt", {"w"}, "c");
  add_node(model, "Mul", {"s", "c"}, "other");
  return model;
}

template <typename Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name());
  return names;
}

TEST(Subgraph, DependenceFollowsEveryInput) {
  const graph::EditableModel model = example();
  const GraphIndex index(model);
  const auto dependence = index.dependence({"a", "b"});
  const auto of = [&](const char* value) { return dependence.at(index.producer(value)); };
  EXPECT_EQ(of("t"), 1U);
  EXPECT_EQ(of("q"), 2U);
  EXPECT_EQ(of("out"), 3U);
  EXPECT_EQ(of("c"), 0U);
}

TEST(Subgraph, TheFrontierLiesBeforeNodesThatMoveData) {
  const graph::EditableModel model = example();
  const GraphIndex index(model);
  const auto dependence = index.dependence({"a", "b"});
  const Names cut = index.frontier({"out", "other"}, [&](const onnx::NodeProto& node) {
    return dependence.at(&node) == 1 || dependence.at(&node) == 2;
  });
  EXPECT_THAT(cut, ElementsAre("p", "q"));
}

TEST(Subgraph, AnExtractTakesWhatItNeeds) {
  const graph::EditableModel model = example();
  const GraphIndex index(model);
  const graph::EditableModel part = index.extract({"s"}, {"other"}).value();
  EXPECT_THAT(names_of(part.proto.graph().input()), ElementsAre("s"));
  EXPECT_THAT(names_of(part.proto.graph().node()), ElementsAre("make_c", "make_other"));
  EXPECT_EQ(part.weights.size(), 1U);
  const graph::EditableModel first = index.extract({}, {"s"}).value();
  EXPECT_THAT(names_of(first.proto.graph().input()), UnorderedElementsAre("a", "b"));
  EXPECT_TRUE(first.weights.empty());
  EXPECT_EQ(first.proto.graph().output(0).type().tensor_type().elem_type(),
            onnx::TensorProto::FLOAT);
}

TEST(Subgraph, AnUnknownTypeIsSaid) {
  graph::EditableModel model = example();
  add_node(model, "Mystery", {"s"}, "x");
  const GraphIndex index(model);
  const auto part = index.extract({}, {"x"});
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(part.error().message, testing::HasSubstr("'x'"));
}

}  // namespace
}  // namespace sam3::rewrite
