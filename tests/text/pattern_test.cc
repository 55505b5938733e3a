#include "text/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sam3::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::u32string> matches(std::string_view expression, std::u32string_view text) {
  const Pattern pattern = Pattern::compile(expression).value();
  std::vector<std::u32string> found;
  std::size_t position = 0;
  while (const auto match = pattern.find(text, position)) {
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
    position = match->end;
  }
  return found;
}

TEST(Pattern, AlternativesInOrder) {
  EXPECT_THAT(matches("a|ab|b", U"abb"), ElementsAre(U"a", U"b", U"b"));
  EXPECT_THAT(matches("ab|a|b", U"abb"), ElementsAre(U"ab", U"b"));
}

TEST(Pattern, RepeatsAreGreedy) {
  EXPECT_THAT(matches("ab*", U"abbac"), ElementsAre(U"abb", U"a"));
  EXPECT_THAT(matches("ab+", U"abbac"), ElementsAre(U"abb"));
  EXPECT_THAT(matches("ab?", U"abbac"), ElementsAre(U"ab", U"a"));
  EXPECT_THAT(matches(" ?x", U"x x  x"), ElementsAre(U"x", U" x", U" x"));
  EXPECT_THAT(matches("x?x", U"xxx"), ElementsAre(U"xx", U"x"));
}

TEST(Pattern, ClassesAndEscapes) {
  EXPECT_THAT(matches(R"([\p{L}]+)", U"ab1\u732b\u00e9!"), ElementsAre(U"ab", U"\u732b\u00e9"));
  EXPECT_THAT(matches(R"([^\s\p{L}\p{N}]+)", U"a!? \u00bd\U0001f600-"),
              ElementsAre(U"!?", U"\U0001f600-"));
  EXPECT_THAT(matches(R"(\P{N}+)", U"1a2"), ElementsAre(U"a"));
  EXPECT_THAT(matches(R"([\S]+)", U"a\u00a0b"), ElementsAre(U"a", U"b"));
  EXPECT_THAT(matches(R"([a-cx-])", U"bdx-"), ElementsAre(U"b", U"x", U"-"));
  EXPECT_THAT(matches(R"(<\|a\|>|\[|\n)", U"<|a|>[\n"), ElementsAre(U"<|a|>", U"[", U"\n"));
  EXPECT_THAT(matches(R"([\]\\])", U"]\\"), ElementsAre(U"]", U"\\"));
}

TEST(Pattern, LookaheadGivesBack) {
  EXPECT_THAT(matches(R"(\s+(?!\S)|\s+)", U"  a   "), ElementsAre(U" ", U" ", U"   "));
  EXPECT_THAT(matches("a(?!b)", U"abac"), ElementsAre(U"a"));
}

TEST(Pattern, LiteralTakesSignsAsTheyAre) {
  const Pattern pattern = Pattern::literal("a.+").value();
  EXPECT_FALSE(pattern.find(U"abc", 0));
  const auto match = pattern.find(U"xa.+", 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->begin, 1u);
  EXPECT_EQ(match->end, 4u);
  EXPECT_FALSE(Pattern::literal("").ok());
}

TEST(Pattern, NamesWhatItDoesNotSupport) {
  for (const char* expression :
       {"(ab)",      "(?i:a)",      "a.",     "^a",        "a$",     "a{2}",    "a+b",
        "a?b?c",     "a+?",         "a++",    "a**",       R"(\d)",  R"(\w+)",  R"(\p{Lu})",
        R"(\p{^L})", "[[:alpha:]]", "[a&&b]", "[]",        "[z-a]",  "[a",      "a\\",
        "a*",        "a|",          "",       "(?!a)",     "(?!ab)", "a(?!b)c", "(?=a)",
        ")",         "]",           "+a",     R"([a-\s])", "[a-"}) {
    const auto pattern = Pattern::compile(expression);
    ASSERT_FALSE(pattern.ok()) << expression;
    EXPECT_EQ(pattern.error().code, ErrorCode::kUnsupported) << expression;
    EXPECT_THAT(pattern.error().message, HasSubstr(expression));
  }
}

}  // namespace
}  // namespace sam3::text
