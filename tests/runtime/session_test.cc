#include "runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "support/files.h"
#include "support/tensors.h"

namespace sam3::runtime {
namespace {

using test::data;
using test::Safetensors;
using testing::HasSubstr;

// Seen in tests of this tiny model: 2e-4 of the largest value; the promise is a thousandth.
constexpr double kTolerance = 1e-3;

std::shared_ptr<const Engine> engine() { return Engine::create({.threads = 2}).value(); }

std::shared_ptr<const Session> open(const std::string& file) {
  return Session::open(engine(), file, {data(file), "", ""}).value();
}

// Every stage of the tiny model, from the graphs of one exporter.
class Stages : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Session> graph(const std::string& name) const {
    return open(std::string("tiny/") + GetParam() + "/" + name + "/model.onnx");
  }

  static void expect_close(const Session& session, const std::vector<NamedTensor>& inputs,
                           const std::vector<std::string>& outputs, const Safetensors& reference,
                           const std::string& suffix = "") {
    const auto results = session.run(inputs, outputs);
    ASSERT_TRUE(results.ok()) << results.error().to_string();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_TRUE(test::is_close((*results)[i], reference[outputs[i] + suffix], kTolerance))
          << outputs[i];
  }
};

INSTANTIATE_TEST_SUITE_P(Exporters, Stages, testing::Values("dynamo", "torchscript"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Stages, VisionEncoder) {
  const Safetensors image(data("tiny/io/image.safetensors").string());
  const Safetensors vision(data("tiny/io/vision.safetensors").string());
  expect_close(*graph("vision_encoder"), {{"pixel_values", test::to_tensor(image["pixel_values"])}},
               {"fpn_0", "fpn_1", "fpn_2"}, vision);
}

TEST_P(Stages, TextEncoder) {
  const Safetensors text(data("tiny/io/text.safetensors").string());
  const auto ids = text["input_ids"].values<std::int64_t>();
  const auto mask = text["attention_mask"].values<std::int64_t>();
  const auto expected = text["text_features"].values<float>();
  const auto prompts = static_cast<std::size_t>(text["input_ids"].shape[0]);
  const std::size_t length = ids.size() / prompts;
  const std::size_t width = expected.size() / ids.size();
  const auto session = graph("text_encoder");
  for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
    const auto row = [&](const std::vector<std::int64_t>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(prompt * length);
      return Tensor({1, static_cast<std::int64_t>(length)},
                    std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(length)));
    };
    const std::vector<NamedTensor> inputs{{"input_ids", row(ids)}, {"attention_mask", row(mask)}};
    const auto outputs = session->run(inputs, std::vector<std::string>{"text_features"});
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    // Rows of padding hold nothing that is used.
    for (std::size_t i = 0; i < length * width; ++i)
      if (mask[prompt * length + i / width]) {
        ASSERT_NEAR((*outputs)[0].floats()[i], expected[prompt * length * width + i], kTolerance);
      }
  }
}

TEST_P(Stages, Detector) {
  const Safetensors vision(data("tiny/io/vision.safetensors").string());
  const Safetensors text(data("tiny/io/text.safetensors").string());
  const auto features = text["text_features"].values<float>();
  const auto mask = text["attention_mask"].values<std::int64_t>();
  const auto session = graph("detector");
  for (std::size_t prompt = 0; prompt < 5; ++prompt) {
    const Safetensors reference(
        data("tiny/io/detector_" + std::to_string(prompt) + ".safetensors").string());
    const auto part = [prompt](const auto& all) {
      const auto size = static_cast<std::ptrdiff_t>(all.size() / 5);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(prompt) * size;
      return std::decay_t<decltype(all)>(begin, begin + size);
    };
    std::vector<NamedTensor> inputs{
        {"text_features",
         Tensor({1, 32, static_cast<std::int64_t>(features.size() / mask.size())}, part(features))},
        {"attention_mask", Tensor({1, 32}, part(mask))}};
    for (const char* level : {"fpn_0", "fpn_1", "fpn_2"})
      inputs.push_back({level, test::to_tensor(vision[level])});
    expect_close(*session, inputs, {"pred_boxes", "pred_logits", "presence_logits"}, reference);

    // The packed masks: a bit may differ only where the logit is next to zero.
    const auto bits = session->run(inputs, std::vector<std::string>{"pred_masks_bits"});
    ASSERT_TRUE(bits.ok());
    const auto logits = reference["pred_masks"].values<float>();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const bool set = (*bits)[0].bytes()[i / 8] >> (7 - i % 8) & 1;
      if (set != (logits[i] > 0)) {
        ASSERT_LT(std::fabs(logits[i]), 1e-3F);
      }
    }
  }
}

TEST_P(Stages, TrackerVisionEncoder) {
  const Safetensors image(data("tiny/io/image.safetensors").string());
  const Safetensors tracker(data("tiny/io/tracker.safetensors").string());
  const std::vector<NamedTensor> inputs{{"pixel_values", test::to_tensor(image["pixel_values"])}};
  expect_close(*graph("tracker_vision_encoder"), inputs,
               {"image_embeddings_0", "image_embeddings_1", "image_embeddings_2"}, tracker);
}

// Five prompts of one object and one of three: the numbers of objects and points are dynamic.
TEST_P(Stages, PromptDecoder) {
  const Safetensors tracker(data("tiny/io/tracker.safetensors").string());
  const auto session = graph("prompt_decoder");
  for (const char* name :
       {"click", "click_2", "click_neg_only", "clicks", "box", "box_clicks", "three_objects"}) {
    const Safetensors reference(
        data(std::string("tiny/io/prompt_") + name + ".safetensors").string());
    for (const char* suffix : {"", "_no_mem"}) {
      if (!reference.contains(std::string("pred_masks") + suffix)) continue;
      std::vector<NamedTensor> inputs{
          {"image_embeddings_0", test::to_tensor(tracker["image_embeddings_0"])},
          {"image_embeddings_1", test::to_tensor(tracker["image_embeddings_1"])},
          {"image_embeddings_2",
           test::to_tensor(tracker[std::string("image_embeddings_2") + suffix])},
          {"input_points", test::to_tensor(reference["input_points"])},
          {"input_labels", test::to_tensor(reference["input_labels"])}};
      expect_close(*session, inputs, {"pred_masks", "iou_scores", "object_score_logits"}, reference,
                   suffix);
    }
  }
}

TEST(NoMemory, TrackerEncoderWithTheEmbedding) {
  const Safetensors image(data("tiny/io/image.safetensors").string());
  const Safetensors tracker(data("tiny/io/tracker.safetensors").string());
  const auto session = open("tiny/dynamo/tracker_vision_encoder/model_no_mem.onnx");
  const std::vector<NamedTensor> inputs{{"pixel_values", test::to_tensor(image["pixel_values"])}};
  const auto outputs = session->run(inputs, std::vector<std::string>{"image_embeddings_2"});
  ASSERT_TRUE(outputs.ok());
  EXPECT_TRUE(test::is_close((*outputs)[0], tracker["image_embeddings_2_no_mem"], kTolerance));
  EXPECT_FALSE(test::is_close((*outputs)[0], tracker["image_embeddings_2"], kTolerance));
}

TEST(Session, ResultsOutliveItsSession) {
  std::vector<Tensor> outputs;
  {
    const Safetensors text(data("tiny/io/text.safetensors").string());
    auto ids = text["input_ids"].values<std::int64_t>();
    auto mask = text["attention_mask"].values<std::int64_t>();
    ids.resize(32), mask.resize(32);
    const std::vector<NamedTensor> inputs{{"input_ids", Tensor({1, 32}, ids)},
                                          {"attention_mask", Tensor({1, 32}, mask)}};
    outputs = open("tiny/dynamo/text_encoder/model.onnx")
                  ->run(inputs, std::vector<std::string>{"text_features"})
                  .value();
  }
  float sum = 0;
  for (const float value : outputs[0].floats()) sum += value * value;
  EXPECT_GT(sum, 0.1F);
}

TEST(Session, ErrorsNameGraphAndFile) {
  const auto missing = Session::open(engine(), "detector", {data("none.onnx"), "", ""});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().graph, "detector");
  EXPECT_THAT(missing.error().file, HasSubstr("none.onnx"));

  const auto session = open("tiny/dynamo/text_encoder/model.onnx");
  const std::vector<NamedTensor> wrong{
      {"input_ids", Tensor({1, 2}, std::vector<std::int64_t>{1, 2})}};
  const auto outputs = session->run(wrong, std::vector<std::string>{"text_features"});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kRuntime);
  EXPECT_EQ(outputs.error().message.find('\n'), std::string::npos);
}

TEST(Session, EngineMessagesGoToTheHook) {
  std::string lines;
  set_log_hook([&](LogLevel, std::string_view line) { lines += std::string(line) + "\n"; });
  testing::internal::CaptureStderr();
  const auto session = Session::open(engine(), "detector", {data("none.onnx"), "", ""});
  EXPECT_FALSE(session.ok());
  open("tiny/torchscript/vision_encoder/model.onnx");
  set_log_hook(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sam3::runtime
