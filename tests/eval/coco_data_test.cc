#include "eval/coco_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/files.h"

namespace sam3::eval {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json good_truth() {
  return json::parse(R"({
    "images": [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 3}],
    "categories": [{"id": 7, "name": "cat"}],
    "annotations": [{"id": 5, "image_id": 1, "category_id": 7, "iscrowd": 0, "area": 4,
                     "bbox": [1, 0, 2, 2],
                     "segmentation": {"size": [3, 4], "counts": [3, 2, 1, 2, 4]}}]})");
}

json good_results() {
  return json::parse(R"([{"image_id": 1, "category_id": 7, "score": 0.5, "bbox": [1, 0, 2, 2]}])");
}

CocoTruth truth() { return parse_coco_truth(good_truth().dump()).value(); }

std::string truth_error(const json& document) {
  const auto result = parse_coco_truth(document.dump());
  if (result.ok()) return "no error";
  EXPECT_EQ(result.error().code, ErrorCode::kBadData);
  return result.error().message;
}

std::string results_error(const json& document) {
  const auto result = coco_results(document, truth());
  if (result.ok()) return "no error";
  EXPECT_EQ(result.error().code, ErrorCode::kBadData);
  return result.error().message;
}

TEST(CocoTruth, IsRead) {
  const CocoTruth read = truth();
  EXPECT_EQ(read.images.at(0).file_name, "a.jpg");
  EXPECT_EQ(read.images[0].size, (Size{4, 3}));
  EXPECT_TRUE(read.has_masks);
  EXPECT_FALSE(read.has_phrases);
  const CocoAnnotation& annotation = read.annotations.at(0);
  EXPECT_EQ(annotation.area, 4);
  EXPECT_EQ(annotation.box.box(), (Box{1, 0, 3, 2}));
  EXPECT_EQ(annotation.mask->counts, (std::vector<std::uint32_t>{3, 2, 1, 2, 4}));
  EXPECT_TRUE(read.warnings.empty());
}

// Three ways to write one mask.
TEST(CocoTruth, ReadsPolygonsAndRunLengths) {
  const auto with = [](const char* segmentation) {
    json document = good_truth();
    document["annotations"][0]["segmentation"] = json::parse(segmentation);
    return parse_coco_truth(document.dump()).value().annotations.at(0).mask.value().counts;
  };
  const auto expected = truth().annotations[0].mask->counts;
  EXPECT_EQ(with("[[1, 0, 1, 2, 3, 2, 3, 0]]"), expected);
  EXPECT_EQ(with(R"({"size": [3, 4], "counts": "32103"})"), expected);
}

TEST(CocoTruth, FillsInWhatIsMissing) {
  json document = good_truth();
  json& annotation = document["annotations"][0];
  for (const char* key : {"iscrowd", "area", "bbox"}) annotation.erase(key);
  const CocoTruth filled = parse_coco_truth(document.dump()).value();
  EXPECT_FALSE(filled.annotations[0].crowd);
  EXPECT_EQ(filled.annotations[0].area, 4);
  EXPECT_EQ(filled.annotations[0].box.box(), (Box{1, 0, 3, 2}));
  annotation["segmentation"] = json::array();
  annotation["bbox"] = {0, 0, 2, 3};
  const CocoTruth boxes = parse_coco_truth(document.dump()).value();
  EXPECT_FALSE(boxes.has_masks);
  EXPECT_EQ(boxes.annotations[0].area, 6);
}

TEST(CocoTruth, WarnsOfTheIdZero) {
  json document = good_truth();
  document["annotations"][0]["id"] = 0;
  const CocoTruth read = parse_coco_truth(document.dump()).value();
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_THAT(read.warnings[0], HasSubstr("id 0"));
}

TEST(CocoTruth, TakesBoxesOfPhrasesFromMasks) {
  json document = good_truth();
  document["images"][0]["text_input"] = "a cat";
  document["images"][0]["is_instance_exhaustive"] = 0;
  document["annotations"][0]["bbox"] = {0.25, 0, 0.5, 0.667};
  const CocoTruth read = parse_coco_truth(document.dump()).value();
  EXPECT_TRUE(read.has_phrases);
  EXPECT_EQ(read.images[0].phrase, "a cat");
  EXPECT_FALSE(read.images[0].exhaustive);
  EXPECT_EQ(read.annotations[0].box.box(), (Box{1, 0, 3, 2}));
}

TEST(CocoTruth, SaysWhatIsWrongAndWhere) {
  struct Wrong {
    const char* place;  // what is replaced, or removed if the value is "-"
    const char* value;
    const char* message;
  };
  const Wrong cases[] = {
      {"/images", "-", "images: missing"},
      {"/categories", "[]", "categories: the list is empty"},
      {"/annotations", "{}", "annotations: {} is no list"},
      {"/images/0", "3", "images[0]: 3 is no object"},
      {"/images/0/id", "-", "images[0].id: missing"},
      {"/images/0/width", "-4", "images[0].width: -4 is out of range"},
      {"/images/0/height", "1e300", "images[0].height: 1e+300 is no whole number"},
      {"/images/0/file_name", "7", "images[0].file_name: 7 is no text"},
      {"/categories/0/id", "\"7\"", "categories[0].id: \"7\" is no whole number"},
      {"/annotations/0/id", "1.5", "annotations[0].id: 1.5 is no whole number"},
      {"/annotations/0/id", "18446744073709551615", "is no whole number"},
      {"/annotations/0/image_id", "2", "annotations[0].image_id: 2 is not among the images"},
      {"/annotations/0/category_id", "8", "category_id: 8 is not among the categories"},
      {"/annotations/0/iscrowd", "2", "annotations[0].iscrowd: 2 is not 0 or 1"},
      {"/annotations/0/bbox", "[1, 2, 3]", "annotations[0].bbox: 3 numbers instead of"},
      {"/annotations/0/bbox", "[1, 2, -3, 4]", "below zero"},
      {"/annotations/0/bbox", "[1, null, 3, 4]", "annotations[0].bbox: null is no number"},
      {"/annotations/0/bbox", "[[[1]], 2, 3, 4]", "bbox: a nested array is no number"},
      {"/annotations/0/area", "\"big\"", "annotations[0].area: \"big\" is no number"},
      {"/annotations/0/segmentation", "[[1, 2]]", "annotations[0].segmentation: polygon"},
      {"/annotations/0/segmentation", "[1, 2, 3]", "segmentation[0]: 1 is no list of numbers"},
      {"/annotations/0/segmentation", "\"x\"", "segmentation: \"x\" is no object"},
      {"/annotations/0/segmentation/size", "[4, 3]", "is not [height, width] of the picture"},
      {"/annotations/0/segmentation/counts", "-", "segmentation.counts: missing"},
      {"/annotations/0/segmentation/counts", "[3, -1, 10]", "-1.000000 is no run length"},
      {"/annotations/0/segmentation/counts", "[3, 4]", "add up to 7"},
      {"/annotations/0/segmentation/counts", "\"zz\"", "run lengths"},
  };
  for (const Wrong& wrong : cases) {
    json document = good_truth();
    const json::json_pointer place(wrong.place);
    if (std::string(wrong.value) == "-")
      document.at(place.parent_pointer()).erase(place.back());
    else
      document[place] = json::parse(wrong.value);
    EXPECT_THAT(truth_error(document), HasSubstr(wrong.message)) << wrong.place;
  }
}

// The rows of a mask are whole words: this one would need 16 GB.
TEST(CocoTruth, RefusesMasksThatAreTooLarge) {
  json document = good_truth();
  document["images"][0]["height"] = 2147483647;
  const auto result = parse_coco_truth(document.dump());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kLimit);
  EXPECT_THAT(result.error().message, HasSubstr("a mask of 4x2147483647 pixels is too large"));
}

TEST(CocoTruth, RefusesIdsThatStandTwice) {
  for (const char* list : {"images", "categories", "annotations"}) {
    json document = good_truth();
    document[list].push_back(document[list][0]);
    EXPECT_THAT(truth_error(document), HasSubstr(std::string(list) + "[1].id")) << list;
  }
}

TEST(CocoTruth, RefusesMasksOfPicturesWithoutSize) {
  json document = good_truth();
  document["images"][0].erase("width");
  EXPECT_THAT(truth_error(document), HasSubstr("the picture 1 has no width and height"));
}

TEST(CocoTruth, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1, 2", "{\"images\": [}", "\xff\xfe", "nul"}) {
    const auto result = parse_coco_truth(text);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("no JSON")) << text;
  }
  EXPECT_THAT(parse_coco_truth("[]").error().message, HasSubstr("no object"));
  // Deep nesting must not exhaust the stack.
  EXPECT_FALSE(parse_coco_truth(std::string(200000, '[')).ok());
}

TEST(CocoFiles, NameTheFileInErrors) {
  const test::TemporaryFolder folder;
  const auto missing = read_coco_truth(folder / "none.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(read_coco_truth(folder.path()).ok());
  test::write_file(folder / "bad.json", "{]");
  const auto bad = read_coco_results(folder / "bad.json", truth());
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kBadData);
  EXPECT_EQ(bad.error().file, (folder / "bad.json").string());
}

TEST(CocoResults, TakeAreasFromWhatTheFirstOneHas) {
  const CocoResults boxes = coco_results(good_results(), truth()).value();
  EXPECT_FALSE(boxes.has_masks);
  EXPECT_EQ(boxes.detections.at(0).area, 4);
  json document = good_results();
  document[0].erase("bbox");
  document[0]["segmentation"] = json::parse(R"({"size": [3, 4], "counts": [3, 3, 6]})");
  const CocoResults masks = coco_results(document, truth()).value();
  EXPECT_TRUE(masks.has_masks);
  EXPECT_EQ(masks.detections.at(0).area, 3);
  EXPECT_EQ(masks.detections[0].box.box(), (Box{1, 0, 2, 3}));
}

TEST(CocoResults, LeaveOutUnknownCategories) {
  json document = good_results();
  document.push_back(document[0]);
  document[1]["category_id"] = 90;
  const CocoResults results = coco_results(document, truth()).value();
  EXPECT_EQ(results.detections.size(), 1U);
  ASSERT_EQ(results.warnings.size(), 1U);
  EXPECT_THAT(results.warnings[0], HasSubstr("1 of 2 results"));
}

TEST(CocoResults, SayWhatIsWrongAndWhere) {
  const auto with = [](const char* key, const json& value) {
    json document = good_results();
    document.push_back(document[0]);
    if (value.is_null())
      document[1].erase(key);
    else
      document[1][key] = value;
    return results_error(document);
  };
  EXPECT_EQ(results_error(json::array()), "no error");
  EXPECT_THAT(results_error(json::object()), HasSubstr("results are a list"));
  EXPECT_THAT(results_error(json::array({4})), HasSubstr("results[0]: 4 is no object"));
  EXPECT_THAT(with("image_id", 9), HasSubstr("results[1].image_id: 9 is not among the images"));
  EXPECT_THAT(with("score", "high"), HasSubstr("results[1].score: \"high\" is no number"));
  EXPECT_THAT(with("score", nullptr), HasSubstr("results[1].score: missing"));
  EXPECT_THAT(with("bbox", nullptr), HasSubstr("results[1].bbox: missing"));
  EXPECT_THAT(with("segmentation", json::parse(R"({"size": [3, 4], "counts": "%"})")),
              HasSubstr("results[1].segmentation"));
}

TEST(CocoTruth, IsRestrictedToSomePictures) {
  json document = good_truth();
  document["images"].push_back({{"id", 2}, {"file_name", "b.jpg"}, {"width", 4}, {"height", 3}});
  const CocoTruth all = parse_coco_truth(document.dump()).value();
  const CocoTruth second = restricted(all, {2});
  EXPECT_EQ(second.images.size(), 1U);
  EXPECT_EQ(second.image_index.at(2), 0U);
  EXPECT_TRUE(second.annotations.empty());
  EXPECT_EQ(restricted(all, {1}).annotations.size(), 1U);
}

}  // namespace
}  // namespace sam3::eval
