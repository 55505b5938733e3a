#include "quantize/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checksum/sha256.h"
#include "models.h"

namespace sam3::quantize {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::data;
using testing::HasSubstr;

json record_of(const fs::path& folder) {
  return json::parse(test::read_file(folder / "quantization.json"));
}

// Two small graphs of the tiny model and what else a package has.
class Package : public testing::Test {
 protected:
  Package() : in_(folder_ / "in"), out_(folder_ / "out") {
    fs::create_directories(in_);
    for (const char* graph : {"text_encoder", "prompt_decoder"})
      fs::copy(data(std::string("tiny/dynamo/") + graph), in_ / graph,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    test::write_file(in_ / "model.json", R"({"name": "tiny"})");
    test::write_file(in_ / "tokenizer" / "tokenizer.json", "{}");
    test::write_file(in_ / "LICENSE", "terms");
    test::write_file(in_ / ".cache" / "junk", "junk");
    test::write_file(in_ / "quantization.json", R"({"source": {"checkpoint_sha256": "12"}})");
  }

  Error refused(const fs::path& in, const fs::path& out, const PackageOptions& options = {}) {
    const auto done = quantize_package(in, out, options);
    return done.ok() ? Error{ErrorCode::kRuntime, "not refused", "", ""} : done.error();
  }

  test::TemporaryFolder folder_;
  fs::path in_;
  fs::path out_;
};

TEST_F(Package, IsCopiedWithItsGraphsQuantizedAndRecorded) {
  PackageOptions options;
  options.versions = {{"sam3", "1.2.3"}};
  fs::path checked;
  options.check = [&](const fs::path& path) -> Status {
    checked = path;
    return fs::exists(path / "quantization.json") && !fs::exists(out_)
               ? Status()
               : Error{ErrorCode::kRuntime, "too early or too late", "", ""};
  };
  const auto done = quantize_package(in_, out_, options);
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(checked.filename(), "out.partial");
  EXPECT_FALSE(fs::exists(checked));
  EXPECT_EQ(test::read_file(out_ / "LICENSE"), "terms");
  EXPECT_TRUE(fs::exists(out_ / "tokenizer" / "tokenizer.json"));
  EXPECT_FALSE(fs::exists(out_ / ".cache"));

  const json record = record_of(out_);
  EXPECT_EQ(record["versions"]["sam3"], "1.2.3");
  EXPECT_EQ(record["source"]["model"], "tiny");
  EXPECT_EQ(record["source"]["checkpoint_sha256"], "12");
  EXPECT_EQ(record["quantization"]["precision"], "int8");
  EXPECT_EQ(record["graphs"]["text_encoder"]["quantized"]["MatMul"], 13);
  EXPECT_EQ(record["graphs"]["text_encoder"]["skipped"].size(), 4U);
  EXPECT_THAT(record["graphs"]["text_encoder"]["skipped"][0]["reason"].get<std::string>(),
              HasSubstr("at run time"));
  // Every file is in the record, with its checksum.
  std::size_t files = 0;
  const auto compare = [&](const fs::path& file, const json& entry) {
    EXPECT_EQ(entry["sha256"], sha256_of_file(file).value()) << file;
    EXPECT_EQ(entry["bytes"], fs::file_size(file));
    ++files;
  };
  for (const auto& [graph, entry] : record["graphs"].items())
    for (const auto& [file, sum] : entry["files"].items()) compare(out_ / graph / file, sum);
  for (const auto& [file, sum] : record["files"].items()) compare(out_ / file, sum);
  std::size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(out_)) there += entry.is_regular_file();
  EXPECT_EQ(files, there - 1);
}

TEST_F(Package, OfWhichTwoGraphsShareAWeightFile) {
  fs::copy_file(in_ / "text_encoder/model.onnx", in_ / "text_encoder/other.onnx");
  PackageOptions options;
  options.graphs = {"text_encoder/other"};
  const auto done = quantize_package(in_, out_, options);
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_TRUE(fs::exists(out_ / "text_encoder/model.onnx.data"));
  EXPECT_TRUE(fs::exists(out_ / "text_encoder/other.onnx.data"));
  const json entry = record_of(out_)["graphs"]["text_encoder"];
  EXPECT_EQ(entry["copied"], true);
  EXPECT_EQ(entry["others"]["other.onnx"]["quantized"]["MatMul"], 13);
  EXPECT_EQ(entry["files"].size(), 4U);
  EXPECT_NO_THROW(open_session(out_ / "text_encoder/model.onnx"));
  EXPECT_NO_THROW(open_session(out_ / "text_encoder/other.onnx"));
}

TEST_F(Package, CanBeMovedAndMadeOfLinks) {
  const fs::path links = folder_ / "links";
  fs::create_directories(links / "text_encoder");
  for (const char* file : {"text_encoder/model.onnx", "text_encoder/model.onnx.data", "LICENSE"})
    fs::create_symlink(in_ / file, links / file);
  ASSERT_TRUE(quantize_package(links, out_, {}).ok());
  fs::rename(out_, folder_ / "moved");
  fs::remove_all(links);
  fs::remove_all(in_);
  EXPECT_NO_THROW(open_session(folder_ / "moved/text_encoder/model.onnx"));
}

TEST_F(Package, PlacesThatAreRefused) {
  fs::create_symlink(in_, folder_ / "link");
  for (const fs::path& out :
       {in_, in_ / "", folder_ / "link", in_ / "." / "x" / "..", in_ / "sub", folder_.path()}) {
    const Error error = refused(in_, out);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << out << ": " << error.message;
  }
  test::write_file(out_ / "something", "");
  EXPECT_THAT(refused(in_, out_).message, HasSubstr("there already"));
  EXPECT_EQ(refused(folder_ / "none", folder_ / "new").code, ErrorCode::kNotFound);
  EXPECT_TRUE(fs::exists(in_ / "text_encoder/model.onnx"));
}

TEST_F(Package, SelectionsThatAreRefused) {
  PackageOptions options;
  options.graphs = {"text_encoder", "encoder"};
  EXPECT_THAT(refused(in_, out_, options).message, HasSubstr("'encoder'"));
  options.graphs = {};
  options.options.include = {"no node has this name"};
  EXPECT_EQ(refused(in_, out_, options).code, ErrorCode::kUnsupported);
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_FALSE(fs::exists(folder_ / "out.partial"));
}

TEST_F(Package, AFailedCheckLeavesNothing) {
  PackageOptions options;
  options.check = [](const fs::path&) -> Status {
    return Error{ErrorCode::kRuntime, "does not run", "", ""};
  };
  EXPECT_EQ(refused(in_, out_, options).message, "does not run");
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_FALSE(fs::exists(folder_ / "out.partial"));
}

TEST_F(Package, DamagedGraphsAreRefusedWithTheirNames) {
  test::write_file(in_ / "text_encoder" / "model.onnx.data", "cut");
  const Error error = refused(in_, out_);
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.to_string(), HasSubstr("text_encoder"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST(SingleFile, GoesToAnotherPlaceWithItsWeights) {
  const test::TemporaryFolder folder;
  ModelBuilder made;
  made.input("x", {1, 64});
  made.weight("w", {64, 64}, noise(4096, 1));
  made.node("MatMul", {"x", "w"}, "y", "product");
  made.output("y", {1, 64});
  ASSERT_TRUE(made.model.write(folder / "a.onnx").ok());
  EXPECT_TRUE(fs::exists(folder / "a.onnx.data"));
  fs::create_directory(folder / "sub");
  const auto done = quantize_file(folder / "a.onnx", folder / "sub" / "b.onnx", {});
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(done->report.count(), 1);
  EXPECT_LT(done->bytes_after, done->bytes_before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "sub"), fs::directory_iterator{}), 2);
  fs::rename(folder / "sub", folder / "moved");
  EXPECT_NO_THROW(open_session(folder / "moved" / "b.onnx"));

  fs::create_symlink(folder / "a.onnx", folder / "link.onnx");
  fs::create_hard_link(folder / "a.onnx", folder / "hard.onnx");
  for (const char* name : {"a.onnx", "link.onnx", "hard.onnx", "a.onnx.data"}) {
    const auto refused = quantize_file(folder / "a.onnx", folder / name, {});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_NO_THROW(open_session(folder / "a.onnx"));
}

}  // namespace
}  // namespace sam3::quantize
