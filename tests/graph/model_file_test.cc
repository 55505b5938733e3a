#include "graph/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "onnx-ml.pb.h"
#include "support/files.h"

namespace sam3::graph {
namespace {

using test::data;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

ModelFile detector() {
  return std::move(ModelFile::read(data("tiny/dynamo/detector/model.onnx"))).value();
}

TEST(ModelFile, ReadsDeclarationsOfBothExporters) {
  for (const char* exporter : {"dynamo", "torchscript"}) {
    const auto file =
        ModelFile::read(data(std::string("tiny/") + exporter + "/detector/model.onnx"));
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    EXPECT_EQ(file->opset(), 18);
    EXPECT_THAT(file->producer(), HasSubstr("pytorch"));
    ASSERT_EQ(file->inputs().size(), 5U);  // initializers are no inputs
    EXPECT_EQ(file->inputs()[0].describe(), "fpn_0 float[1,40,96,96]");
    ASSERT_NE(file->find_output("pred_masks_bits"), nullptr);
    EXPECT_THAT(file->find_output("pred_masks_bits")->dims, ElementsAre(1, 12, 96, 12));
    EXPECT_EQ(file->find_output("pred_masks"), nullptr);
  }
}

TEST(ModelFile, NamesDynamicSizes) {
  const auto file = ModelFile::read(data("tiny/dynamo/prompt_decoder/model.onnx"))
                        .value()
                        .find_input("input_points")
                        ->describe();
  EXPECT_EQ(file, "input_points float[1,P,N,2]");
}

TEST(ModelFile, WalksNodesAndConstants) {
  const ModelFile file = detector();
  const Node* cast = file.producer_of("pred_masks_bits");
  ASSERT_NE(cast, nullptr);
  EXPECT_EQ(cast->op_type, "Cast");
  EXPECT_EQ(file.producer_of("fpn_0"), nullptr);
  EXPECT_FALSE(file.constant("fpn_0"));
  EXPECT_FALSE(file.constant("no such value"));
  const Node* sum = file.producer_of(cast->inputs[0]);
  const Node* product = file.producer_of(sum->inputs[0]);
  ASSERT_EQ(product->op_type, "Mul");
  EXPECT_THAT(file.constant(product->inputs[1]).value(), ElementsAre(128, 64, 32, 16, 8, 4, 2, 1));
}

TEST(ModelFile, ChecksWeightFiles) {
  TemporaryFolder folder;
  std::filesystem::copy(data("tiny/dynamo/text_encoder"), folder / "t");
  const auto file = ModelFile::read(folder / "t/model.onnx");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->external_files().size(), 1U);
  EXPECT_TRUE(file->check_external_files().ok());

  std::filesystem::permissions(folder / "t/model.onnx.data", std::filesystem::perms::owner_all);
  std::filesystem::resize_file(folder / "t/model.onnx.data", 1000);
  Status status = file->check_external_files();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("has 1000 bytes"));
  EXPECT_THAT(status.error().message,
              HasSubstr(std::to_string(file->external_files()[0].bytes_needed)));

  test::write_file(folder / "t/model.onnx.data",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
  EXPECT_THAT(file->check_external_files().error().message, HasSubstr("Git LFS pointer"));

  std::filesystem::remove(folder / "t/model.onnx.data");
  status = file->check_external_files();
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(status.error().to_string(), HasSubstr("model.onnx.data"));
}

TEST(ModelFile, SaysWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  const auto message = [&](const std::string& content) {
    test::write_file(folder / "m.onnx", content);
    const auto file = ModelFile::read(folder / "m.onnx");
    EXPECT_FALSE(file.ok());
    return file.ok() ? "" : file.error().to_string();
  };
  EXPECT_THAT(message(""), HasSubstr("empty"));
  EXPECT_THAT(message("<html>404</html>"), HasSubstr("not an ONNX model"));
  EXPECT_THAT(message("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
              HasSubstr("git lfs pull"));
  const std::string whole = test::read_file(data("tiny/dynamo/detector/model.onnx"));
  EXPECT_THAT(message(whole.substr(0, whole.size() / 2)), HasSubstr("damaged"));
  EXPECT_EQ(ModelFile::read(folder / "none.onnx").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ModelFile::read(folder.path()).error().code, ErrorCode::kBadData);
}

// A model with one external tensor at `location`.
std::string model_with_data_at(const std::string& location) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  model.mutable_graph()->add_node()->set_op_type("Identity");
  return model.SerializeAsString();
}

TEST(ModelFile, RefusesDataOutsideItsFolder) {
  TemporaryFolder folder;
  for (const char* location : {"../../etc/passwd", "/etc/passwd", "a/../../b", ""}) {
    test::write_file(folder / "m.onnx", model_with_data_at(location));
    const auto file = ModelFile::read(folder / "m.onnx");
    ASSERT_FALSE(file.ok()) << location;
    EXPECT_THAT(file.error().message, HasSubstr("'w'"));
  }
  test::write_file(folder / "m.onnx", model_with_data_at("sub/weights.bin"));
  EXPECT_TRUE(ModelFile::read(folder / "m.onnx").ok());
}

TEST(ModelFile, IdentityCyclesEnd) {
  onnx::ModelProto model;
  for (const auto& [in, out] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
    onnx::NodeProto* node = model.mutable_graph()->add_node();
    node->set_op_type("Identity");
    node->add_input(in);
    node->add_output(out);
  }
  TemporaryFolder folder;
  test::write_file(folder / "m.onnx", model.SerializeAsString());
  EXPECT_FALSE(ModelFile::read(folder / "m.onnx").value().constant("a"));
}

TEST(ModelFile, GivesNodesWeightsOfTheirOwn) {
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"w", "alone"}) {
    onnx::TensorProto* tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_int64_data(7);
  }
  for (const char* weight : {"w", "w", "alone", "w"}) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("MatMulInteger");
    node->add_input("x");
    node->add_input(weight);
    node->add_output("y" + std::to_string(graph.node_size()));
  }
  TemporaryFolder folder;
  test::write_file(folder / "m.onnx", model.SerializeAsString());
  ModelFile file = ModelFile::read(folder / "m.onnx").value();
  EXPECT_EQ(file.unshare_initializers("MatMul", {1}), 0U);
  EXPECT_EQ(file.unshare_initializers("MatMulInteger", {1, 3}), 2U);
  test::write_file(folder / "n.onnx", file.serialize_with_locations({}).value());
  const ModelFile written = ModelFile::read(folder / "n.onnx").value();
  std::set<std::string> weights;
  for (const char* value : {"y1", "y2", "y3", "y4"}) {
    const std::string weight = written.producer_of(value)->inputs[1];
    EXPECT_THAT(written.constant(weight).value(), ElementsAre(7));
    weights.insert(weight);
  }
  EXPECT_EQ(weights.size(), 4U);
}

TEST(ModelFile, WritesOtherLocations) {
  const ModelFile file = detector();
  const auto bytes = file.serialize_with_locations({{"model.onnx.data", "blob"}});
  ASSERT_TRUE(bytes.ok());
  TemporaryFolder folder;
  test::write_file(folder / "m.onnx", *bytes);
  const auto copy = ModelFile::read(folder / "m.onnx");
  ASSERT_TRUE(copy.ok());
  ASSERT_EQ(copy->external_files().size(), 1U);
  EXPECT_EQ(copy->external_files()[0].location, "blob");
  EXPECT_EQ(copy->external_files()[0].bytes_needed, file.external_files()[0].bytes_needed);
}

}  // namespace
}  // namespace sam3::graph
