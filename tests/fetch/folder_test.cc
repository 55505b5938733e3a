#include <gmock/gmock.h>

#include "fetch/pull.h"
#include "fetch/source.h"
#include "support/files.h"

namespace sam3::fetch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Source, Kinds) {
  test::TemporaryFolder folder;
  EXPECT_EQ(source_kind(folder.path().string()).value(), SourceKind::kFolder);
  EXPECT_EQ(source_kind("http://example.org/model").value(), SourceKind::kWeb);
  EXPECT_EQ(source_kind("owner/model-1.0_x").value(), SourceKind::kHub);
  for (const char* text : {"", "model", "a/b/c", "/no/such/folder", "./x", "-a/b", "a/..", "a b/c",
                           "file:///etc", "ftp://example.org/x", "owner/m\xc3\xbc"})
    EXPECT_EQ(source_kind(text).error().code, ErrorCode::kInvalidArgument) << text;
}

TEST(Impostor, PagesAndPointers) {
  EXPECT_THAT(*impostor("model.onnx", "version https://git-lfs.github.com/spec/v1\noid"),
              HasSubstr("LFS"));
  for (const char* head : {"<!DOCTYPE html><html>", "\n  <html lang=en>", "\xef\xbb\xbf<HTML>"})
    EXPECT_THAT(impostor("model.onnx", head).value_or(""), HasSubstr("page")) << head;
  for (const char* head : {"", "\x08\x07", "{}", "<xml>", "html"})
    EXPECT_FALSE(impostor("model.onnx", head)) << head;
  EXPECT_FALSE(impostor("README.md", "<html>"));
}

// A folder that has the names of a point package.
void write_package(const fs::path& folder, const std::string& data) {
  for (const char* graph : {"tracker_vision_encoder", "prompt_decoder"}) {
    test::write_file(folder / graph / "model.onnx", std::string("graph ") + graph);
    test::write_file(folder / graph / "model.onnx.data", data);
  }
}

PullOptions from_to(const fs::path& from, const fs::path& to) {
  PullOptions options;
  options.source = from.string();
  options.destination = to;
  return options;
}

TEST(FolderPull, CopiesAPackageWithoutARecord) {
  test::TemporaryFolder root;
  write_package(root / "from", "weights");
  test::write_file(root / "from/script.py", "not of a model");
  test::write_file(root / "from/LICENSE", "\nSAM License\nLast updated");
  const auto report = pull(from_to(root / "from", root / "to"));
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->files, 5U);
  EXPECT_EQ(report->fetched, 5U);
  EXPECT_EQ(report->licence, "SAM License");
  EXPECT_EQ(test::read_file(root / "to/prompt_decoder/model.onnx.data"), "weights");
  EXPECT_FALSE(fs::exists(root / "to/script.py"));
}

TEST(FolderPull, LinksBecomeFiles) {
  test::TemporaryFolder root;
  write_package(root / "from", "weights");
  test::write_file(root / "blob", "linked weights");
  fs::remove(root / "from/prompt_decoder/model.onnx.data");
  fs::create_symlink("../../blob", root / "from/prompt_decoder/model.onnx.data");
  ASSERT_TRUE(pull(from_to(root / "from", root / "to")).ok());
  const fs::path copy = root / "to/prompt_decoder/model.onnx.data";
  EXPECT_FALSE(fs::is_symlink(copy));
  EXPECT_EQ(test::read_file(copy), "linked weights");
}

TEST(FolderPull, HoldsFilesAgainstTheRecord) {
  test::TemporaryFolder root;
  write_package(root / "from", "weights");
  const auto record = [&](const std::string& entry) {
    test::write_file(root / "from/quantization.json",
                     R"({"graphs": {"prompt_decoder": {"files": {)" + entry + "}}}}");
    const auto report = pull(from_to(root / "from", root / "to"));
    EXPECT_FALSE(fs::exists(root / "to"));
    return report.ok() ? "" : report.error().to_string();
  };
  EXPECT_THAT(record(R"("model.onnx.data": {"bytes": 99})"),
              HasSubstr("7 bytes instead of the 99"));
  EXPECT_THAT(record(R"("model.onnx.data": {"sha256": ")" + std::string(64, '0') + "\"}"),
              HasSubstr("SHA-256"));
  EXPECT_THAT(record(R"("more.data": {"bytes": 1})"), HasSubstr("more.data"));
  EXPECT_THAT(record(R"("../../x": {"bytes": 1})"), HasSubstr("refused"));
  test::write_file(root / "from/prompt_decoder/model.onnx.data",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  EXPECT_THAT(record(""), HasSubstr("LFS"));
}

TEST(FolderPull, NotIntoItself) {
  test::TemporaryFolder root;
  write_package(root / "from", "weights");
  for (const char* to : {"from", "from/copy", "from/../from", "."})
    EXPECT_EQ(pull(from_to(root / "from", root / to)).error().code, ErrorCode::kInvalidArgument)
        << to;
}

}  // namespace
}  // namespace sam3::fetch
