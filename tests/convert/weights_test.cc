// Checkpoints in one file and in several, of every precision, and random weights.
#include "convert/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "converted.h"
#include "support/safetensors.h"

namespace sam3::convert {
namespace {

using testing::HasSubstr;

constexpr const char* kTracker = "tracker_model.mask_decoder.iou_token.weight";

// A safetensors file with one tensor of 16 bytes.
template <typename T>
void write_tensor(const std::filesystem::path& path, const std::string& key,
                  const std::string& type, const std::vector<T>& values) {
  const std::string header = R"({")" + key + R"(":{"dtype":")" + type + R"(","shape":[1,)" +
                             std::to_string(values.size()) + R"(],"data_offsets":[0,16]}})";
  const std::uint64_t length = header.size();
  std::string content(sizeof length + header.size() + 16, '\0');
  std::memcpy(content.data(), &length, sizeof length);
  std::memcpy(content.data() + sizeof length, header.data(), header.size());
  std::memcpy(content.data() + sizeof length + header.size(), values.data(), 16);
  test::write_file(path, content);
}

void write_tensor(const std::filesystem::path& path, const std::string& key) {
  write_tensor<float>(path, key, "F32", {1, 2, 3, 4});
}

std::vector<float> found(const Checkpoint& checkpoint, const std::string& key) {
  return graph::read_values<float>(checkpoint.find(key, {1, 4}).value()).value();
}

TEST(Weights, SeveralFilesByTheirIndex) {
  const test::TemporaryFolder folder;
  write_tensor(folder / "model-00001-of-00002.safetensors", "a");
  write_tensor(folder / "model-00002-of-00002.safetensors", kTracker);
  test::write_file(folder / "model.safetensors.index.json",
                   R"({"weight_map":{"a":"model-00001-of-00002.safetensors",")" +
                       std::string(kTracker) + R"(":"model-00002-of-00002.safetensors"}})");
  const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
  EXPECT_THAT(found(checkpoint, "a"), testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(found(checkpoint, kTracker), testing::ElementsAre(1, 2, 3, 4));
  std::filesystem::remove(folder / "model-00002-of-00002.safetensors");
  const auto cut = Checkpoint::open(folder.path());
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().to_string(), HasSubstr("model-00002-of-00002"));
}

TEST(Weights, AnIndexCannotLeaveItsFolder) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model.safetensors.index.json",
                   R"({"weight_map":{"a":"../model.safetensors"}})");
  EXPECT_THAT(Checkpoint::open(folder.path()).error().message, HasSubstr("../model.safetensors"));
}

TEST(Weights, TheDoubledPrefixIsRead) {
  const test::TemporaryFolder folder;
  write_tensor(folder / "model.safetensors", std::string("tracker_model.") + kTracker);
  EXPECT_THAT(found(Checkpoint::open(folder.path()).value(), kTracker),
              testing::ElementsAre(1, 2, 3, 4));
}

TEST(Weights, InfinityAndNaNAreRefused) {
  const test::TemporaryFolder folder;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    write_tensor<float>(folder / "model.safetensors", "a", "F32", {1, 2, bad, 4});
    const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
    const auto values = graph::read_values<float>(checkpoint.find("a", {1, 4}).value());
    ASSERT_FALSE(values.ok());
    EXPECT_THAT(values.error().message, HasSubstr("value 2 of tensor 'a'"));
  }
}

TEST(Weights, AnotherTypeIsNamed) {
  const test::TemporaryFolder folder;
  write_tensor<double>(folder / "model.safetensors", "a", "F64", {1, 2});
  const auto weight = Checkpoint::open(folder.path()).value().find("a", {1, 2});
  ASSERT_FALSE(weight.ok());
  EXPECT_THAT(weight.error().message, HasSubstr("F64"));
}

TEST(Weights, APartThatIsMissingIsNamed) {
  const test::TemporaryFolder folder;
  write_tensor(folder / "model.safetensors", "detector_model.a");
  const auto weight = Checkpoint::open(folder.path()).value().find(kTracker, {1, 4});
  ASSERT_FALSE(weight.ok());
  EXPECT_THAT(weight.error().message, HasSubstr("none is tracker_model.*, tracker_neck.*"));
}

TEST(Weights, NoCheckpoint) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(Checkpoint::open(folder / "none").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(Checkpoint::open(folder.path()).error().message, HasSubstr("model.safetensors"));
}

TEST(Weights, RandomOnesDependOnSeedAndKeyAlone) {
  const auto values = [](std::uint64_t seed, const std::string& key) {
    return graph::read_values<float>(RandomWeights(seed).find(key, {100, 300}).value()).value();
  };
  EXPECT_EQ(values(1, "x.weight"), values(1, "x.weight"));
  EXPECT_NE(values(1, "x.weight"), values(2, "x.weight"));
  EXPECT_NE(values(1, "x.weight"), values(1, "y.weight"));
  double sum = 0;
  double squares = 0;
  for (const float value : values(1, "x.weight")) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 30000, 0, 0.001);
  EXPECT_NEAR(std::sqrt(squares / 30000), 0.02, 0.0005);
  EXPECT_THAT(values(1, "layer_norm1.weight"), testing::Each(1.0F));
  EXPECT_THAT(values(1, "layer_norm1.bias"), testing::Each(0.0F));
}

TEST(Weights, RandomTinyModelRuns) {
  const Running graph(build_text_encoder(tiny_config(), RandomWeights(3)));
  const test::Safetensors text(test::data("tiny/io/text.safetensors").string());
  const auto out = graph.run({{"input_ids", test::to_tensor(part(text["input_ids"], 1))},
                              {"attention_mask", test::to_tensor(part(text["attention_mask"], 1))}},
                             {"text_features"});
  for (const float value : out[0].floats()) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace sam3::convert
