// End results of the tiny model against the reference, for any package that holds its weights.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sam3/sam3.h"
#include "support/files.h"
#include "support/masks.h"
#include "support/safetensors.h"

namespace sam3::test {

inline constexpr double kScoreTolerance = 1e-3;
inline constexpr double kBoxTolerance = 0.1;     // pixels
inline constexpr double kMaskTolerance = 0.001;  // of a mask's pixels

inline Picture tiny_picture() { return read_picture(data("tiny/io/picture.png")).value().picture; }

inline void expect_masks(const Mask& mask, const Safetensors& masks, const std::string& name,
                         std::size_t index = 0) {
  const auto packed = masks[name].values<std::uint8_t>();
  const auto pixels = static_cast<double>(mask.width()) * mask.height();
  EXPECT_LE(static_cast<double>(differing_pixels(mask, packed, index)), kMaskTolerance * pixels)
      << name << " " << index;
}

inline void check_text_results(const Model& model) {
  const nlohmann::json results = nlohmann::json::parse(read_file(data("tiny/io/results.json")));
  const Safetensors masks(data("tiny/io/results_masks.safetensors").string());
  const ImageFeatures features = model.encode_image(tiny_picture()).value();
  const double width = results["width"];
  const double height = results["height"];
  for (const nlohmann::json& expected : results["text"]) {
    const std::string prompt = expected["prompt"];
    if (prompt.empty()) continue;  // refused; the graphs' answer to it is tested with the stages
    const auto detections = model.detect(features, prompt);
    ASSERT_TRUE(detections.ok()) << detections.error().to_string();
    const std::vector<int> kept = expected["kept"];
    ASSERT_EQ(detections->size(), kept.size()) << prompt;
    EXPECT_TRUE(std::is_sorted(detections->begin(), detections->end(),
                               [](const auto& a, const auto& b) { return a.score > b.score; }));
    for (const Detection& detection : *detections) {
      const auto at = std::find(kept.begin(), kept.end(), detection.query);
      ASSERT_NE(at, kept.end()) << "query " << detection.query << " should not be kept";
      const auto row = static_cast<std::size_t>(at - kept.begin());
      EXPECT_EQ(detection.prompt, prompt);
      EXPECT_NEAR(detection.score,
                  expected["scores"][static_cast<std::size_t>(detection.query)].get<double>(),
                  kScoreTolerance);
      const std::vector<double> box = expected["boxes"][row];
      EXPECT_NEAR(detection.box.x0, std::clamp(box[0], 0.0, width), kBoxTolerance);
      EXPECT_NEAR(detection.box.y0, std::clamp(box[1], 0.0, height), kBoxTolerance);
      EXPECT_NEAR(detection.box.x1, std::clamp(box[2], 0.0, width), kBoxTolerance);
      EXPECT_NEAR(detection.box.y1, std::clamp(box[3], 0.0, height), kBoxTolerance);
      const std::string name = expected["case"].get<std::string>() + ".bits_bilinear";
      if (static_cast<std::int64_t>(row) < masks[name].shape[0])
        expect_masks(detection.mask(), masks, name, row);
    }
  }
}

inline PointPrompt prompt_of(const nlohmann::json& points, const nlohmann::json& labels) {
  PointPrompt prompt;
  Box box;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Point point{points[i][0], points[i][1]};
    if (labels[i] == 1) prompt.positive.push_back(point);
    if (labels[i] == 0) prompt.negative.push_back(point);
    if (labels[i] == 2) box.x0 = point.x, box.y0 = point.y;
    if (labels[i] == 3) box.x1 = point.x, box.y1 = point.y, prompt.box = box;
  }
  return prompt;
}

inline void check_point_results(const Model& model, bool no_mem) {
  const nlohmann::json results = nlohmann::json::parse(read_file(data("tiny/io/results.json")));
  const Safetensors masks(data("tiny/io/results_masks.safetensors").string());
  const ImageEmbeddings embeddings = model.embed_image(tiny_picture()).value();
  int checked = 0;
  for (const nlohmann::json& expected : results["points"]) {
    if (expected["no_mem"] != no_mem || expected["mask_input"] == true) continue;
    for (std::size_t object = 0; object < expected["objects"].size(); ++object) {
      const nlohmann::json& answer = expected["objects"][object];
      const auto selection = model.segment(
          embeddings, prompt_of(expected["points_px"][object], expected["labels"][object]));
      ASSERT_TRUE(selection.ok()) << selection.error().to_string();
      const std::string name = expected["case"];
      EXPECT_EQ(selection->token, answer["token"]) << name;
      EXPECT_NEAR(selection->iou, answer["iou"].get<double>(), kScoreTolerance) << name;
      EXPECT_NEAR(selection->stability, answer["stability"].get<double>(), kScoreTolerance) << name;
      EXPECT_EQ(selection->present, answer["present"]) << name;
      EXPECT_NEAR(selection->object_score,
                  1 / (1 + std::exp(-answer["object_score_logit"].get<double>())), kScoreTolerance);
      expect_masks(selection->mask(), masks, "points_" + name + (no_mem ? "_no_mem" : ""), object);
      ++checked;
    }
  }
  EXPECT_GE(checked, no_mem ? 5 : 9);
}

}  // namespace sam3::test
