#include "text/unicode.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/utf8.h"
#include "text/text_fixtures.h"

namespace sam3::text {
namespace {

constexpr char32_t kCodePoints = 0x110000;

bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

char32_t from_hex(const std::string& text) {
  return static_cast<char32_t>(std::stoul(text, nullptr, 16));
}

// "0308 0301"
std::u32string code_points(const std::string& text) {
  std::istringstream words(text);
  std::u32string result;
  for (std::string word; words >> word;) result.push_back(from_hex(word));
  return result;
}

std::string composed(std::string_view text) {
  std::string result;
  for (const char32_t c : compose(decode(text).value()).chars) append_utf8(c, result);
  return result;
}

TEST(Unicode, ClassesOfAllCodePoints) {
  const auto golden = test::read_json_fixture("unicode.json");
  char32_t checked = 0;
  for (const auto& range : golden.at("classes")) {
    const char expected = range.at(2).get_ref<const std::string&>().at(0);
    const std::uint8_t bits = expected == 'L'   ? kLetter
                              : expected == 'N' ? kNumber
                              : expected == 'S' ? kSpace
                                                : 0;
    for (char32_t c = from_hex(range.at(0)); c <= from_hex(range.at(1)); ++c, ++checked) {
      if (!is_surrogate(c)) {
        ASSERT_EQ(char_class(c) & ~kInvisible, bits) << std::hex << static_cast<std::uint32_t>(c);
      }
    }
  }
  EXPECT_EQ(checked, kCodePoints);
}

TEST(Unicode, LowerCaseOfAllCodePoints) {
  const auto golden = test::read_json_fixture("unicode.json").at("lowercase");
  std::map<char32_t, std::u32string> expected;
  for (const auto& [upper, lower] : golden.items()) expected[from_hex(upper)] = code_points(lower);
  for (char32_t c = 0; c < kCodePoints; ++c) {
    std::u32string lower;
    append_lower(c, lower);
    const auto known = expected.find(c);
    ASSERT_EQ(lower, known == expected.end() ? std::u32string(1, c) : known->second)
        << std::hex << static_cast<std::uint32_t>(c);
  }
}

TEST(Unicode, CompositionOfAllSingleCodePoints) {
  const auto golden = test::read_json_fixture("unicode.json").at("nfc_single");
  std::map<char32_t, std::u32string> expected;
  for (const auto& [from, to] : golden.items()) expected[from_hex(from)] = code_points(to);
  for (char32_t c = 0; c < kCodePoints; ++c) {
    if (is_surrogate(c)) continue;
    TracedText text;
    text.append(c, 0);
    const auto known = expected.find(c);
    ASSERT_EQ(compose(text).chars, known == expected.end() ? text.chars : known->second)
        << std::hex << static_cast<std::uint32_t>(c);
  }
}

TEST(Unicode, CompositionOfSequences) {
  const auto golden = test::read_json_fixture("nfc.json");
  ASSERT_GE(golden.size(), 50u);
  for (const auto& pair : golden)
    ASSERT_EQ(composed(pair.at(0).get_ref<const std::string&>()), pair.at(1));
}

TEST(Unicode, CompositionKeepsOrigins) {
  const TracedText text = compose(decode("xe\u0301y").value());
  EXPECT_EQ(text.chars, U"x\u00e9y");
  EXPECT_EQ(text.origins, (std::vector<std::size_t>{0, 1, 4}));
}

TEST(Unicode, DecodeNamesTheBadByte) {
  const auto bad = decode("a\u00e9\x80");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "the text is not valid UTF-8: byte 0x80 at offset 3");
}

}  // namespace
}  // namespace sam3::text
