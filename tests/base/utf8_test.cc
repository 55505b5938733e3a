#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sam3 {
namespace {

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  std::string text;
  for (char32_t c = 0; c <= 0x10FFFF; ++c)
    if (c < 0xD800 || c > 0xDFFF) append_utf8(c, text);
  EXPECT_FALSE(find_invalid_utf8(text));
  std::size_t position = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    ASSERT_EQ(decode_utf8(text, position), c);
  }
  EXPECT_EQ(position, text.size());
}

TEST(Utf8, MalformedBytesAreFoundWhereTheyStand) {
  const struct {
    std::string text;
    std::size_t at;
  } cases[] = {
      {"caf\xe9", 3},           // Latin-1
      {"\xc0\xaf", 0},          // overlong
      {"a\xe0\x80\x80", 1},     // overlong
      {"ab\xed\xa0\x80", 2},    // surrogate
      {"\xf4\x90\x80\x80", 0},  // above U+10FFFF
      {"x\xe2\x82", 1},         // cut off
      {"\x80", 0},              // a tail without a head
      {"\xff", 0},
  };
  for (const auto& c : cases) {
    ASSERT_TRUE(find_invalid_utf8(c.text)) << c.text;
    EXPECT_EQ(*find_invalid_utf8(c.text), c.at) << c.text;
    EXPECT_FALSE(find_invalid_utf8(replace_invalid_utf8(c.text)));
  }
}

TEST(Utf8, RepairKeepsWhatIsValid) {
  EXPECT_EQ(replace_invalid_utf8("caf\xe9 \xe2\x82\xac!"), "caf\xef\xbf\xbd \xe2\x82\xac!");
  EXPECT_EQ(replace_invalid_utf8("plain"), "plain");
}

}  // namespace
}  // namespace sam3
