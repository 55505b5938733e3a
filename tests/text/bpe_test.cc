#include "text/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "text/text_fixtures.h"

namespace sam3::text {
namespace {

// The rule itself: the pair of lowest rank, all its occurrences from the left, until none is left.
std::vector<std::string> merge_plainly(const std::string& word, const Json& merges) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  parts.back() += "</w>";
  while (true) {
    std::size_t best = merges.size();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = static_cast<std::size_t>(
          std::find(merges.begin(), merges.end(), Json{parts[i], parts[i + 1]}) - merges.begin());
      best = std::min(best, rank);
    }
    if (best == merges.size()) return parts;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      if (merges[best] == Json{parts[i], parts[i + 1]}) {
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
}

TEST(Bpe, EqualsThePlainRuleOnRandomWords) {
  const Json model = test::read_json_fixture("small_tokenizer.json").at("model");
  const Bpe bpe = Bpe::from_json(model).value();
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    std::string word;
    for (std::size_t length = 1 + random() % 14; word.size() < length;)
      word.push_back("aehinorst"[random() % 9]);
    std::vector<std::int32_t> expected;
    for (const auto& part : merge_plainly(word, model.at("merges")))
      expected.push_back(model.at("vocab").at(part).get<std::int32_t>());

    const TracedText text = decode(word).value();
    std::vector<Token> tokens;
    bpe.encode(text, {{0, text.chars.size()}}, tokens);
    std::vector<std::int32_t> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    EXPECT_EQ(ids, expected) << word;
  }
}

TEST(Bpe, TokensKnowWhereTheyBegin) {
  const Json vocab = {{"a", 0}, {"b", 1}, {"a</w>", 2}, {"ab", 3}};
  const Json merges = {"a b"};
  const Bpe bpe = Bpe::make({vocab, merges, "</w>", ""}, byte_level_symbols()).value();
  const TracedText text = decode("bababa").value();
  std::vector<Token> tokens;
  bpe.encode(text, {{0, 6}}, tokens);
  std::vector<std::size_t> origins;
  for (const Token& token : tokens) origins.push_back(token.origin);
  EXPECT_THAT(origins, ::testing::ElementsAre(0u, 1u, 3u, 5u));
}

TEST(Bpe, ByteSymbolsAreGpt2s) {
  const auto golden = test::read_json_fixture("clip_tokenizer.json").at("byte_encoder");
  const ByteSymbols symbols = byte_level_symbols();
  for (std::size_t byte = 0; byte < symbols.size(); ++byte)
    EXPECT_EQ(symbols[byte], golden.at(std::to_string(byte)));
}

}  // namespace
}  // namespace sam3::text
