// The "pre_tokenizer" section of a tokenizer file: cuts normalised text into words.
#pragma once

#include <variant>
#include <vector>

#include "sam3/result.h"
#include "text/json_fields.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace sam3::text {

class PreTokenizer {
 public:
  // Types Sequence, Split and ByteLevel, which must be there once and come last: the vocabularies
  // read here are over bytes. Another type is kUnsupported.
  static Result<PreTokenizer> from_json(const Json& section);

  // The words in order, none empty, as spans of `text`; it changes only when ByteLevel adds spaces.
  std::vector<Span> apply(TracedText& text) const;

 private:
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Split {
    Pattern pattern;
    Behavior behavior;
    bool invert;
  };

  Status add(const Json& section, int depth);
  Status add_split(const Json& section);
  Status add_byte_level(const Json& section);
  static Result<Behavior> behavior_from(const std::string& name);
  static std::vector<Span> split(std::u32string_view text, const std::vector<Span>& pieces,
                                 const Split& step);
  static void add_prefix_spaces(TracedText& text, std::vector<Span>& words);

  std::vector<Split> before_prefix_;
  std::vector<Split> after_prefix_;
  bool add_prefix_space_ = false;
  bool has_byte_level_ = false;
};

}  // namespace sam3::text
