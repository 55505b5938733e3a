// Results appear whole, and nothing that is not ours is touched.
#include "base/staged_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"

namespace sam3 {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(StagedFolder, AppearsWhenCommitted) {
  const test::TemporaryFolder folder;
  {
    auto staged = StagedFolder::create(folder / "out").value();
    test::write_file(staged.path() / "file", "text");
    EXPECT_FALSE(fs::exists(folder / "out"));
    ASSERT_TRUE(staged.commit().ok());
  }
  EXPECT_EQ(test::read_file(folder / "out/file"), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "out"), {}), 1);
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

TEST(StagedFolder, LeavesNothingWithoutACommit) {
  const test::TemporaryFolder folder;
  { auto staged = StagedFolder::create(folder / "out/").value(); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(StagedFolder, ReplacesItsOwnLeftovers) {
  const test::TemporaryFolder folder;
  const fs::path kept = folder / "kept";
  {
    auto staged = StagedFolder::create(folder / "out").value();
    fs::copy(staged.path(), kept, fs::copy_options::recursive);
  }
  fs::rename(kept, folder / "out.partial");
  test::write_file(folder / "out.partial/old", "text");
  auto staged = StagedFolder::create(folder / "out").value();
  EXPECT_FALSE(fs::exists(staged.path() / "old"));
}

TEST(StagedFolder, ForeignThingsOfThatNameStay) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "out.partial/model.safetensors", "precious");
  const auto staged = StagedFolder::create(folder / "out");
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(test::read_file(folder / "out.partial/model.safetensors"), "precious");
  test::write_file(folder / "other.partial", "a file");
  EXPECT_FALSE(StagedFolder::create(folder / "other").ok());
  EXPECT_EQ(test::read_file(folder / "other.partial"), "a file");
}

TEST(StagedFolder, TakenPlaces) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "full/file", "text");
  EXPECT_THAT(StagedFolder::create(folder / "full").error().message, HasSubstr("there already"));
  EXPECT_THAT(StagedFolder::create(folder / "full/file").error().message,
              HasSubstr("there already"));
  EXPECT_FALSE(StagedFolder::create("/proc").ok());
}

TEST(StagedFolder, ALinkToAnEmptyFolderIsFollowed) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  fs::create_directory_symlink(folder / "disk", folder / "link");
  auto staged = StagedFolder::create(folder / "link").value();
  test::write_file(staged.path() / "file", "text");
  ASSERT_TRUE(staged.commit().ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(test::read_file(folder / "disk/file"), "text");
}

}  // namespace
}  // namespace sam3
