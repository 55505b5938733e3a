// End results of the tiny model against the reference: what users see.
#include "support/golden_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sam3/sam3.h"
#include "support/files.h"
#include "support/safetensors.h"

namespace sam3 {
namespace {

using nlohmann::json;
using test::check_point_results;
using test::check_text_results;
using test::data;
using test::Safetensors;
using test::TemporaryFolder;

Picture picture() { return test::tiny_picture(); }

// A package that is the golden one but for one graph file.
void make_variant(const std::string& graph, const std::string& file,
                  const TemporaryFolder& folder) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator(data("tiny/dynamo")))
    fs::copy(entry.path(), folder.path() / entry.path().filename(), fs::copy_options::recursive);
  fs::remove(folder / (graph + "/model.onnx"));
  fs::copy(data("tiny/dynamo/" + graph + "/" + file), folder / (graph + "/model.onnx"));
}

TEST(GoldenResults, TextWithBothExporters) {
  for (const char* exporter : {"tiny/dynamo", "tiny/torchscript"})
    check_text_results(Model::open(data(exporter)).value());
}

TEST(GoldenResults, TextWithTheOtherBitOrder) {
  TemporaryFolder folder;
  make_variant("detector", "model_lsb.onnx", folder);
  const Model model = Model::open(folder.path()).value();
  EXPECT_EQ(model.info().value().mask_bits, "lsb-first");
  EXPECT_EQ(Model::open(data("tiny/dynamo")).value().info().value().mask_bits, "msb-first");
  check_text_results(model);
}

TEST(GoldenResults, ALimitLeavesTheHighestScoresWithTheirMasks) {
  for (const char* rewrite : {"all", "none"}) {
    ModelOptions options;
    options.rewrite = rewrite;
    const Model model = Model::open(data("tiny/dynamo"), options).value();
    const ImageFeatures features = model.encode_image(picture()).value();
    const std::vector<Detection> all = model.detect(features, "dog").value();
    ASSERT_GT(all.size(), 3U);
    DetectOptions detect;
    detect.limit = 3;
    const std::vector<Detection> best = model.detect(features, "dog", detect).value();
    ASSERT_EQ(best.size(), 3U);
    for (std::size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].query, all[i].query);
      EXPECT_EQ(best[i].mask().area(), all[i].mask().area());
    }
  }
}

TEST(GoldenResults, WithoutMasksTheBoxesAreTheSame) {
  for (const char* package : {"tiny/dynamo", "tiny/browser"}) {
    const Model model = Model::open(data(package)).value();
    const ImageFeatures features = model.encode_image(picture()).value();
    const std::vector<Detection> with = model.detect(features, "dog").value();
    DetectOptions options;
    options.masks = false;
    const std::vector<Detection> without = model.detect(features, "dog", options).value();
    ASSERT_EQ(without.size(), with.size());
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_EQ(without[i].score, with[i].score);
      EXPECT_EQ(without[i].mask().size(), Size{});
    }
  }
}

TEST(GoldenResults, PointsWithBothExporters) {
  for (const char* exporter : {"tiny/dynamo", "tiny/torchscript"})
    check_point_results(Model::open(data(exporter)).value(), false);
}

TEST(GoldenResults, PointsWithNoMemoryEmbedding) {
  TemporaryFolder folder;
  make_variant("tracker_vision_encoder", "model_no_mem.onnx", folder);
  check_point_results(Model::open(folder.path()).value(), true);
}

TEST(GoldenResults, LowMemoryGivesTheSame) {
  ModelOptions options;
  options.low_memory = true;
  const Model model = Model::open(data("tiny/dynamo"), options).value();
  check_text_results(model);
  check_point_results(model, false);
}

// The reference ran on a processor with exact int8 sums; older ones saturate, and roundings that
// flip move queries over the threshold, so what is compared is how the answers agree on the whole.
TEST(GoldenResults, Int8GraphsAgreeWithTheReference) {
  const Model model = Model::open(data("tiny/int8")).value();
  const Safetensors reference(data("tiny/io/int8_onnxruntime.safetensors").string());
  const json results = json::parse(test::read_file(data("tiny/io/results.json")));
  const ImageFeatures features = model.encode_image(picture()).value();
  double difference = 0;
  int compared = 0;
  for (const json& expected : results["text"]) {
    const std::string prompt = expected["prompt"];
    if (prompt.empty()) continue;
    DetectOptions all;
    all.threshold = 0;
    const std::string suffix = expected["case"].get<std::string>().substr(4);
    const auto logits = reference["pred_logits" + suffix].values<float>();
    const auto presence = reference["presence_logits" + suffix].values<float>();
    const auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
    for (const Detection& detection : model.detect(features, prompt, all).value()) {
      difference += std::fabs(static_cast<double>(
          detection.score -
          sigmoid(logits[static_cast<std::size_t>(detection.query)]) * sigmoid(presence[0])));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4 * 12);
  EXPECT_LT(difference / compared, 0.05);
}

TEST(GoldenResults, ModelInputIsTheReferences) {
  const Safetensors image(data("tiny/io/image.safetensors").string());
  const auto expected = image["pixel_values"].values<float>();
  const auto input = Model::open(data("tiny/dynamo")).value().model_input(picture()).value();
  ASSERT_EQ(input.size(), expected.size());
  for (std::size_t i = 0; i < input.size(); ++i) ASSERT_NEAR(input[i], expected[i], 1e-6F) << i;
}

}  // namespace
}  // namespace sam3
