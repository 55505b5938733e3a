#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "text/text_fixtures.h"

namespace sam3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;
using test::browser_tokenizer;
using test::five_graph_tokenizer;
using test::read_text_fixture;
using test::repeat;

constexpr std::int64_t kBos = 49406;
constexpr std::int64_t kEos = 49407;

std::vector<nlohmann::json> golden_prompts() {
  std::istringstream lines(read_text_fixture("prompts.jsonl"));
  std::vector<nlohmann::json> prompts;
  for (std::string line; std::getline(lines, line);) prompts.push_back(nlohmann::json::parse(line));
  return prompts;
}

// Every golden prompt against `tokenizer`; `ids_key` is the column of expected ids.
void expect_goldens(const Tokenizer& tokenizer, const char* ids_key) {
  const auto prompts = golden_prompts();
  ASSERT_EQ(prompts.size(), 641u);
  for (const auto& prompt : prompts) {
    const auto text = prompt.at("text").get<std::string>();
    const auto ids = prompt.at(ids_key).get<Ids>();
    const Encoding encoding = tokenizer.encode(text, static_cast<int>(ids.size())).value();
    EXPECT_EQ(encoding.ids, ids) << prompt.at("text");
    EXPECT_EQ(encoding.mask, prompt.at("mask").get<Ids>()) << prompt.at("text");
    const auto count = prompt.at("n").get<std::size_t>();
    EXPECT_EQ(tokenizer.encode_all(text).value().size(), count) << prompt.at("text");
    EXPECT_EQ(encoding.dropped.empty(), count <= ids.size()) << prompt.at("text");
  }
}

Ids valid_ids(const std::string& text) { return five_graph_tokenizer().encode_all(text).value(); }

TEST(Tokenizer, EqualsTheReferenceOnAllGoldens) { expect_goldens(five_graph_tokenizer(), "ids"); }

TEST(Tokenizer, EqualsTheReferenceWithTheOlderFile) {
  const auto tokenizer =
      Tokenizer::from_tokenizer_json(read_text_fixture("tokenizer_v4.json")).value();
  expect_goldens(tokenizer, "ids");
}

TEST(Tokenizer, EqualsTheReferenceWithTheBrowserFile) {
  expect_goldens(browser_tokenizer(), "zero");
}

TEST(Tokenizer, TellsItsMarks) {
  EXPECT_EQ(five_graph_tokenizer().bos(), kBos);
  EXPECT_EQ(five_graph_tokenizer().eos(), kEos);
  EXPECT_EQ(five_graph_tokenizer().pad(), kEos);
  EXPECT_EQ(browser_tokenizer().pad(), 0);
}

TEST(Tokenizer, MarksWordEndsNotSpaces) {
  EXPECT_THAT(valid_ids("plastic bottle"), ElementsAre(kBos, 6102, 5392, kEos));
}

TEST(Tokenizer, SplitsDigitsAndKeepsRunsOfSigns) {
  EXPECT_EQ(valid_ids("123"), valid_ids("1 2 3"));
  EXPECT_THAT(valid_ids("a_b"), ElementsAre(kBos, 320, 318, 321, kEos));
  EXPECT_THAT(valid_ids("!!"), ElementsAre(kBos, 748, kEos));
}

TEST(Tokenizer, PadsWithTheEndMarkAndMasksByLength) {
  const Encoding encoding = five_graph_tokenizer().encode("dog", 8).value();
  EXPECT_THAT(encoding.ids, ElementsAre(kBos, 1929, kEos, kEos, kEos, kEos, kEos, kEos));
  EXPECT_THAT(encoding.mask, ElementsAre(1, 1, 1, 0, 0, 0, 0, 0));
}

TEST(Tokenizer, CutsBetween30And31Words) {
  for (const std::size_t words : {29u, 30u, 31u}) {
    const Encoding encoding = five_graph_tokenizer().encode(repeat("dog ", words), 32).value();
    const std::size_t kept = std::min<std::size_t>(words, 30);
    Ids ids(32, kEos);
    ids[0] = kBos;
    std::fill_n(ids.begin() + 1, kept, 1929);
    EXPECT_EQ(encoding.ids, ids);
    EXPECT_EQ(std::count(encoding.mask.begin(), encoding.mask.end(), 1),
              static_cast<std::ptrdiff_t>(kept + 2));
    EXPECT_EQ(encoding.dropped, words == 31 ? "dog " : "");
  }
}

TEST(Tokenizer, ReturnsTheDroppedEndInTheCallersBytes) {
  const auto dropped = [](const std::string& text, int length) {
    return five_graph_tokenizer().encode(text, length).value().dropped;
  };
  EXPECT_EQ(dropped("Dog   CAT, Bird", 4), ", Bird");
  EXPECT_EQ(dropped("Dog   CAT, Bird", 3), "CAT, Bird");
  EXPECT_EQ(dropped("dog  ", 3), "");
  EXPECT_EQ(dropped("dog", 2), "dog");
  EXPECT_EQ(dropped("dog<|endoftext|>cat", 4), "cat");
  EXPECT_EQ(dropped("dog <|endoftext|> cat", 3), "<|endoftext|> cat");
  // Composition (e and an accent become one) and growing lower case must not shift the place.
  EXPECT_EQ(dropped("e\u0301t\u00e9 CAF\u00c9 dog", 5), "dog");
  EXPECT_EQ(dropped("\u0130 dog", 4), "dog");
  EXPECT_EQ(dropped("\u0130 dog", 3), "\u0130 dog");
  // A character that only partly fits is dropped as a whole.
  EXPECT_EQ(dropped("\u732b\u72ac", 4), "\u732b\u72ac");
}

TEST(Tokenizer, RefusesInvalidUtf8WithItsOffset) {
  const auto bad = five_graph_tokenizer().encode("caf\xe9", 32);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(bad.error().message, HasSubstr("byte 0xE9 at offset 3"));
  EXPECT_FALSE(five_graph_tokenizer().encode_all("\xed\xa0\x80").ok());
  EXPECT_FALSE(browser_tokenizer().encode("dog\xf0\x9f\x98", 32).ok());
}

TEST(Tokenizer, RefusesALengthWithoutRoomForTheMarks) {
  for (const int length : {-1, 0, 1}) {
    const auto bad = five_graph_tokenizer().encode("dog", length);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_THAT(five_graph_tokenizer().encode("dog", 2).value().ids, ElementsAre(kBos, kEos));
}

TEST(Tokenizer, TellsBlankPrompts) {
  const std::string nul(1, '\0');
  for (const std::string& text :
       {std::string(), std::string("   "), std::string("\n\t"), std::string("\u200b"),
        std::string("\ufeff"), std::string("\u00ad\u2060\u200d"), std::string("\u00a0\u3000"), nul,
        std::string("\u202e\u2066"), std::string("\ufe0f"), std::string("\U000e0041"),
        std::string("\u115f\u3164")})
    EXPECT_TRUE(Tokenizer::is_blank(text)) << text;
  for (const char* text :
       {"a", " . ", "\u200bx", "\u0301", "\u0378", "\ue000", "\ufffd", "\xff", " \xe2\x80"})
    EXPECT_FALSE(Tokenizer::is_blank(text)) << text;
}

TEST(Tokenizer, ServesSeveralThreads) {
  const auto prompts = golden_prompts();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&prompts, &count] {
      for (const auto& prompt : prompts) {
        const auto encoding =
            five_graph_tokenizer().encode(prompt.at("text").get_ref<const std::string&>(), 32);
        if (!encoding.ok() || encoding->ids != prompt.at("ids").get<Ids>()) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace sam3
