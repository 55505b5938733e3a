#include "formats/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <locale>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace sam3 {
namespace {

formats::DocumentHead base_head() {
  formats::DocumentHead head;
  head.image = "base.png";
  head.size = {640, 480};
  head.model = "demo";
  head.device = "cpu";
  head.timings = {{"decode", 0.0123456789}, {"vision", 2.0}};
  return head;
}

TEST(Json, DetectionsHaveTheirMembersInOrder) {
  formats::DetectionEntry plain{"black square", 0.93451249, {120.004, 59.996, 280, 220},
                                25600,          {},         {}};
  formats::DetectionEntry packed = plain;
  packed.rle = formats::RleText{{640, 480}, "abc\\01"};
  const auto document =
      formats::detections_document(base_head(), std::vector{std::move(plain), std::move(packed)});
  EXPECT_EQ(formats::dump_json(document),
            R"({"image":"base.png","width":640,"height":480,"model":"demo","device":"cpu",)"
            R"("timings":{"decode":0.0123457,"vision":2.0},"detections":[)"
            R"({"prompt":"black square","score":0.934512,"box":[120.0,60.0,280.0,220.0],)"
            R"("area":25600},)"
            R"({"prompt":"black square","score":0.934512,"box":[120.0,60.0,280.0,220.0],)"
            R"("area":25600,"rle":{"size":[480,640],"counts":"abc\\01"}}]})");
}

TEST(Json, NoDetectionsIsAnEmptyList) {
  auto head = base_head();
  head.warnings = {"it has 2 pages"};
  const auto document = formats::detections_document(head, {});
  EXPECT_TRUE(document.at("detections").is_array());
  EXPECT_EQ(document.at("detections").size(), 0U);
  EXPECT_EQ(document.at("warnings").at(0), "it has 2 pages");
}

TEST(Json, MergedDetectionsAreListedAndMissingAreasLeftOut) {
  const formats::DetectionEntry entry{"cup",        0.5, {0, 1, 2, 3},
                                      std::nullopt, {},  {{"caf\xE9", 0.25, {0, 1, 2, 2}}}};
  const auto document = formats::detections_document(base_head(), {&entry, 1});
  EXPECT_EQ(formats::dump_json(document.at("detections")),
            R"([{"prompt":"cup","score":0.5,"box":[0.0,1.0,2.0,3.0],"merged":)"
            "[{\"prompt\":\"caf\xEF\xBF\xBD\",\"score\":0.25,\"box\":[0.0,1.0,2.0,2.0]}]}]");
}

TEST(Json, PointDocumentHasItsMembersInOrder) {
  auto head = base_head();
  head.timings.clear();
  formats::PointEntry point{0.98, true, 7.25, 0.991, 2, 25600, {120, 60, 280, 220}, {}};
  EXPECT_EQ(formats::dump_json(formats::point_document(head, point)),
            R"({"image":"base.png","width":640,"height":480,"model":"demo","device":"cpu",)"
            R"("timings":{},"iou":0.98,"present":true,"object_score":7.25,"stability":0.991,)"
            R"("token":2,"area":25600,"box":[120.0,60.0,280.0,220.0]})");
}

TEST(Json, OddFileNamesStayValidAndExact) {
  const std::string name = "a\"'\n\t\x01[1]%20d \xE6\xA9\x8B latin1-\xE9.jpg";
  const auto document = formats::failed_document(name, "cannot read caf\xE9");
  const std::string text = formats::dump_json(document);
  EXPECT_FALSE(find_invalid_utf8(text));
  const auto parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed.at("image"), "a\"'\n\t\x01[1]%20d \xE6\xA9\x8B latin1-\xEF\xBF\xBD.jpg");
  EXPECT_EQ(parsed.at("image_bytes"), "a%22%27%0A%09%01%5B1%5D%2520d%20%E6%A9%8B%20latin1-%E9.jpg");
  EXPECT_EQ(parsed.at("error"), "cannot read caf\xEF\xBF\xBD");
}

TEST(Json, ValidNamesHaveNoBytesMember) {
  EXPECT_EQ(formats::dump_json(formats::failed_document("sub/\xC3\xA9.jpg", "empty")),
            "{\"image\":\"sub/\xC3\xA9.jpg\",\"error\":\"empty\"}");
}

TEST(Json, WhatIsNoNumberIsNull) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const formats::DetectionEntry entry{"x", nan, {nan, infinite, -0.001, 1}, 0, {}, {}};
  const auto document = formats::detections_document(base_head(), {&entry, 1});
  EXPECT_EQ(formats::dump_json(document.at("detections")),
            R"([{"prompt":"x","score":null,"box":[null,null,0.0,1.0],"area":0}])");
}

// A decimal point that is a comma, as in many of the world's locales.
class Comma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Json, LocaleDoesNotChangeNumbers) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  const formats::DetectionEntry entry{"x", 0.5, {1000.25, 0, 20000, 1}, 1234567, {}, {}};
  const auto document = formats::detections_document(base_head(), {&entry, 1});
  const std::string text = formats::dump_json(document.at("detections"));
  std::locale::global(before);
  EXPECT_EQ(text, R"([{"prompt":"x","score":0.5,"box":[1000.25,0.0,20000.0,1.0],"area":1234567}])");
}

}  // namespace
}  // namespace sam3
