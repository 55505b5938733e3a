// A matcher for the regular expressions found in tokenizer files.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::text {

// Code points begin..end-1 of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A set of code points: the union of ranges and classes, or its complement.
class CharSet {
 public:
  void add_range(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  // Adds the code points that have a bit of `bits` (see CharClass), or those that have none.
  void add_class(std::uint8_t bits, bool negated);
  void negate() { negated_ = !negated_; }
  bool contains(char32_t code_point) const;
  // False only if no code point beyond ASCII is in the set.
  bool reaches_beyond_ascii() const;

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  std::vector<Range> ranges_;
  std::uint8_t with_bits_ = 0;
  std::vector<std::uint8_t> without_bits_;
  bool negated_ = false;
};

// A compiled expression. Its syntax is the part of Oniguruma's (the engine of `tokenizers`) that
// can be matched in one pass:
//   alternatives a|b, tried in order; literal characters; escapes \n \r \t and of punctuation;
//   \s \S \p{L} \P{L} \p{N} \P{N}; classes [..] and [^..] of these and of ranges;
//   `?` after the first or last item of an alternative, `*` and `+` (greedy) after the last one;
//   a closing (?!x), where x is one item.
// Everything else, and an expression that matches the empty text, is kUnsupported.
class Pattern {
 public:
  static Result<Pattern> compile(std::string_view expression);
  // Matches just this text, which must not be empty.
  static Result<Pattern> literal(std::string_view text);

  // The leftmost match that begins at `from` or later; never empty. `text` is all there is: a
  // lookahead at its end succeeds.
  std::optional<Span> find(std::u32string_view text, std::size_t from) const;

 private:
  friend class PatternParser;
  struct Item {
    CharSet set;
    bool optional = false;  // ? and *
    bool repeated = false;  // + and *
  };
  struct Alternative {
    std::vector<Item> items;
    std::optional<CharSet> not_before;
    // What the first character of a match can be, to pass quickly over places without one.
    std::bitset<128> ascii_starts;
    bool other_starts = false;

    void find_starts();
    bool can_start(char32_t code_point) const {
      return code_point < ascii_starts.size() ? ascii_starts[code_point] : other_starts;
    }
    // End of the match that begins at `start`.
    std::optional<std::size_t> match(std::u32string_view text, std::size_t start) const;
    std::optional<std::size_t> match_items(std::u32string_view text, std::size_t start,
                                           std::size_t first_item) const;
  };
  std::vector<Alternative> alternatives_;
};

}  // namespace sam3::text
