#include "formats/output_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"
#include "formats/output_paths.h"
#include "formats/picture_files.h"

namespace sam3 {
namespace {

using formats::picture_names;
using formats::prompt_names;
using testing::ElementsAre;
using Paths = std::vector<std::filesystem::path>;
using Texts = std::vector<std::string>;

TEST(OutputNames, EndingAndSubfolderKeepNamesApart) {
  EXPECT_THAT(picture_names(Paths{"x/batch/a.jpg", "x/batch/a.png", "x/batch/sub/a.jpg"}),
              ElementsAre("a.jpg", "a.png", "sub/a.jpg"));
  EXPECT_THAT(picture_names(Paths{"one/a.jpg", "two/a.jpg"}),
              ElementsAre("one/a.jpg", "two/a.jpg"));
  EXPECT_THAT(picture_names(Paths{"deep/down/only.jpg"}), ElementsAre("only.jpg"));
  EXPECT_THAT(picture_names(Paths{}), ElementsAre());
}

TEST(OutputNames, DotsInPathsDoNotLeaveTheFolder) {
  EXPECT_THAT(picture_names(Paths{"x/../y/a.jpg", "y/./b.jpg"}), ElementsAre("a.jpg", "b.jpg"));
  EXPECT_THAT(picture_names(Paths{"/p/q/a.jpg", "/p/q/../../r/b.jpg"}),
              ElementsAre("p/q/a.jpg", "r/b.jpg"));
}

TEST(OutputNames, EqualNamesGetNumbers) {
  EXPECT_THAT(picture_names(Paths{"a.jpg", "a.jpg", "A.JPG", "a.jpg-2"}),
              ElementsAre("a.jpg", "a.jpg-2", "A.JPG-3", "a.jpg-2-2"));
  // Composed and decomposed letters.
  EXPECT_THAT(picture_names(Paths{"\xC3\xA9.jpg", "e\xCC\x81.jpg", "\xC3\x89.jpg"}),
              ElementsAre("\xC3\xA9.jpg", "e\xCC\x81.jpg-2", "\xC3\x89.jpg-3"));
}

TEST(OutputNames, OddBytesBecomeSafe) {
  EXPECT_THAT(picture_names(Paths{"d/latin1-\xE9.jpg", "d/line\nbreak.jpg", "d/-dash.jpg",
                                  "d/quote'\".jpg", "d/br[1].jpg", "d/\xE6\xA9\x8B.jpg"}),
              ElementsAre("latin1-_.jpg", "line_break.jpg", "_-dash.jpg", "quote'_.jpg",
                          "br[1].jpg", "\xE6\xA9\x8B.jpg"));
}

TEST(OutputNames, EveryNameOfTheAwkwardFolderIsUsable) {
  Paths paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::trouble("batch")))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  ASSERT_GE(paths.size(), 18U);
  std::set<std::string> seen;
  for (const std::string& name : picture_names(paths)) {
    EXPECT_FALSE(find_invalid_utf8(name));
    EXPECT_EQ(name.find('\n'), std::string::npos);
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(OutputNames, LongNamesAreCutBetweenLetters) {
  std::string name;
  for (int i = 0; i < 120; ++i) name += "\xC3\xA9";
  const auto names = picture_names(Paths{name + "a.jpg", name + "b.jpg"});
  EXPECT_LE(names[0].size(), 160U);
  EXPECT_FALSE(find_invalid_utf8(names[0]));
  EXPECT_NE(names[0], names[1]);
}

TEST(OutputNames, PromptsGiveDifferentNamesInOneFolder) {
  EXPECT_THAT(prompt_names(Texts{"a/b", "a b", "../x", "x", "a b"}),
              ElementsAre("a_b", "a_b-2", "x", "x-2", "a_b-2"));
  EXPECT_THAT(prompt_names(Texts{"..", "", "\n", "/", "-rf"}),
              ElementsAre("prompt", "prompt-2", "prompt-3", "prompt-4", "rf"));
  EXPECT_THAT(prompt_names(Texts{"tr\xC3\xA8s", "\xE5\xA1\x91\xE6\x96\x99", "\xF0\x9F\x8D\x8E"}),
              ElementsAre("tr\xC3\xA8s", "\xE5\xA1\x91\xE6\x96\x99", "prompt"));
  EXPECT_THAT(prompt_names(Texts{"Dog", "dog"}), ElementsAre("Dog", "dog-2"));
}

TEST(OutputPaths, EndingsDecideAndUnknownOnesAreRefused) {
  const test::TemporaryFolder folder("paths");
  using formats::check_output_path;
  using formats::kPictureEndings;
  EXPECT_TRUE(check_output_path(folder / "o.png", kPictureEndings).ok());
  EXPECT_TRUE(check_output_path(folder / "o.JPG", kPictureEndings).ok());
  for (const char* name : {"m.xyz", "m", ".png", "m.png.bak", "m.gif"}) {
    const Status status = check_output_path(folder / name, kPictureEndings);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, testing::HasSubstr(".png, .jpg, .jpeg or .webp"));
  }
  const Status missing = check_output_path(folder / "none/o.png", kPictureEndings);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  std::filesystem::create_directory(folder / "d.png");
  EXPECT_FALSE(check_output_path(folder / "d.png", kPictureEndings).ok());
}

}  // namespace
}  // namespace sam3
