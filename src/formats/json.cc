#include "formats/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/utf8.h"

namespace sam3::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSignificantDigits = 6;

std::string percent_encoded(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      text += c;
    } else {
      text += '%';
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
  }
  return text;
}

// The library writes the shortest text that reads back as the same number, but for one number in a
// thousand (Grisu2), so rounding the value rounds the text.
Json rounded_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, kSignificantDigits);
  double rounded = 0;
  std::from_chars(text.data(), end.ptr, rounded);
  return rounded;
}

Json coordinate(double value) {
  if (!std::isfinite(value)) return nullptr;
  const double rounded = std::round(value * 100) / 100;
  return rounded == 0 ? 0.0 : rounded;  // no -0.0
}

Json box_json(const Box& box) {
  return Json::array(
      {coordinate(box.x0), coordinate(box.y0), coordinate(box.x1), coordinate(box.y1)});
}

Json rle_json(const RleText& rle) {
  Json json;
  json["size"] = Json::array({rle.size.height, rle.size.width});
  json["counts"] = replace_invalid_utf8(rle.counts);
  return json;
}

void add_image(Json& document, const std::string& image) {
  document["image"] = replace_invalid_utf8(image);
  if (find_invalid_utf8(image)) document["image_bytes"] = percent_encoded(image);
}

Json begin_document(const DocumentHead& head) {
  Json document;
  add_image(document, head.image);
  document["width"] = head.size.width;
  document["height"] = head.size.height;
  document["model"] = replace_invalid_utf8(head.model);
  document["device"] = replace_invalid_utf8(head.device);
  document["timings"] = Json::object();
  for (const auto& [step, seconds] : head.timings)
    document["timings"][replace_invalid_utf8(step)] = rounded_number(seconds);
  return document;
}

void end_document(Json& document, const DocumentHead& head) {
  if (head.warnings.empty()) return;
  document["warnings"] = Json::array();
  for (const std::string& warning : head.warnings)
    document["warnings"].push_back(replace_invalid_utf8(warning));
}

Json found_json(const std::string& prompt, double score, const Box& box) {
  Json entry;
  entry["prompt"] = replace_invalid_utf8(prompt);
  entry["score"] = rounded_number(score);
  entry["box"] = box_json(box);
  return entry;
}

}  // namespace

Json detections_document(const DocumentHead& head, std::span<const DetectionEntry> detections) {
  Json document = begin_document(head);
  document["detections"] = Json::array();
  for (const DetectionEntry& detection : detections) {
    Json entry = found_json(detection.prompt, detection.score, detection.box);
    if (detection.area) entry["area"] = *detection.area;
    if (detection.rle) entry["rle"] = rle_json(*detection.rle);
    for (const MergedEntry& other : detection.merged)
      entry["merged"].push_back(found_json(other.prompt, other.score, other.box));
    document["detections"].push_back(std::move(entry));
  }
  end_document(document, head);
  return document;
}

Json point_document(const DocumentHead& head, const PointEntry& point) {
  Json document = begin_document(head);
  document["iou"] = rounded_number(point.iou);
  document["present"] = point.present;
  document["object_score"] = rounded_number(point.object_score);
  document["stability"] = rounded_number(point.stability);
  document["token"] = point.token;
  document["area"] = point.area;
  document["box"] = box_json(point.box);
  if (point.rle) document["rle"] = rle_json(*point.rle);
  end_document(document, head);
  return document;
}

Json failed_document(const std::string& image, const std::string& error) {
  Json document;
  add_image(document, image);
  document["error"] = replace_invalid_utf8(error);
  return document;
}

std::string dump_json(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sam3::formats
