#include "fetch/staging.h"

#include <gmock/gmock.h>

#include "checksum/sha256.h"
#include "support/files.h"

namespace sam3::fetch {
namespace {

namespace fs = std::filesystem;

ListedFile listed(const std::string& path, const std::string& content) {
  Sha256 sum;
  sum.update(content);
  return {path, static_cast<std::int64_t>(content.size()), sum.hex(), sum.hex(), std::nullopt};
}

// Puts a file into the staging place, as a download would.
ListedFile arrive(const Staging& staging, const std::string& path, const std::string& content) {
  test::write_file(staging.place(path).value(), content);
  return listed(path, content);
}

TEST(Staging, NewFolderAppearsAsAWhole) {
  test::TemporaryFolder root;
  const fs::path model = root / "deep/model";
  Staging staging = Staging::open(model).value();
  const auto a = arrive(staging, "vision_encoder/model.onnx", "graph");
  const auto b = arrive(staging, "model.json", "{}");
  arrive(staging, "old/left over", "from another time");
  arrive(staging, "model.json.part.tag", "");
  EXPECT_TRUE(staging.holds(a));
  EXPECT_FALSE(staging.holds(listed("model.json", "[]")));
  EXPECT_FALSE(fs::exists(model));
  staging.install({a, b}).value();
  EXPECT_EQ(test::read_file(model / "vision_encoder/model.onnx"), "graph");
  EXPECT_EQ(test::read_file(model / "model.json"), "{}");
  EXPECT_FALSE(fs::exists(model / "old"));
  EXPECT_FALSE(fs::exists(model / "model.json.part.tag"));
  EXPECT_FALSE(fs::exists(root / "deep/model.partial"));
}

TEST(Staging, AFolderThatIsThereKeepsItsOtherFiles) {
  test::TemporaryFolder root;
  const fs::path model = root / "model";
  test::write_file(model / "notes.txt", "mine");
  test::write_file(model / "detector/model.onnx", "same graph");
  test::write_file(model / "detector/model.onnx.data", "old weights");
  Staging staging = Staging::open(model).value();
  const auto data = arrive(staging, "detector/model.onnx.data", "new weights");
  EXPECT_FALSE(is_in_place(staging.folder(), data));
  staging.install({data}).value();
  EXPECT_TRUE(is_in_place(model, data));
  EXPECT_EQ(test::read_file(model / "detector/model.onnx"), "same graph");
  EXPECT_EQ(test::read_file(model / "notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(root / "model.partial"));
}

TEST(Staging, SomethingElseOfItsNameStays) {
  test::TemporaryFolder root;
  test::write_file(root / "model.partial/notes.txt", "mine");
  EXPECT_EQ(Staging::open(root / "model").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(test::read_file(root / "model.partial/notes.txt"), "mine");
}

TEST(Staging, NoGraphIsThereWhileItsFilesChange) {
  test::TemporaryFolder root;
  const fs::path model = root / "model";
  test::write_file(model / "detector/model.onnx", "same graph");
  test::write_file(model / "detector/model.onnx.data", "old weights");
  test::write_file(model / "vision_encoder/model.onnx", "old graph");
  test::write_file(model / "tokenizer", "a file in the place of a folder");
  Staging staging = Staging::open(model).value();
  const auto data = arrive(staging, "detector/model.onnx.data", "new weights");
  const auto graph = arrive(staging, "vision_encoder/model.onnx", "new graph");
  const auto tokenizer = arrive(staging, "tokenizer/tokenizer.json", "{}");
  // Fails in the middle: what is left is no model.
  EXPECT_FALSE(staging.install({data, graph, tokenizer}).ok());
  EXPECT_FALSE(fs::exists(model / "detector/model.onnx"));
  EXPECT_FALSE(fs::exists(model / "vision_encoder/model.onnx"));
  // And nothing is lost.
  EXPECT_TRUE(staging.holds(listed("detector/model.onnx", "same graph")));
}

TEST(Staging, OneAtATime) {
  test::TemporaryFolder root;
  {
    const Staging first = Staging::open(root / "model").value();
    const auto second = Staging::open(root / "model");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(Staging::open(root / "other").ok());
  }
  EXPECT_TRUE(fs::is_empty(root.path()));  // nothing had arrived
  EXPECT_TRUE(Staging::open(root / "model").ok());
}

TEST(Staging, KeepsWhatHasArrived) {
  test::TemporaryFolder root;
  ListedFile file;
  { file = arrive(Staging::open(root / "model").value(), "a/b", "content"); }
  Staging staging = Staging::open(root / "model").value();
  EXPECT_TRUE(staging.holds(file));
  EXPECT_EQ(staging.bytes_of(file), 7);
}

TEST(Staging, WhereNoModelCanGo) {
  test::TemporaryFolder root;
  test::write_file(root / "file", "x");
  EXPECT_EQ(Staging::open(root / "file").error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Staging::open(root / "file/model").ok());
}

TEST(Staging, DoesNotGoThroughLinks) {
  test::TemporaryFolder root;
  fs::create_directories(root / "elsewhere");
  const fs::path model = root / "model";
  fs::create_directories(model);
  fs::create_directory_symlink(root / "elsewhere", model / "detector");
  Staging staging = Staging::open(model).value();
  const auto file = arrive(staging, "detector/model.onnx.data", "x");
  EXPECT_FALSE(staging.install({file}).ok());
  EXPECT_TRUE(fs::is_empty(root / "elsewhere"));
}

TEST(InPlace, BySumContentOrSize) {
  test::TemporaryFolder folder;
  test::write_file(folder / "x", "hello");
  EXPECT_TRUE(is_in_place(folder.path(), listed("x", "hello")));
  EXPECT_FALSE(is_in_place(folder.path(), listed("x", "hallo")));
  EXPECT_FALSE(is_in_place(folder.path(), listed("y", "hello")));
  EXPECT_FALSE(is_in_place(folder.path(), {"x", 5, "", "", std::nullopt}));
  EXPECT_TRUE(is_in_place(folder.path(), {"x", 5, "", "", "hello"}));
  EXPECT_FALSE(is_in_place(folder.path(), {"x", 5, "", "", "hallo"}));
  test::write_file(folder / "large", std::string(1 << 20, 'x'));
  EXPECT_TRUE(is_in_place(folder.path(), {"large", 1 << 20, "", "", std::nullopt}));
  EXPECT_FALSE(is_in_place(folder.path(), {"large", 1 << 21, "", "", std::nullopt}));
}

}  // namespace
}  // namespace sam3::fetch
