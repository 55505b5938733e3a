// The tokenizer's files of a package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "support/files.h"

namespace sam3::convert {
namespace {

using nlohmann::json;
using test::data;

TEST(PackageTokenizer, BrowserFamilyAsTheReference) {
  const test::TemporaryFolder folder;
  const Status status =
      write_tokenizer(data("tiny/dynamo/tokenizer"), folder.path(), Family::kBrowser);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  const json made = json::parse(test::read_file(folder / "clip_tokenizer.json"));
  const json expected = json::parse(test::read_file(data("tiny/browser/clip_tokenizer.json")));
  EXPECT_EQ(made["encoder"], expected["encoder"]);
  EXPECT_EQ(made["merges"], expected["merges"]);
  EXPECT_EQ(made["byte_encoder"], expected["byte_encoder"]);
}

TEST(PackageTokenizer, FiveGraphFamilyCopiesTheFiles) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_tokenizer(data("tiny/dynamo"), folder.path(), Family::kFiveGraph).ok());
  EXPECT_EQ(test::read_file(folder / "tokenizer/tokenizer.json"),
            test::read_file(data("tiny/dynamo/tokenizer/tokenizer.json")));
}

TEST(PackageTokenizer, NoneAndDamagedOnes) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_tokenizer(folder.path(), folder / "out", Family::kBrowser).error().code,
            ErrorCode::kNotFound);
  test::write_file(folder / "tokenizer.json", R"({"model":{"vocab":{},"merges":[5]}})");
  const Status bad = write_tokenizer(folder.path(), folder / "out", Family::kBrowser);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, testing::HasSubstr("a merge is 5"));
}

}  // namespace
}  // namespace sam3::convert
