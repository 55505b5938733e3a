#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rewrite/rewrites.h"

namespace sam3::rewrite {
namespace {

TEST(RewriteNames, EachCanBeLeftOut) {
  EXPECT_TRUE(parse_rewrites("all")->attention);
  EXPECT_FALSE(parse_rewrites("none")->attention);
  EXPECT_FALSE(parse_rewrites("none")->detector_stages);
  EXPECT_FALSE(parse_rewrites("none")->engine_defaults);
  EXPECT_TRUE(parse_rewrites("plain")->engine_defaults);
  EXPECT_FALSE(parse_rewrites("plain")->kept_masks);
  const Rewrites some = parse_rewrites("-kept-masks,-attention").value();
  EXPECT_TRUE(some.detector_stages);
  EXPECT_FALSE(some.kept_masks);
  EXPECT_FALSE(some.attention);
  for (const std::string& name : rewrite_names()) EXPECT_TRUE(parse_rewrites("-" + name).ok());
}

TEST(RewriteNames, OthersAreRefused) {
  for (const char* text : {"", "-", "attention", "-none", "all,-attention", "-attention,", ",",
                           "-attention,kept-masks", "ALL"}) {
    const auto parsed = parse_rewrites(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("kept-masks"));
  }
}

}  // namespace
}  // namespace sam3::rewrite
