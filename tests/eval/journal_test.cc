#include "eval/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"

namespace sam3::eval {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const JournalHead kHead{"demo", 0.25};

CocoTruth truth(const std::string& category = "cat") {
  return parse_coco_truth(R"({"images": [{"id": 1, "file_name": "a.jpg"},
                                         {"id": 2, "file_name": "b.jpg"}],
                              "categories": [{"id": 7, "name": ")" +
                          category + R"("}], "annotations": []})")
      .value();
}

json detection(int image) {
  return {{"image_id", image}, {"category_id", 7}, {"score", 0.5}, {"bbox", {1, 2, 3, 4}}};
}

class JournalTest : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "run.jsonl"; }
  std::string content() const { return test::read_file(path()); }
  Journal open(const JournalHead& head = kHead) const {
    return Journal::open(path(), head, truth()).value();
  }
  Error error(const JournalHead& head = kHead, const CocoTruth& about = truth()) const {
    const std::string before = content();
    const auto journal = Journal::open(path(), head, about);
    EXPECT_FALSE(journal.ok());
    EXPECT_EQ(content(), before) << "the file stays as it was";
    return journal.ok() ? Error{} : journal.error();
  }
  // Two finished pictures.
  void fill() const {
    Journal journal = open();
    const CocoTruth about = truth();
    ASSERT_TRUE(journal.append(about.images[0], json::array({detection(1)})).ok());
    ASSERT_TRUE(journal.append(about.images[1], json::array()).ok());
  }

  test::TemporaryFolder folder_;
};

TEST_F(JournalTest, GoesOnWhereItStopped) {
  fill();
  const std::string before = content();
  const Journal journal = open();
  EXPECT_TRUE(journal.has(1));
  EXPECT_TRUE(journal.has(2));
  EXPECT_EQ(journal.results(), json::array({detection(1)}));
  EXPECT_TRUE(journal.warnings().empty());
  EXPECT_EQ(content(), before);
}

// Wherever the file was cut, what is whole stays, and the run can be finished.
TEST_F(JournalTest, ToleratesACutAtAnyByte) {
  fill();
  const std::string whole = content();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    test::write_file(path(), whole.substr(0, length));
    auto journal = Journal::open(path(), kHead, truth());
    ASSERT_TRUE(journal.ok()) << length << ": " << journal.error().message;
    EXPECT_FALSE(journal->has(2)) << length;
    const bool clean = length == 0 || whole[length - 1] == '\n';
    EXPECT_EQ(journal->warnings().empty(), clean) << length;
    const CocoTruth about = truth();
    if (!journal->has(1)) {
      ASSERT_TRUE(journal->append(about.images[0], json::array({detection(1)})).ok());
    }
    ASSERT_TRUE(journal->append(about.images[1], json::array()).ok());
    EXPECT_EQ(content(), whole) << length;
  }
}

TEST_F(JournalTest, ToleratesALastLineOfRubbish) {
  fill();
  const std::string whole = content();
  test::write_file(path(), whole + std::string(40, '\0') + "\n");
  EXPECT_EQ(open().warnings().size(), 1U);
  EXPECT_EQ(content(), whole);
}

TEST_F(JournalTest, RefusesDamageBefore) {
  fill();
  std::string damaged = content();
  damaged[damaged.find('\n') + 1] = '?';
  test::write_file(path(), damaged);
  EXPECT_EQ(error().code, ErrorCode::kBadData);
  EXPECT_THAT(error().message, HasSubstr("line 2"));
}

TEST_F(JournalTest, RefusesAnotherRun) {
  fill();
  EXPECT_EQ(error({"other", 0.25}).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error({"other", 0.25}).message, HasSubstr("its model differs"));
  EXPECT_THAT(error({"demo", 0.5}).message, HasSubstr("its min_score differs"));
  EXPECT_THAT(error(kHead, truth("dog")).message, HasSubstr("its categories differs"));
  CocoTruth renamed = truth();
  renamed.images[0].file_name = "c.jpg";
  EXPECT_THAT(error(kHead, renamed).message, HasSubstr("belongs to another truth"));
  EXPECT_THAT(error(kHead, restricted(truth(), {2})).message, HasSubstr("picture 1, a.jpg"));
}

TEST_F(JournalTest, LeavesOtherFilesAlone) {
  for (const char* content : {"[1, 2]\n", "a picture", "{\"images\": []}\n", "\n\n"}) {
    test::write_file(path(), content);
    EXPECT_EQ(error().code, ErrorCode::kInvalidArgument) << content;
    EXPECT_THAT(error().message, HasSubstr("no journal")) << content;
  }
}

TEST_F(JournalTest, RefusesLinesOfTheWrongKind) {
  fill();
  const std::string whole = content();
  for (const char* line : {"7", "{}", R"({"image_id": 1, "file": "a.jpg"})",
                           R"({"image_id": 1, "file": 3, "detections": []})"}) {
    test::write_file(path(), whole + line + "\n");
    EXPECT_EQ(error().code, ErrorCode::kBadData) << line;
  }
}

TEST(Journal, WithoutAFileKeepsNothing) {
  const CocoTruth about = truth();
  Journal journal = Journal::open("", kHead, about).value();
  ASSERT_TRUE(journal.append(about.images[0], json::array({detection(1)})).ok());
  EXPECT_TRUE(journal.has(1));
  EXPECT_EQ(journal.results().size(), 1U);
}

TEST(Journal, NeedsAFolder) {
  const test::TemporaryFolder folder;
  const auto journal = Journal::open(folder / "none/run.jsonl", kHead, truth());
  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sam3::eval
