#include "fetch/part_file.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace sam3::fetch {
namespace {

// Of "hello world", by sha256sum.
constexpr const char* kHello = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";

TEST(PartFile, TakenUpWhereItWasLeft) {
  test::TemporaryFolder folder;
  {
    PartFile part = PartFile::open(folder / "x", "v1").value();
    part.set_validator("\"tag\"").value();
    part.append("hello ").value();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  PartFile part = PartFile::open(folder / "x", "v1").value();
  EXPECT_EQ(part.size(), 6);
  EXPECT_EQ(part.validator(), "\"tag\"");
  part.append("world").value();
  EXPECT_EQ(part.sha256(), kHello);
  part.finish().value();
  EXPECT_EQ(test::read_file(folder / "x"), "hello world");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.part"));
  EXPECT_EQ(PartFile::version_of(folder / "x"), "v1");
}

TEST(PartFile, OfAnotherOrUnknownVersionBeginsAnew) {
  test::TemporaryFolder folder;
  for (const auto& [before, after] : {std::pair{"v1", "v2"}, {"v1", ""}, {"", ""}, {"", "v1"}}) {
    {
      PartFile part = PartFile::open(folder / "x", before).value();
      part.append("hello").value();
    }
    EXPECT_EQ(PartFile::open(folder / "x", after).value().size(), 0) << before << " " << after;
  }
}

TEST(PartFile, RestartAndDiscard) {
  test::TemporaryFolder folder;
  PartFile part = PartFile::open(folder / "x", "v1").value();
  part.append("something else entirely").value();
  part.restart().value();
  EXPECT_EQ(part.size(), 0);
  part.append("hello world").value();
  EXPECT_EQ(part.sha256(), kHello);
  part.discard();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PartFile, DoesNotWriteThroughLinks) {
  test::TemporaryFolder folder;
  test::write_file(folder / "victim", "precious");
  std::filesystem::create_symlink(folder / "victim", folder / "x.part");
  EXPECT_FALSE(PartFile::open(folder / "x", "v1").ok());
  EXPECT_EQ(test::read_file(folder / "victim"), "precious");
}

}  // namespace
}  // namespace sam3::fetch
