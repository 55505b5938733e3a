#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "formats/atomic_file.h"
#include "formats/npy.h"
#include "formats/picture_files.h"
#include "formats/write_json.h"

namespace sam3 {
namespace {

using formats::AtomicFile;
using test::file_bytes;
using test::TemporaryFolder;

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = file_bytes(path);
  return {bytes.begin(), bytes.end()};
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder("atomic");
  std::ofstream(folder / "a.txt") << "old";
  {
    auto file = AtomicFile::create(folder / "a.txt");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
    EXPECT_EQ(text_of(folder / "a.txt"), "old");
    EXPECT_EQ(folder.entries(), 2);
  }
  EXPECT_EQ(text_of(folder / "a.txt"), "old");
  EXPECT_EQ(folder.entries(), 1);
  {
    auto file = AtomicFile::create(folder / "a.txt");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(text_of(folder / "a.txt"), "new");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, FollowsLinks) {
  const TemporaryFolder folder("links");
  std::ofstream(folder / "real.txt") << "old";
  std::filesystem::create_symlink("real.txt", folder / "link.txt");
  {
    auto file = AtomicFile::create(folder / "link.txt");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(text_of(folder / "real.txt"), "new");
}

// Renaming onto a device would replace it.
TEST(AtomicFile, DevicesStayDevices) {
  auto file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("x").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, LongestNamesWork) {
  const TemporaryFolder folder("long");
  const auto path = folder / std::string(255, 'x');
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(AtomicFile, ErrorsNameTheTarget) {
  const TemporaryFolder folder("errors");
  const auto missing = AtomicFile::create(folder / "none/a.txt");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().file, (folder / "none/a.txt").string());
  const auto directory = AtomicFile::create(folder.path());
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);
}

TEST(WriteJson, OneDocument) {
  const TemporaryFolder folder("json");
  ASSERT_TRUE(formats::write_json(folder / "o.json", {{"b", 1}, {"a", "\xC3\xA9"}}).ok());
  EXPECT_EQ(text_of(folder / "o.json"), "{\n  \"b\": 1,\n  \"a\": \"\xC3\xA9\"\n}\n");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteJson, LinesAreThereAtOnce) {
  const TemporaryFolder folder("lines");
  auto file = formats::JsonLinesFile::create(folder / "o.jsonl");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write({{"image", "a\nb"}}).ok());
  EXPECT_EQ(text_of(folder / "o.jsonl"), "{\"image\":\"a\\nb\"}\n");
  ASSERT_TRUE(file->write({{"image", "c"}}).ok());
  EXPECT_EQ(text_of(folder / "o.jsonl"), "{\"image\":\"a\\nb\"}\n{\"image\":\"c\"}\n");
}

TEST(WriteJson, FullDeviceIsAnError) {
  auto file = formats::JsonLinesFile::create("/dev/full");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->write({{"image", "c"}}).ok());
  EXPECT_FALSE(formats::write_json("/dev/full", {{"image", "c"}}).ok());
}

// The expected bytes are those of numpy.save().
TEST(Npy, IsWhatNumpyWrites) {
  const TemporaryFolder folder("npy");
  const std::int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6.5F};
  ASSERT_TRUE(formats::write_npy(folder / "x.npy", shape, values).ok());
  std::string header("\x93NUMPY\x01\x00v\x00", 10);
  header += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header += std::string(127 - header.size(), ' ') + "\n";
  const std::string data("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xA0\x40\0\0\xD0\x40",
                         24);
  EXPECT_EQ(text_of(folder / "x.npy"), header + data);

  const std::int64_t flat[] = {2};
  const std::uint8_t bytes[] = {7, 8};
  ASSERT_TRUE(formats::write_npy(folder / "y.npy", flat, bytes).ok());
  EXPECT_NE(
      text_of(folder / "y.npy").find("'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"),
      std::string::npos);
}

TEST(Npy, ShapeMustFit) {
  const TemporaryFolder folder("npyshape");
  const std::int64_t shape[] = {1, 3};
  const std::uint8_t bytes[] = {7, 8};
  EXPECT_FALSE(formats::write_npy(folder / "y.npy", shape, bytes).ok());
  EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace sam3
