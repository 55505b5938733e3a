// Long and odd prompts: near-linear time. The limits hold under sanitizers on a slow machine; an
// algorithm that is quadratic misses them by a factor of a hundred or more.
#include <gtest/gtest.h>

#include "text/text_fixtures.h"

namespace sam3 {
namespace {

using test::repeat;

constexpr double kSeconds = 5;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

struct Hostile {
  const char* name;
  std::string text;
};

std::string megabyte_of(const std::string& unit) { return repeat(unit, kMegabyte / unit.size()); }

class HostileText : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileText, IsCutInTime) {
  const std::string& text = GetParam().text;
  const Tokenizer& tokenizer = test::five_graph_tokenizer();
  Encoding encoding;
  EXPECT_LT(test::seconds_of([&] { encoding = tokenizer.encode(text, 32).value(); }), kSeconds);
  EXPECT_EQ(encoding.ids.size(), 32u);
  EXPECT_EQ(encoding.ids[0], tokenizer.bos());
  EXPECT_EQ(encoding.ids[31], tokenizer.eos());
  EXPECT_EQ(text.substr(text.size() - encoding.dropped.size()), encoding.dropped);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, HostileText,
                         ::testing::Values(Hostile{"letters", repeat("a", 100000)},
                                           Hostile{"megabyte_of_letters", megabyte_of("ab")},
                                           Hostile{"emoji", megabyte_of("\U0001f600")},
                                           Hostile{"spaces", megabyte_of(" ")},
                                           Hostile{"spaces_and_letter", megabyte_of(" ") + "a"},
                                           Hostile{"words", megabyte_of("red apple ")},
                                           Hostile{"one_mark", "a" + megabyte_of("\u0301")},
                                           Hostile{"marks_out_of_order",
                                                   "a" + megabyte_of("\u0301\u0323\u0327")},
                                           Hostile{"letter_and_mark", megabyte_of("e\u0301")},
                                           Hostile{"hangul", megabyte_of("\u1100\u1161\u11a8")},
                                           Hostile{"growing_lower_case", megabyte_of("\u0130")},
                                           Hostile{"quotes", megabyte_of("'")},
                                           Hostile{"half_special", megabyte_of("<|endoftext|")},
                                           Hostile{"specials", megabyte_of("<|endoftext|>")},
                                           Hostile{"nul", std::string(kMegabyte, '\0')}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace sam3
