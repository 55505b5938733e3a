#include "quantize/options.h"

#include <gtest/gtest.h>

namespace sam3::quantize {
namespace {

TEST(Options, PrecisionsHaveNames) {
  for (const auto precision : {Precision::kInt8, Precision::kInt8Weights, Precision::kInt8Blocks,
                               Precision::kInt4Blocks, Precision::kFloat16})
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  EXPECT_FALSE(parse_precision("int7"));
}

TEST(Options, Patterns) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("/neck/*/Conv", "/neck/fpn_layers.0/proj1/Conv"));
  EXPECT_TRUE(matches("node_?", "node_1"));
  EXPECT_TRUE(matches("*a*b", "aab"));
  EXPECT_FALSE(matches("node_?", "node_12"));
  EXPECT_FALSE(matches("/neck", "/neck/a"));
  EXPECT_FALSE(matches("", "a"));
  // Patterns that make a naive matcher try for ever.
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST(Options, OperatorsThatThereAre) {
  EXPECT_TRUE(check({.ops = {"MatMul", "Conv", "ConvTranspose"}}).ok());
  const Status status = check({.ops = {"Softmax"}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(status.error().message.find("'Softmax'"), std::string::npos);
  EXPECT_FALSE(check({.precision = Precision::kInt4Blocks, .ops = {"Conv"}}).ok());
}

TEST(Options, DefaultsFollowTheCard) {
  EXPECT_EQ(default_ops(Precision::kInt8, "vision_encoder").size(), 3U);
  for (const char* graph : {"text_encoder", "detector", "tracker_vision_encoder", "prompt_decoder"})
    EXPECT_EQ(default_ops(Precision::kInt8, graph), std::vector<std::string>{"MatMul"});
}

}  // namespace
}  // namespace sam3::quantize
