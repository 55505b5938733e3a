// How useful the demo model is on pictures that it has not seen. The bounds are slightly below what
// was measured, and a bound that has become slack fails too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "sam3/sam3.h"
#include "support/files.h"

namespace sam3 {
namespace {

using nlohmann::json;

std::filesystem::path source(const std::string& name) {
  return std::filesystem::path(SAM3_SOURCE_DIR) / name;
}

// Measured on a processor with VNNI: 0.897, 0.866 and 0.874; F1 on one with AVX2 only: 0.909. Such
// differences are left room for.
constexpr double kTextF1 = 0.885;
constexpr double kClickIou = 0.855;
constexpr double kBoxIou = 0.855;

struct Object {
  Box box;
  Point inside;
  Mask mask;
};

struct Scene {
  Picture picture;
  std::vector<Object> objects;  // by id - 1
  json prompts;
};

Box box_of(const json& value) { return {value[0], value[1], value[2], value[3]}; }

Scene load(const std::filesystem::path& folder, const json& entry) {
  Scene scene;
  scene.picture = read_picture(folder / entry["file"].get<std::string>()).value().picture;
  const Picture labels = read_picture(folder / entry["labels"].get<std::string>()).value().picture;
  scene.prompts = entry["prompts"];
  for (const json& object : entry["objects"]) {
    const int id = object["id"];
    Mask mask(labels.size());
    for (int y = 0; y < labels.height(); ++y)
      for (int x = 0; x < labels.width(); ++x)
        if (labels.row(y)[3 * x] == id) mask.set(x, y);
    scene.objects.push_back(
        {box_of(object["box"]), {object["inside"][0], object["inside"][1]}, std::move(mask)});
  }
  return scene;
}

std::vector<Scene> scenes(const std::string& name) {
  const std::filesystem::path folder = source(name);
  const json truth = json::parse(test::read_file(folder / "truth.json"));
  std::vector<Scene> scenes;
  for (const json& entry : truth["pictures"]) scenes.push_back(load(folder, entry));
  return scenes;
}

double box_iou(const Box& a, const Box& b) {
  const double w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Box& box) { return (box.x1 - box.x0) * (box.y1 - box.y0); };
  return w * h / (area(a) + area(b) - w * h);
}

struct Counts {
  int hits = 0;
  int found = 0;
  int wanted = 0;
  double f1() const { return 2.0 * hits / std::max(1, found + wanted); }
};

// Detections by falling score each take the object that they overlap most, if box and mask IoU
// reach 0.5.
void count(const std::vector<Detection>& detections, const Scene& scene,
           const std::vector<int>& wanted, Counts& counts) {
  std::vector<bool> taken(wanted.size(), false);
  for (const Detection& detection : detections) {
    const Mask mask = detection.mask();
    int best = -1;
    double best_iou = 0.5;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Object& object = scene.objects[static_cast<std::size_t>(wanted[i] - 1)];
      if (taken[i] || box_iou(detection.box, object.box) < 0.5) continue;
      const double iou = mask_iou(mask, object.mask);
      if (iou >= best_iou) best = static_cast<int>(i), best_iou = iou;
    }
    if (best < 0) continue;
    taken[static_cast<std::size_t>(best)] = true;
    ++counts.hits;
  }
  counts.found += static_cast<int>(detections.size());
  counts.wanted += static_cast<int>(wanted.size());
}

void expect_near_bound(double value, double bound, const char* what) {
  std::printf("%s %.4f\n", what, value);
  EXPECT_GE(value, bound) << what;
  EXPECT_LE(value, bound + 0.05) << what << ": the bound has become slack";
}

TEST(DemoModel, FindsWhatPhrasesName) {
  const Model model = Model::open(source("models/demo")).value();
  Counts counts;
  for (const Scene& scene : scenes("tests/data/scenes")) {
    const ImageFeatures features = model.encode_image(scene.picture).value();
    for (const json& prompt : scene.prompts)
      count(model.detect(features, prompt["text"].get<std::string>()).value(), scene,
            prompt["objects"], counts);
  }
  EXPECT_GT(counts.wanted, 40);
  expect_near_bound(counts.f1(), kTextF1, "text F1");
}

TEST(DemoModel, SegmentsWhatIsClickedOrBoxed) {
  const Model model = Model::open(source("models/demo")).value();
  double clicks = 0;
  double boxes = 0;
  int objects = 0;
  for (const Scene& scene : scenes("tests/data/scenes")) {
    const ImageEmbeddings embeddings = model.embed_image(scene.picture).value();
    for (const Object& object : scene.objects) {
      PointPrompt click;
      click.positive.push_back(object.inside);
      clicks += mask_iou(model.segment(embeddings, click).value().mask(), object.mask);
      PointPrompt box;
      box.box = object.box;
      boxes += mask_iou(model.segment(embeddings, box).value().mask(), object.mask);
      ++objects;
    }
  }
  expect_near_bound(clicks / objects, kClickIou, "click IoU");
  expect_near_bound(boxes / objects, kBoxIou, "box IoU");
}

}  // namespace
}  // namespace sam3
