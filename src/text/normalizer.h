// The "normalizer" section of a tokenizer file.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sam3/result.h"
#include "text/json_fields.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace sam3::text {

class Normalizer {
 public:
  // Types Sequence, NFC, Lowercase, Replace and Strip; another one is kUnsupported.
  static Result<Normalizer> from_json(const Json& section);

  TracedText apply(TracedText text) const;

 private:
  struct Compose {};
  struct Lowercase {};
  struct Replace {
    Pattern pattern;
    std::u32string content;
  };
  struct Strip {
    bool left;
    bool right;
  };
  using Step = std::variant<Compose, Lowercase, Replace, Strip>;

  Status add(const Json& section, int depth);
  static TracedText run(const Compose& step, TracedText text);
  static TracedText run(const Lowercase& step, TracedText text);
  static TracedText run(const Replace& step, TracedText text);
  static TracedText run(const Strip& step, TracedText text);

  std::vector<Step> steps_;
};

// Sequences inside sequences, more than anyone writes and few enough for the stack.
inline constexpr int kMaxSequenceDepth = 16;

// The pattern object of Split and Replace: {"Regex": ".."} or {"String": ".."}.
Result<Pattern> pattern_from_json(const Json& section, std::string_view where);

}  // namespace sam3::text
