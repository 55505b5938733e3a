// The three-graph family against its reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sam3/sam3.h"
#include "support/files.h"
#include "support/masks.h"
#include "support/safetensors.h"

namespace sam3 {
namespace {

using test::data;
using test::Safetensors;
using testing::HasSubstr;

Picture picture() { return read_picture(data("tiny/io/picture.png")).value().picture; }

const std::vector<std::string>& prompts() {
  static const auto* const prompts =
      new std::vector<std::string>{"dog", "plastic bottle", "visual",
                                   "a red car, two blue bicycles and a person with a small brown "
                                   "dog standing on the floor near the "
                                   "table, the plastic bottle, three cats and a cup of coffee!"};
  return *prompts;
}

// A case of the reference and what is asked in it.
struct Case {
  std::string name;
  std::string prompt;
  DetectOptions options;
};

void expect_case(const Model& model, const ImageFeatures& features, const Safetensors& reference,
                 const Case& asked) {
  const std::string& name = asked.name;
  const auto detections = model.detect(features, asked.prompt, asked.options);
  ASSERT_TRUE(detections.ok()) << detections.error().to_string();
  const auto scores = reference[name + ".scores"].values<float>();
  const auto boxes = reference[name + ".boxes"].values<float>();
  const auto masks = reference[name + ".masks"].values<std::uint8_t>();
  const Size size = features.picture_size();
  ASSERT_EQ(detections->size(), scores.size()) << name;
  for (const Detection& detection : *detections) {
    const auto row = static_cast<std::size_t>(detection.query);
    EXPECT_NEAR(detection.score, scores[row], 1e-3);
    EXPECT_NEAR(detection.box.x0, std::clamp(boxes[4 * row], 0.0F, float(size.width)), 0.1);
    EXPECT_NEAR(detection.box.y1, std::clamp(boxes[4 * row + 3], 0.0F, float(size.height)), 0.1);
    const Mask mask = detection.mask();
    ASSERT_EQ(mask.size(), size);
    EXPECT_LE(test::differing_pixels(mask, masks, row), size.width * size.height / 1000);
  }
}

TEST(Browser, AnswersAsTheReference) {
  const Safetensors reference(data("tiny/io/browser.safetensors").string());
  const Model model = Model::open(data("tiny/browser")).value();
  const ImageFeatures features = model.encode_image(picture()).value();
  for (std::size_t i = 0; i < prompts().size(); ++i)
    expect_case(model, features, reference, {"text_" + std::to_string(i), prompts()[i], {}});
}

// The reference gives boxes as centre and size in fractions of the picture.
Exemplar exemplar_of(const Safetensors& reference, const std::string& name, Size picture) {
  const auto box = reference[name + ".box_coords"].values<float>();
  const double w = box[2] * static_cast<double>(picture.width);
  const double h = box[3] * static_cast<double>(picture.height);
  const double x = box[0] * static_cast<double>(picture.width) - w / 2;
  const double y = box[1] * static_cast<double>(picture.height) - h / 2;
  return {{x, y, x + w, y + h}, reference[name + ".box_labels"].values<std::int64_t>()[0] == 1};
}

TEST(Browser, ABoxIsAnExample) {
  const Safetensors reference(data("tiny/io/browser.safetensors").string());
  const Model model = Model::open(data("tiny/browser")).value();
  const ImageFeatures features = model.encode_image(picture()).value();
  const struct {
    const char* name;
    const char* prompt;
  } cases[] = {{"box_pos", ""}, {"box_neg", "dog"}, {"text_box", "dog"}};
  for (const auto& c : cases) {
    DetectOptions options;
    options.exemplar = exemplar_of(reference, c.name, features.picture_size());
    expect_case(model, features, reference, {c.name, c.prompt, options});
  }
}

TEST(Browser, TokensArePaddedWithZero) {
  const Safetensors reference(data("tiny/io/browser.safetensors").string());
  const auto expected = reference["tokens"].values<std::int64_t>();
  const Model model = Model::open(data("tiny/browser")).value();
  for (std::size_t i = 0; i < prompts().size(); ++i) {
    const auto ids = model.tokenize(prompts()[i]).value().ids;
    EXPECT_TRUE(
        std::equal(ids.begin(), ids.end(), expected.begin() + static_cast<std::ptrdiff_t>(32 * i)));
  }
}

TEST(Browser, RefusesWhatItsGraphsCannotDo) {
  const Model model = Model::open(data("tiny/browser")).value();
  const ImageFeatures features = model.encode_image(picture()).value();
  DetectOptions low;
  low.threshold = 0.3;
  const auto detections = model.detect(features, "dog", low);
  ASSERT_FALSE(detections.ok());
  EXPECT_EQ(detections.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(detections.error().message, HasSubstr("0.5"));
  EXPECT_THAT(model.embed_image(picture()).error().message, HasSubstr("example"));
  DetectOptions high;
  high.threshold = 0.99;
  EXPECT_TRUE(model.detect(features, "dog", high).value().empty());
}

TEST(Browser, QuantizedGraphsAndNoDetectionsRun) {
  const Model model = Model::open(data("tiny/browser_int8")).value();
  const ImageFeatures features = model.encode_image(picture()).value();
  std::size_t found = 0;
  for (const std::string& prompt : prompts()) {
    const auto detections = model.detect(features, prompt);
    ASSERT_TRUE(detections.ok()) << detections.error().to_string();
    found += detections->size();
  }
  EXPECT_GT(found, 3U);  // the float graphs find 13
}

TEST(Browser, IsRecognisedByTensorNamesToo) {
  test::TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::copy(data("tiny/browser/sam3_image_encoder.onnx"), folder / "a.onnx");
  fs::copy(data("tiny/browser/sam3_language_encoder.onnx"), folder / "b.onnx");
  fs::copy(data("tiny/browser/sam3_decoder.onnx"), folder / "c.onnx");
  fs::copy(data("tiny/browser/clip_tokenizer.json"), folder / "clip_tokenizer.json");
  const ModelInfo info = Model::open(folder.path()).value().info().value();
  EXPECT_EQ(info.family, "browser");
  EXPECT_EQ(info.image_size, 336);
  EXPECT_TRUE(info.problems.empty());
}

TEST(FiveGraph, TakesNoExampleBoxes) {
  const Model model = Model::open(data("tiny/dynamo")).value();
  DetectOptions options;
  options.exemplar = Exemplar{{10, 10, 50, 50}, true};
  const auto detections = model.detect(model.encode_image(picture()).value(), "dog", options);
  ASSERT_FALSE(detections.ok());
  EXPECT_EQ(detections.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace sam3
