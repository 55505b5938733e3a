#include "fetch/listing.h"

#include <gmock/gmock.h>

#include "support/files.h"

namespace sam3::fetch {
namespace {

using testing::HasSubstr;

const std::string kSum(64, 'a');

TEST(ListedPath, Good) {
  for (const char* path : {"model.json", "vision_encoder/model.onnx.data", "a b/c", "...", ".x/y",
                           "a/..b", "\xc3\xbc/\xe4\xb8\xad"})
    EXPECT_TRUE(check_relative_path(path).ok()) << path;
  EXPECT_TRUE(check_relative_path(std::string(255, 'x')).ok());
}

TEST(ListedPath, RefusedWithTheReason) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {"/etc/passwd", "absolute"},
      {"../x", "'..'"},
      {"a/../../x", "'..'"},
      {"a/..", "'..'"},
      {"./a", "'.'"},
      {"a//b", "empty part"},
      {"a/", "empty part"},
      {"a\\b", "backslash"},
      {"..\\..\\x", "backslash"},
      {"C:/x", "drive"},
      {"a\nb", "control"},
      {std::string("a\0b", 3), "control"},
      {"a\x7f", "control"},
      {"a\xff", "UTF-8"},
      {"\xc0\xae\xc0\xae/x", "UTF-8"},  // ".." in overlong form
      {std::string(256, 'x'), "255"},
      {std::string(1100, '/'), "1024"},
  };
  for (const auto& [path, reason] : cases) {
    const Status status = check_relative_path(path);
    ASSERT_FALSE(status.ok()) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kBadData);
    EXPECT_THAT(status.error().message, HasSubstr(reason));
  }
}

TEST(ListedPath, ClashesAreRefused) {
  const auto status = [](std::initializer_list<const char*> paths) {
    std::vector<ListedFile> files;
    for (const char* path : paths) files.push_back({path, std::nullopt, "", "", std::nullopt});
    return check_distinct(files);
  };
  EXPECT_TRUE(status({"a", "b/c", "b/d", "bc"}).ok());
  EXPECT_FALSE(status({"a", "b", "a"}).ok());
  EXPECT_FALSE(status({"License", "LICENSE"}).ok());
  EXPECT_FALSE(status({"a/b", "a"}).ok());
  EXPECT_FALSE(status({"A/b/c", "a/B"}).ok());
}

TEST(HubTree, FilesWithSizesAndSums) {
  const auto files = parse_hub_tree(R"([
      {"type": "directory", "oid": "1", "size": 0, "path": "detector"},
      {"type": "file", "oid": "0123", "size": 7, "path": "LICENSE"},
      {"type": "file", "oid": "4567", "size": 134, "path": "detector/model.onnx.data",
       "lfs": {"oid": ")" + kSum + R"(", "size": 30000000000, "pointerSize": 134}}])");
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].path, "LICENSE");
  EXPECT_EQ((*files)[0].bytes, 7);
  EXPECT_EQ((*files)[0].sha256, "");
  EXPECT_EQ((*files)[0].version, "0123");
  EXPECT_EQ((*files)[1].path, "detector/model.onnx.data");
  EXPECT_EQ((*files)[1].bytes, 30'000'000'000);
  EXPECT_EQ((*files)[1].sha256, kSum);
  EXPECT_EQ((*files)[1].version, kSum);
  EXPECT_TRUE(parse_hub_tree("[]").value().empty());
}

TEST(HubTree, WhatIsNoneIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "array"},
      {"{}", "array"},
      {"[1]", "object"},
      {"[{}]", "path"},
      {R"([{"type": "file", "path": 1}])", "path"},
      {R"([{"path": "a"}])", "not a file"},
      {R"([{"type": "symlink", "path": "a"}])", "'symlink'"},
      {R"([{"type": 1, "path": "a"}])", "type"},
      {R"([{"type": "file", "path": "../a"}])", "'..'"},
      {R"([{"type": "file", "path": "a", "size": -1}])", "-1"},
      {R"([{"type": "file", "path": "a", "size": 1.5}])", "1.5"},
      {R"([{"type": "file", "path": "a", "size": "1"}])", "string"},
      {R"([{"type": "file", "path": "a", "size": 18446744073709551615}])", "18446744073709551615"},
      {R"([{"type": "file", "path": "a", "lfs": {"oid": "abc"}}])", "abc"},
      {R"([{"type": "file", "path": "a", "lfs": {"oid": 5}}])", "oid"},
  };
  for (const auto& [text, reason] : cases) {
    const auto files = parse_hub_tree(text);
    ASSERT_FALSE(files.ok()) << text;
    EXPECT_THAT(files.error().message, HasSubstr(reason)) << text;
  }
  EXPECT_FALSE(parse_hub_tree(std::string(100'000, '[')).ok());
}

TEST(Record, OfTheDemoModelListsItsFiles) {
  const std::filesystem::path demo = std::filesystem::path(SAM3_SOURCE_DIR) / "models" / "demo";
  const auto files = parse_record(test::read_file(demo / "quantization.json"));
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_GE(files->size(), 12U);
  for (const ListedFile& file : *files) {
    EXPECT_EQ(file.sha256.size(), 64U) << file.path;
    EXPECT_EQ(file.bytes, static_cast<std::int64_t>(std::filesystem::file_size(demo / file.path)));
  }
}

TEST(Record, FormsAndFaults) {
  const auto files = parse_record(
      R"({"graphs": {"detector": {"files": {"model.onnx": ")" + kSum +
      R"("}, "gate": 1}, "other": 5}, "files": {"LICENSE": {"bytes": 9}, "x": null}})");
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].path, "detector/model.onnx");
  EXPECT_EQ((*files)[0].sha256, kSum);
  EXPECT_EQ((*files)[1].path, "LICENSE");
  EXPECT_EQ((*files)[1].bytes, 9);
  EXPECT_TRUE(parse_record("{}").value().empty());
  EXPECT_TRUE(parse_record(R"({"graphs": [], "files": 7})").value().empty());
  for (const char* text :
       {"", "[]", "{", R"({"files": {"../x": {}}})", R"({"graphs": {"..": {"files": {"x": {}}}}})",
        R"({"graphs": {"/": {"files": {"x": {}}}}})", R"({"files": {"x": {"bytes": -5}}})",
        R"({"files": {"x": {"sha256": "12"}}})", R"({"files": {"x": {"sha256": 12}}})"})
    EXPECT_FALSE(parse_record(text).ok()) << text;
}

ListedFile listed(const char* path, std::optional<std::int64_t> bytes, const std::string& sum) {
  return {path, bytes, sum, sum, std::nullopt};
}

TEST(Record, AddsWhatTheListingDoesNotKnow) {
  Listing listing;
  listing.files = {listed("a", 5, ""), listed("b", 5, ""), listed("c", 5, kSum)};
  const std::vector<ListedFile> record{listed("a", 5, kSum), listed("b", 6, kSum),
                                       listed("c", 5, std::string(64, 'b')), listed("d/e", 1, "")};
  merge_record(record, Trust::kListing, listing);
  ASSERT_EQ(listing.files.size(), 3U);
  EXPECT_EQ(listing.files[0].sha256, kSum);
  EXPECT_EQ(listing.files[1].sha256, "");
  EXPECT_EQ(listing.files[1].bytes, 5);
  EXPECT_EQ(listing.files[2].sha256, kSum);
  EXPECT_EQ(listing.notes.size(), 2U);
}

TEST(Record, IsRightAboutAFolder) {
  Listing listing;
  listing.files = {listed("d/a", 5, "")};
  merge_record(
      {listed("d/a", 6, kSum), listed("d/b", 1, ""), listed("e/f", 1, ""), listed("g", 1, "")},
      Trust::kRecord, listing);
  EXPECT_EQ(listing.find("d/a")->bytes, 6);
  EXPECT_EQ(listing.find("d/a")->sha256, kSum);
  EXPECT_TRUE(listing.find("d/b"));   // missing beside what is there
  EXPECT_FALSE(listing.find("e/f"));  // nothing of that graph is there
  EXPECT_TRUE(listing.find("g"));
}

TEST(Description, NameAndLicence) {
  Listing listing;
  ASSERT_TRUE(read_description(R"({"name": "x", "licence": "MIT", "mean": 1})", listing).ok());
  EXPECT_EQ(listing.name, "x");
  EXPECT_EQ(listing.licence, "MIT");
  ASSERT_TRUE(read_description(R"({"name": 5})", listing).ok());
  EXPECT_EQ(listing.name, "x");
  EXPECT_FALSE(read_description("[", listing).ok());
}

}  // namespace
}  // namespace sam3::fetch
