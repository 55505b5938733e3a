// Whole packages, as sam3 convert makes them, opened and asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "converted.h"
#include "sam3/sam3.h"
#include "support/golden_results.h"

namespace sam3::convert {
namespace {

using test::data;

// A package of the tiny checkpoint.
void write_package(const std::filesystem::path& folder, const ConvertOptions& options) {
  ASSERT_TRUE(write_graphs(tiny_config(), tiny_weights(), options, folder).ok());
  ASSERT_TRUE(write_tokenizer(data("tiny/dynamo"), folder, options.family).ok());
  ASSERT_TRUE(
      write_description(tiny_config(), options.family, {"tiny", "made up", "none"}, folder).ok());
}

TEST(ConvertedPackage, AnswersAsTheReference) {
  const test::TemporaryFolder folder;
  write_package(folder.path(), {});
  const Model model = Model::open(folder.path()).value();
  EXPECT_THAT(model.info().value().problems, testing::IsEmpty());
  EXPECT_EQ(model.name(), "tiny");
  test::check_text_results(model);
  test::check_point_results(model, true);
}

TEST(ConvertedPackage, ReferencesTreatmentOfNoMemory) {
  const test::TemporaryFolder folder;
  ConvertOptions options;
  options.graphs.no_memory = NoMemory::kReference;
  write_package(folder.path(), options);
  test::check_point_results(Model::open(folder.path()).value(), false);
}

// Detections for the text "visual" and one box, against the reference.
void check_exemplar(const Model& model) {
  const test::Safetensors expected(data("tiny/io/exemplar_pos.safetensors").string());
  const Picture picture = test::tiny_picture();
  const auto at = expected["input_boxes"].values<float>();
  const double width = picture.size().width;
  const double height = picture.size().height;
  const Box box{(at[0] - at[2] / 2) * width, (at[1] - at[3] / 2) * height,
                (at[0] + at[2] / 2) * width, (at[1] + at[3] / 2) * height};
  DetectOptions options;
  options.threshold = 0;
  options.exemplar = Exemplar{box, true};
  const auto found = model.detect(model.encode_image(picture).value(), "", options);
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  const auto logits = expected["pred_logits"].values<float>();
  const auto boxes = expected["pred_boxes"].values<float>();
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  const float presence = sigmoid(expected["presence_logits"].values<float>()[0]);
  ASSERT_EQ(found->size(), logits.size());
  for (const Detection& detection : *found) {
    EXPECT_EQ(detection.prompt, "visual");
    const auto query = static_cast<std::size_t>(detection.query);
    EXPECT_NEAR(detection.score, sigmoid(logits[query]) * presence, test::kScoreTolerance);
    EXPECT_NEAR(detection.box.x0, std::clamp(boxes[4 * query] * width, 0.0, width),
                test::kBoxTolerance);
    EXPECT_NEAR(detection.box.y1, std::clamp(boxes[4 * query + 3] * height, 0.0, height),
                test::kBoxTolerance);
  }
}

TEST(ConvertedPackage, ExampleBoxes) {
  const test::TemporaryFolder folder;
  ConvertOptions options;
  options.exemplars = true;
  write_package(folder.path(), options);
  const Model model = Model::open(folder.path()).value();
  check_exemplar(model);
  test::check_text_results(model);
}

// A geometry encoder beside a detector that takes 32 tokens: the example takes the place of
// padding.
TEST(ConvertedPackage, ExampleBoxesWithADetectorOfFixedLength) {
  const test::TemporaryFolder folder;
  write_package(folder.path(), {});
  std::filesystem::create_directory(folder / "geometry_encoder");
  build_geometry_encoder(tiny_config(), tiny_weights())
      .value()
      .write(folder / "geometry_encoder/model.onnx")
      .value();
  const Model model = Model::open(folder.path()).value();
  check_exemplar(model);
  DetectOptions options;
  options.exemplar = Exemplar{{10, 10, 60, 60}, true};
  std::string many;
  for (int i = 0; i < 40; ++i) many += "dog ";
  const auto full = model.detect(model.encode_image(test::tiny_picture()).value(), many, options);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kLimit);
}

TEST(ConvertedPackage, NoExampleBoxesWithoutAGeometryEncoder) {
  const Model model = Model::open(data("tiny/dynamo")).value();
  DetectOptions options;
  options.exemplar = Exemplar{{10, 10, 60, 60}, true};
  const auto found = model.detect(model.encode_image(test::tiny_picture()).value(), "dog", options);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

TEST(ConvertedPackage, BrowserFamily) {
  const test::TemporaryFolder folder;
  ConvertOptions options;
  options.family = Family::kBrowser;
  write_package(folder.path(), options);
  const Model model = Model::open(folder.path()).value();
  EXPECT_THAT(model.info().value().problems, testing::IsEmpty());
  const Model reference = Model::open(data("tiny/browser")).value();
  const Picture picture = test::tiny_picture();
  const auto ours = model.detect(model.encode_image(picture).value(), "plastic bottle").value();
  const auto theirs =
      reference.detect(reference.encode_image(picture).value(), "plastic bottle").value();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i].score, theirs[i].score, test::kScoreTolerance);
    EXPECT_NEAR(ours[i].box.x0, theirs[i].box.x0, test::kBoxTolerance);
  }
}

}  // namespace
}  // namespace sam3::convert
