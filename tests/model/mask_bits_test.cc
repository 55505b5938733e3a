#include "model/mask_bits.h"

#include <gtest/gtest.h>

#include "onnx-ml.pb.h"
#include "support/files.h"

namespace sam3::model {
namespace {

using test::data;

mask::BitOrder order_of(const std::string& file) {
  return find_bit_order(graph::ModelFile::read(data(file)).value()).value();
}

TEST(BitOrder, IsFoundInEveryExportersGraph) {
  EXPECT_EQ(order_of("tiny/dynamo/detector/model.onnx"), mask::BitOrder::kMsbFirst);
  EXPECT_EQ(order_of("tiny/torchscript/detector/model.onnx"), mask::BitOrder::kMsbFirst);
  EXPECT_EQ(order_of("tiny/int8/detector/model.onnx"), mask::BitOrder::kMsbFirst);
  EXPECT_EQ(order_of("tiny/dynamo/detector/model_lsb.onnx"), mask::BitOrder::kLsbFirst);
}

TEST(BitOrder, IsNeverGuessed) {
  onnx::ModelProto model;
  onnx::NodeProto* node = model.mutable_graph()->add_node();
  node->set_op_type("PackBits");
  node->add_input("pred_masks");
  node->add_output("pred_masks_bits");
  test::TemporaryFolder folder;
  test::write_file(folder / "m.onnx", model.SerializeAsString());
  const auto order = find_bit_order(graph::ModelFile::read(folder / "m.onnx").value());
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace sam3::model
