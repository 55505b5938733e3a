#include "model/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx-ml.pb.h"
#include "support/files.h"

namespace sam3::model {
namespace {

using graph::ModelFile;
using test::data;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

ModelFile read(const std::string& name) { return std::move(ModelFile::read(data(name))).value(); }

// A graph with other declarations than the golden one.
ModelFile changed(const std::string& name, const std::function<void(onnx::GraphProto&)>& change) {
  onnx::ModelProto model;
  model.ParseFromString(test::read_file(data(name)));
  change(*model.mutable_graph());
  test::TemporaryFolder folder;
  test::write_file(folder / "model.onnx", model.SerializeAsString());
  return std::move(ModelFile::read(folder / "model.onnx")).value();
}

void set_dim(onnx::ValueInfoProto& value, int axis, int size) {
  value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_value(
      size);
}

TEST(Contract, GoldenGraphsFit) {
  for (const std::string set : {"tiny/dynamo/", "tiny/torchscript/", "tiny/int8/"}) {
    const ModelFile vision = read(set + "vision_encoder/model.onnx");
    const ModelFile text = read(set + "text_encoder/model.onnx");
    const ModelFile detector = read(set + "detector/model.onnx");
    const ContractReport report = check_contract({{GraphKind::kVisionEncoder, &vision},
                                                  {GraphKind::kTextEncoder, &text},
                                                  {GraphKind::kDetector, &detector}});
    EXPECT_THAT(report.problems, IsEmpty()) << set;
    EXPECT_THAT(report.warnings, IsEmpty()) << set;
  }
}

TEST(Contract, ListsEveryDifferenceOfASwappedGraph) {
  const ModelFile decoder = read("tiny/dynamo/prompt_decoder/model.onnx");
  const auto problems = check_contract({{GraphKind::kDetector, &decoder}}).problems;
  // Five inputs and four outputs are missing, five inputs are strangers.
  EXPECT_EQ(problems.size(), 14U);
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("detector"), HasSubstr("'text_features'"))));
  EXPECT_THAT(problems, Contains(HasSubstr("'input_points'")));
}

TEST(Contract, SizesMustAgreeBetweenGraphs) {
  const ModelFile vision = read("tiny/dynamo/vision_encoder/model.onnx");
  const ModelFile detector =
      changed("tiny/dynamo/detector/model.onnx", [](onnx::GraphProto& graph) {
        set_dim(*graph.mutable_input(1), 1, 41);
        set_dim(*graph.mutable_output(0), 3, 11);
      });
  const auto problems =
      check_contract({{GraphKind::kVisionEncoder, &vision}, {GraphKind::kDetector, &detector}})
          .problems;
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0], AllOf(HasSubstr("size 41 on axis 1 instead of 40"),
                                 HasSubstr("vision_encoder fpn_0")));
  EXPECT_THAT(problems[1], HasSubstr("88 on axis 3 instead of 96"));
}

TEST(Contract, TypesAndRanksCount) {
  const ModelFile text =
      changed("tiny/dynamo/text_encoder/model.onnx", [](onnx::GraphProto& graph) {
        graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
            onnx::TensorProto::INT32);
        graph.mutable_input(1)
            ->mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->add_dim()
            ->set_dim_value(1);
      });
  const auto problems = check_contract({{GraphKind::kTextEncoder, &text}}).problems;
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0], HasSubstr("int32 instead of int64"));
  EXPECT_THAT(problems[1], HasSubstr("3 axes instead of 2"));
}

// Exporters have been seen to declare [32, 40, 40] for what is [1, 32, 40]; the engine forgives it.
TEST(Contract, ImpossibleOutputDeclarationsAreWarnings) {
  const ModelFile text =
      changed("tiny/dynamo/text_encoder/model.onnx", [](onnx::GraphProto& graph) {
        set_dim(*graph.mutable_output(0), 0, 32);
        set_dim(*graph.mutable_output(0), 1, 40);
      });
  const ContractReport report = check_contract({{GraphKind::kTextEncoder, &text}});
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.warnings, Contains(HasSubstr("text_features float[32,40,40]")));
}

TEST(Contract, GraphsAreKnownByTheirInputs) {
  const ModelFile image = read("tiny/browser/sam3_image_encoder.onnx");
  const ModelFile decoder = read("tiny/browser/sam3_decoder.onnx");
  EXPECT_TRUE(looks_like(GraphKind::kBrowserImageEncoder, image));
  EXPECT_FALSE(looks_like(GraphKind::kBrowserDecoder, image));
  EXPECT_TRUE(looks_like(GraphKind::kBrowserDecoder, decoder));
  EXPECT_FALSE(looks_like(GraphKind::kDetector, decoder));
}

}  // namespace
}  // namespace sam3::model
