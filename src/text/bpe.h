// The "model" section of a tokenizer file: byte-pair encoding over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sam3/result.h"
#include "text/json_fields.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace sam3::text {

// A token and the offset in the caller's text of the character in which it begins.
struct Token {
  std::int32_t id;
  std::size_t origin;
};

// The character that stands for each byte in the vocabulary, as UTF-8.
using ByteSymbols = std::array<std::string, 256>;

// GPT-2's: printable Latin-1 characters stand for themselves, the other bytes, in order, for U+0100
// onwards. It is fixed in the ByteLevel step of `tokenizers`.
ByteSymbols byte_level_symbols();

// What a Bpe is made from; the objects are borrowed for the call.
struct BpeSource {
  const Json& vocab;   // {token: id}
  const Json& merges;  // [[left, right], ..] or ["left right", ..], the most important first
  std::string end_of_word_suffix;
  std::string unknown_token;  // empty: a byte without a symbol in the vocabulary is left out
  bool fuse_unknown = false;  // neighbouring unknown bytes are one token
};

class Bpe {
 public:
  // The "model" section. Only type BPE without dropout, continuing prefix, byte fallback and
  // ignore_merges; other settings are kUnsupported. kBadData if a merge names tokens that the
  // vocabulary lacks.
  static Result<Bpe> from_json(const Json& section);
  static Result<Bpe> make(const BpeSource& source, const ByteSymbols& symbols);

  // Appends the tokens of words of `text`. Time grows as n log n with the length of a word.
  void encode(const TracedText& text, const std::vector<Span>& words,
              std::vector<Token>& tokens) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t id;
  };
  class Word;

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;

  static constexpr std::int32_t kMissing = -1;
  std::array<std::int32_t, 256> inner_{};  // token of a byte inside a word, or kMissing
  std::array<std::int32_t, 256> final_{};  // token of a byte that ends a word, or kMissing
  std::int32_t unknown_ = kMissing;
  bool fuse_unknown_ = false;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace sam3::text
