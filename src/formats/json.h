// The JSON documents of `sam3`: one object a picture, keys always in the same order.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sam3/picture.h"

namespace sam3::formats {

// Rules for all documents here: text is valid UTF-8, malformed bytes become U+FFFD. Scores, IoUs
// and times have up to six significant digits, coordinates two decimals. What is not a finite
// number is null. Numbers do not depend on the locale.

// What every document begins with. `image` is the path as given, any bytes; when it is not valid
// UTF-8, the member "image_bytes" has the exact bytes, percent-encoded.
struct DocumentHead {
  std::string image;
  Size size;
  std::string model;
  std::string device;                                   // the one really used
  std::vector<std::pair<std::string, double>> timings;  // step, seconds
  std::vector<std::string> warnings;                    // left out when there are none
};

// COCO's compressed run lengths, as compressed_counts() makes them.
struct RleText {
  Size size;
  std::string counts;
};

// A detection of another class that stands for the same object.
struct MergedEntry {
  std::string prompt;
  double score = 0;
  Box box;
};

struct DetectionEntry {
  std::string prompt;
  double score = 0;
  Box box;
  std::optional<std::int64_t> area;  // left out where no mask was made
  std::optional<RleText> rle;
  std::vector<MergedEntry> merged;
};

// {"image", "image_bytes"?, "width", "height", "model", "device", "timings", "detections": [
//   {"prompt", "score", "box": [x0, y0, x1, y1], "area"?, "rle"?: {"size": [h, w], "counts"},
//    "merged"?: [{"prompt", "score", "box"}]}],
//  "warnings"?}
nlohmann::ordered_json detections_document(const DocumentHead& head,
                                           std::span<const DetectionEntry> detections);

struct PointEntry {
  double iou = 0;
  bool present = false;
  double object_score = 0;
  double stability = 0;
  int token = 0;
  std::int64_t area = 0;
  Box box;
  std::optional<RleText> rle;
};

// {"image", "image_bytes"?, "width", "height", "model", "device", "timings", "iou", "present",
//  "object_score", "stability", "token", "area", "box", "rle"?, "warnings"?}
nlohmann::ordered_json point_document(const DocumentHead& head, const PointEntry& point);

// {"image", "image_bytes"?, "error"}
nlohmann::ordered_json failed_document(const std::string& image, const std::string& error);

// The text of a document: on one line, or with `indent` spaces a level. Never fails.
std::string dump_json(const nlohmann::ordered_json& document, int indent = -1);

}  // namespace sam3::formats
