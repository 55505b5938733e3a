// Tokenizer files with other settings than CLIP's, against the reference's ids for the same file.
#include <gtest/gtest.h>

#include "text/text_fixtures.h"

namespace sam3 {
namespace {

using Ids = std::vector<std::int64_t>;

Tokenizer patched(const nlohmann::json& patch) {
  auto json = test::read_json_fixture("small_tokenizer.json");
  json.merge_patch(patch);
  return Tokenizer::from_tokenizer_json(json.dump()).value();
}

TEST(TokenizerVariants, EqualTheReference) {
  const auto variants = test::read_json_fixture("variants.json");
  ASSERT_GE(variants.size(), 25u);
  for (const auto& variant : variants) {
    SCOPED_TRACE(variant.at("name"));
    const Tokenizer tokenizer = patched(variant.at("patch"));
    for (const auto& one : variant.at("cases")) {
      const auto& text = one.at("text").get_ref<const std::string&>();
      const auto ids = one.at("ids").get<Ids>();
      if (one.contains("mask")) {
        const Encoding encoding = tokenizer.encode(text, static_cast<int>(ids.size())).value();
        EXPECT_EQ(encoding.ids, ids) << text;
        EXPECT_EQ(encoding.mask, one.at("mask").get<Ids>()) << text;
      } else {
        EXPECT_EQ(tokenizer.encode_all(text).value(), ids) << text;
      }
    }
  }
}

TEST(TokenizerVariants, TakesTheMarksFromTheAddedTokensWithoutAPostProcessor) {
  const Tokenizer with = patched(nlohmann::json::object());
  const Tokenizer without = patched({{"post_processor", nullptr}});
  EXPECT_EQ(without.encode_all("the dog").value(), with.encode_all("the dog").value());
}

}  // namespace
}  // namespace sam3
