// config.json: sizes, defaults, and values that do not go together.
#include "convert/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converted.h"

namespace sam3::convert {
namespace {

using testing::HasSubstr;

TEST(Config, TinyCheckpoint) {
  const Config& config = tiny_config();
  EXPECT_EQ(config.vision.image, 336);
  EXPECT_EQ(config.vision.grid(), 24);
  EXPECT_EQ(config.vision.pretrain_grid, 8);
  EXPECT_EQ(config.vision.window, 8);
  EXPECT_THAT(config.vision.global_layers, testing::ElementsAre(1, 3));
  EXPECT_EQ(config.vision.inner, 152);
  EXPECT_DOUBLE_EQ(config.vision.epsilon, 1e-4);
  EXPECT_DOUBLE_EQ(config.text.epsilon, 3e-5);
  EXPECT_EQ(config.width, 40);
  EXPECT_EQ(config.geometry.heads, 5);
  EXPECT_EQ(config.encoder.inner, 88);
  EXPECT_EQ(config.queries, 12);
  EXPECT_EQ(config.mask_heads, 2);
  EXPECT_EQ(config.point.iou_inner, 36);
  EXPECT_EQ(config.point.masks, 4);
  EXPECT_EQ(config.mask_side(), 96);
}

TEST(Config, WhatIsNotThereHasTheFullSize) {
  const Config config = parse_config(R"({"detector_config":{}})").value();
  EXPECT_EQ(config.vision.width, 1024);
  EXPECT_EQ(config.vision.tokens(), 5184);
  EXPECT_EQ(config.text.layers, 24);
  EXPECT_EQ(config.queries, 200);
  EXPECT_EQ(config.point.inner, 2048);
}

TEST(Config, OlderNamesAndPairsOfSizes) {
  const Config config = parse_config(R"({"detector_config":{"vision_config":{"backbone_config":
      {"image_size":[672,672],"rope_theta":5000}},"detr_decoder_config":{"num_hidden_layers":4}}})")
                            .value();
  EXPECT_EQ(config.vision.image, 672);
  EXPECT_DOUBLE_EQ(config.vision.rope_theta, 5000);
  EXPECT_EQ(config.decoder.layers, 4);
}

std::string problem(const std::string& text) {
  const auto config = parse_config(text);
  if (config.ok()) return "";
  EXPECT_EQ(config.error().code, ErrorCode::kBadData);
  return config.error().message;
}

std::string backbone(const std::string& fields) {
  return R"({"detector_config":{"vision_config":{"backbone_config":{)" + fields + "}}}}";
}

TEST(Config, BadValuesAreNamed) {
  EXPECT_THAT(problem("7"), HasSubstr("not a JSON object"));
  EXPECT_THAT(problem(R"({"model_type":"bert"})"), HasSubstr("no configuration of SAM 3"));
  EXPECT_THAT(problem(backbone(R"("hidden_size":-4)")), HasSubstr("hidden_size is -4"));
  EXPECT_THAT(problem(backbone(R"("hidden_size":1e30)")), HasSubstr("hidden_size is 1e+30"));
  EXPECT_THAT(problem(backbone(R"("hidden_size":"big")")), HasSubstr("hidden_size is \"big\""));
  EXPECT_THAT(problem(backbone(R"("image_size":[1008,504])")),
              HasSubstr("image_size is [1008,504]"));
  EXPECT_THAT(problem(backbone(R"("image_size":1000)")), HasSubstr("no multiple of patch_size"));
  EXPECT_THAT(problem(backbone(R"("num_attention_heads":3)")), HasSubstr("no heads"));
  EXPECT_THAT(problem(backbone(R"("global_attn_indexes":[40])")), HasSubstr("a list of layers"));
  EXPECT_THAT(problem(backbone(R"("hidden_act":"swish")")), HasSubstr("hidden_act is \"swish\""));
  EXPECT_THAT(problem(R"({"detector_config":{"vision_config":{"scale_factors":[2,1]}}})"),
              HasSubstr("starts with 4, 2, 1"));
  EXPECT_THAT(problem(R"({"detector_config":{"detr_encoder_config":{"hidden_size":128}}})"),
              HasSubstr("hidden_size is 128, but the neck makes 256"));
}

TEST(Config, SizesThatNoMachineHas) {
  EXPECT_THAT(problem(backbone(R"("window_size":1000000)")), HasSubstr("patches a side"));
  EXPECT_THAT(problem(backbone(R"("num_hidden_layers":5000)")), HasSubstr("5000 layers"));
  EXPECT_THAT(problem(R"({"detector_config":{"vision_config":{},"text_config":)"
                      R"({"vocab_size":1000000,"hidden_size":1000000}}})"),
              HasSubstr("1000000 x 1000000"));
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(problem(backbone("\"image_size\":[" + deep + "," + deep + "]")),
              HasSubstr("image_size is"));
}

TEST(Config, AllProblemsAtOnce) {
  const std::string text = problem(backbone(R"("image_size":1000,"hidden_act":"swish")"));
  EXPECT_THAT(text, HasSubstr("swish"));
  EXPECT_THAT(text, HasSubstr("no multiple"));
}

}  // namespace
}  // namespace sam3::convert
