// One model and one picture's features, asked from many threads.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "sam3/sam3.h"
#include "support/files.h"

namespace sam3 {
namespace {

using test::data;

const std::vector<std::string>& words() {
  static const auto* const words = new std::vector<std::string>{
      "dog", "cat", "bottle", "red car", "visual", "tree", "a cup", "person", "chair", "blue"};
  return *words;
}

bool same(const std::vector<Detection>& a, const std::vector<Detection>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].score != b[i].score || !(a[i].box == b[i].box) || !(a[i].mask() == b[i].mask()))
      return false;
  return true;
}

TEST(Threads, AnswersAreBitIdenticalToSerialOnes) {
  const Picture picture = read_picture(data("tiny/io/picture.png")).value().picture;
  const Model model = Model::open(data("tiny/dynamo")).value();
  const ImageFeatures features = model.encode_image(picture).value();
  std::vector<std::vector<Detection>> serial;
  for (const std::string& word : words()) serial.push_back(model.detect(features, word).value());

  // A second model has nothing cached, so the threads also race to encode the phrases.
  const Model fresh = Model::open(data("tiny/dynamo")).value();
  const ImageFeatures fresh_features = fresh.encode_image(picture).value();
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < words().size(); ++i) {
        const std::size_t at = (i + 3 * t) % words().size();
        const auto detections = fresh.detect(fresh_features, words()[at]);
        wrong[t] += !detections.ok() || !same(*detections, serial[at]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Threads, FirstUseMayRace) {
  const Picture picture = read_picture(data("tiny/io/picture.png")).value().picture;
  const Model model = Model::open(data("tiny/dynamo")).value();
  std::vector<float> ious(4, -1);
  std::vector<std::thread> threads;
  for (float& iou : ious)
    threads.emplace_back([&] {
      const auto embeddings = model.embed_image(picture);
      if (!embeddings.ok()) return;
      const auto selection = model.segment(*embeddings, {{{200, 140}}, {}, {}});
      if (selection.ok()) iou = selection->iou;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(ious[0], 0);
  for (const float iou : ious) EXPECT_EQ(iou, ious[0]);
}

TEST(Lifetime, AnyOrderOfDestructionWorks) {
  for (int round = 0; round < 3; ++round) {
    std::vector<Detection> detections;
    {
      ImageFeatures features;
      {
        const Model model = Model::open(data("tiny/dynamo")).value();
        features =
            model.encode_image(read_picture(data("tiny/io/picture.png")).value().picture).value();
        detections = model.detect(features, "dog").value();
      }
    }
    ASSERT_FALSE(detections.empty());
    EXPECT_GT(detections[0].mask().area(), 0);
  }
}

TEST(Lifetime, AnEmptyModelSaysSo) {
  const Model empty;
  EXPECT_EQ(empty.prepare(Workflow::kText).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(empty.encode_image(Picture()).ok());
  EXPECT_FALSE(empty.segment({}, {}).ok());
  EXPECT_FALSE(empty.tokenize("dog").ok());
  EXPECT_FALSE(empty.info().ok());
  EXPECT_EQ(empty.name(), "");
}

TEST(Lifetime, FeaturesBelongToTheirModel) {
  const Picture picture = read_picture(data("tiny/io/picture.png")).value().picture;
  const Model one = Model::open(data("tiny/dynamo")).value();
  const Model two = Model::open(data("tiny/torchscript")).value();
  const ImageFeatures features = one.encode_image(picture).value();
  EXPECT_EQ(two.detect(features, "dog").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(one.detect(ImageFeatures(), "dog").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(one.detect(features, "dog").ok());
}

}  // namespace
}  // namespace sam3
