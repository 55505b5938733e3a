// The converted three graphs against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converted.h"

namespace sam3::convert {
namespace {

using test::data;
using test::is_close;

using test::Safetensors;
using test::to_tensor;

constexpr double kTolerance = 1e-4;

Safetensors golden(const std::string& name) {
  return Safetensors(data("tiny/io/" + name + ".safetensors").string());
}

// HWC bytes as CHW.
runtime::Tensor planes(const test::Tensor& pixels) {
  const auto values = pixels.values<std::uint8_t>();
  const auto side = static_cast<std::size_t>(pixels.shape[0]);
  std::vector<std::uint8_t> result;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < side * side; ++i) result.push_back(values[i * 3 + c]);
  return {{3, pixels.shape[0], pixels.shape[1]}, std::move(result)};
}

runtime::Tensor booleans(const test::Tensor& tensor) {
  std::vector<std::uint8_t> values;
  for (const std::byte byte : tensor.bytes) values.push_back(std::to_integer<std::uint8_t>(byte));
  return runtime::Tensor::booleans(tensor.shape, std::move(values));
}

TEST(ConvertedBrowserGraphs, ImageEncoder) {
  const Safetensors vision = golden("vision");
  const Running graph(build_browser_image_encoder(tiny_config(), tiny_weights()));
  const auto out = graph.run({{"image", planes(golden("image")["resized_u8"])}},
                             {"backbone_fpn_0", "backbone_fpn_1", "backbone_fpn_2",
                              "vision_pos_enc_2", "vision_pos_enc_0"});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(is_close(out[i], vision["fpn_" + std::to_string(i)], kTolerance));
  EXPECT_TRUE(is_close(out[3], golden("browser")["vision_pos_enc_2"], kTolerance));
  EXPECT_EQ(out[4].dims(), out[0].dims());
}

TEST(ConvertedBrowserGraphs, LanguageEncoder) {
  const Safetensors expected = golden("browser");
  const Running graph(build_browser_language_encoder(tiny_config(), tiny_weights()));
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    const auto out = graph.run({{"tokens", to_tensor(part(expected["tokens"], i))}},
                               {"text_attention_mask", "text_memory", "text_embeds"});
    const runtime::Tensor mask = booleans(expected["text_attention_mask_" + number]);
    EXPECT_THAT(out[0].bytes(), testing::ElementsAreArray(mask.bytes()));
    EXPECT_TRUE(is_close(out[1], expected["text_memory_" + number], kTolerance));
    EXPECT_TRUE(is_close(out[2], expected["text_embeds_" + number], kTolerance));
  }
}

// Which text each case of the reference goes with.
const std::pair<const char*, int> kCases[] = {{"text_0", 0},  {"text_1", 1},  {"text_2", 2},
                                              {"text_3", 3},  {"text_4", 4},  {"box_pos", 2},
                                              {"box_neg", 0}, {"text_box", 0}};

TEST(ConvertedBrowserGraphs, Decoder) {
  const Safetensors expected = golden("browser");
  const Safetensors vision = golden("vision");
  const Running graph(build_browser_decoder(tiny_config(), tiny_weights()));
  constexpr std::int64_t kWidth = 421;
  constexpr std::int64_t kHeight = 317;
  const runtime::Tensor height({}, std::vector<std::int64_t>{kHeight});
  const runtime::Tensor width({}, std::vector<std::int64_t>{kWidth});
  for (const auto& [name, text] : kCases) {
    const std::string at = std::string(name) + ".";
    const std::string number = std::to_string(text);
    const auto out =
        graph.run({{"original_height", height},
                   {"original_width", width},
                   {"vision_pos_enc_2", to_tensor(vision["position_encoding_2"])},
                   {"backbone_fpn_0", to_tensor(vision["fpn_0"])},
                   {"backbone_fpn_1", to_tensor(vision["fpn_1"])},
                   {"backbone_fpn_2", to_tensor(vision["fpn_2"])},
                   {"language_mask", booleans(expected["text_attention_mask_" + number])},
                   {"language_features", to_tensor(expected["text_memory_" + number])},
                   {"box_coords", to_tensor(expected[at + "box_coords"])},
                   {"box_labels", to_tensor(expected[at + "box_labels"])},
                   {"box_masks", booleans(expected[at + "box_masks"])}},
                  {"boxes", "scores", "masks"});
    ASSERT_EQ(out[1].dims(), expected[at + "scores"].shape) << name;
    EXPECT_TRUE(is_close(out[0], expected[at + "boxes"], kTolerance)) << name;
    EXPECT_TRUE(is_close(out[1], expected[at + "scores"], kTolerance)) << name;
    const std::vector<std::int64_t> sizes = {out[1].dim(0), 1, kHeight, kWidth};
    EXPECT_EQ(out[2].dims(), sizes) << name;
    const auto packed = expected[at + "masks"].values<std::uint8_t>();
    std::size_t wrong = 0;
    constexpr std::size_t kRow = (kWidth + 7) / 8;
    for (std::size_t i = 0; i < out[2].bytes().size(); ++i) {
      const std::size_t column = i % kWidth;
      const bool real = (packed[i / kWidth * kRow + column / 8] >> (7 - column % 8) & 1) != 0;
      wrong += (out[2].bytes()[i] != 0) != real;
    }
    EXPECT_LE(wrong, static_cast<std::size_t>(10)) << name;
  }
}

}  // namespace
}  // namespace sam3::convert
