// The "added_tokens" section of a tokenizer file: texts that are one token wherever they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sam3/result.h"
#include "text/json_fields.h"
#include "text/normalizer.h"
#include "text/unicode.h"

namespace sam3::text {

// A set of texts, looked for in one go; at one place the longest counts.
class TokenTexts {
 public:
  void add(std::u32string text, std::int32_t id);

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::int32_t id;
  };
  // The leftmost match that begins at `from` or later.
  std::optional<Match> find(std::u32string_view text, std::size_t from) const;

 private:
  struct Entry {
    std::u32string text;
    std::int32_t id;
  };
  std::unordered_map<char32_t, std::vector<Entry>> by_first_;  // the longest first
};

class AddedTokens {
 public:
  // kUnsupported for single_word, lstrip and rstrip; kBadData if `vocab`, the model's {token: id},
  // has one of the tokens with another id.
  static Result<AddedTokens> from_json(const Json& section, const Json& vocab,
                                       const Normalizer& normalizer);

  // The id of the added token with this content, if there is one.
  std::optional<std::int32_t> find_id(std::string_view content) const;

  // Looked for before normalisation, and after it.
  const TokenTexts& raw() const { return raw_; }
  const TokenTexts& normalized() const { return normalized_; }

 private:
  std::unordered_map<std::string, std::int32_t> ids_;
  TokenTexts raw_;
  TokenTexts normalized_;
};

}  // namespace sam3::text
