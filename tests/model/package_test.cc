// Packages as people have them: linked, incomplete, mixed up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "sam3/sam3.h"
#include "support/files.h"

namespace sam3 {
namespace {

namespace fs = std::filesystem;
using test::data;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

Picture picture() { return read_picture(data("tiny/io/picture.png")).value().picture; }

void copy_package(const fs::path& target) {
  fs::copy(data("tiny/dynamo"), target, fs::copy_options::recursive);
}

std::string text_problem(const fs::path& folder) {
  const auto model = Model::open(folder);
  if (!model.ok()) return model.error().to_string();
  const Status status = model->prepare(Workflow::kText);
  return status.ok() ? "" : status.error().to_string();
}

TEST(Package, WorksFromAnyDirectory) {
  TemporaryFolder folder;
  copy_package(folder / "model");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(text_problem("model"), "");
  fs::current_path("/");
  EXPECT_EQ(text_problem(folder / "model"), "");
  fs::current_path(before);
}

// As in a download cache: snapshot files are links to blobs, which have other names and lie
// elsewhere.
TEST(Package, WorksThroughLinks) {
  TemporaryFolder folder;
  copy_package(folder / "real");
  fs::create_directories(folder / "blobs");
  for (const char* graph : {"vision_encoder", "text_encoder", "detector"}) {
    fs::create_directories(folder.path() / "snap" / graph);
    for (const char* file : {"model.onnx", "model.onnx.data"}) {
      const std::string blob =
          std::string(graph) + "-" + std::to_string(std::string_view(file).size());
      fs::copy(folder.path() / "real" / graph / file, folder.path() / "blobs" / blob);
      fs::create_symlink("../../blobs/" + blob, folder.path() / "snap" / graph / file);
    }
  }
  fs::create_directory_symlink(folder / "real/tokenizer", folder / "snap/tokenizer");
  const Model linked = Model::open(folder / "snap").value();
  const auto detections = linked.detect(linked.encode_image(picture()).value(), "dog");
  ASSERT_TRUE(detections.ok()) << detections.error().to_string();
  EXPECT_EQ(detections->size(), 12U);

  // A link for the weights alone.
  fs::rename(folder / "real/detector/model.onnx.data", folder / "blobs/alone");
  fs::create_symlink(folder / "blobs/alone", folder / "real/detector/model.onnx.data");
  EXPECT_EQ(text_problem(folder / "real"), "");
}

TEST(Package, SaysWhatIsMissing) {
  TemporaryFolder folder;
  EXPECT_THAT(text_problem(folder / "nowhere"), HasSubstr("no such model folder"));
  EXPECT_THAT(text_problem(folder.path()), HasSubstr("holds no model"));
  test::write_file(folder / "file", "x");
  EXPECT_THAT(text_problem(folder / "file"), HasSubstr("this is a file"));

  copy_package(folder / "model");
  fs::remove_all(folder / "model/text_encoder");
  fs::remove(folder / "model/detector/model.onnx.data");
  fs::resize_file(folder / "model/vision_encoder/model.onnx.data", 100);
  // Everything that is wrong, at once, and only of this workflow.
  EXPECT_THAT(text_problem(folder / "model"),
              AllOf(HasSubstr("text_encoder"), HasSubstr("no such file"), HasSubstr("weights of"),
                    HasSubstr("has 100 bytes")));
  const Model model = Model::open(folder / "model").value();
  EXPECT_TRUE(model.prepare(Workflow::kPoint).ok());
}

TEST(Package, SaysThatAFileIsAPointer) {
  TemporaryFolder folder;
  copy_package(folder / "model");
  test::write_file(folder / "model/detector/model.onnx",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
  EXPECT_THAT(text_problem(folder / "model"), HasSubstr("git lfs pull"));
}

TEST(Package, SwappedGraphsAreNoticedBeforeAnythingRuns) {
  TemporaryFolder folder;
  copy_package(folder / "model");
  fs::rename(folder / "model/detector", folder / "model/x");
  fs::rename(folder / "model/prompt_decoder", folder / "model/detector");
  fs::rename(folder / "model/x", folder / "model/prompt_decoder");
  const std::string problem = text_problem(folder / "model");
  EXPECT_THAT(problem, AllOf(HasSubstr("'text_features'"), HasSubstr("'pred_masks_bits'"),
                             HasSubstr("'input_points'")));
  EXPECT_FALSE(Model::open(folder / "model").value().prepare(Workflow::kPoint).ok());
}

TEST(Package, DescriptionGivesNameAndNormalisation) {
  TemporaryFolder folder;
  copy_package(folder / "model");
  const auto plain = Model::open(folder / "model").value();
  EXPECT_EQ(plain.name(), "model");
  const auto before = plain.model_input(picture()).value();
  test::write_file(folder / "model/model.json",
                   R"({"name": "tiny", "mean": [0, 0, 0], "std": [1, 1, 1]})");
  const auto described = Model::open(folder / "model").value();
  EXPECT_EQ(described.name(), "tiny");
  const auto after = described.model_input(picture()).value();
  EXPECT_NEAR(after[0], before[0] / 2 + 0.5F, 1e-5);

  for (const char* bad : {"[]", "{", R"({"name": 3})", R"({"mean": [1, 2]})",
                          R"({"std": [1, 0, 1]})", R"({"std": "x"})"}) {
    test::write_file(folder / "model/model.json", bad);
    const auto model = Model::open(folder / "model");
    ASSERT_FALSE(model.ok()) << bad;
    EXPECT_THAT(model.error().file, HasSubstr("model.json"));
  }
}

TEST(Package, PromptsAreChecked) {
  const Model model = Model::open(data("tiny/dynamo")).value();
  const ImageFeatures features = model.encode_image(picture()).value();
  for (const char* bad : {"", " ", "\n\t", "\xe2\x80\x8b", "caf\xe9"}) {
    const auto detections = model.detect(features, bad);
    ASSERT_FALSE(detections.ok()) << bad;
    EXPECT_EQ(detections.error().code, ErrorCode::kInvalidArgument);
  }
  for (const double bad : {-0.1, 1.0, 2.0, std::nan("")}) {
    DetectOptions options;
    options.threshold = bad;
    EXPECT_EQ(model.detect(features, "dog", options).error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(model.encode_image(Picture()).ok());
}

}  // namespace
}  // namespace sam3
