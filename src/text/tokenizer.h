// Text prompts as token ids: the byte-pair tokenizer of CLIP, as the Hugging Face `tokenizers`
// package runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3 {

namespace text {
struct TokenizerParts;
struct Token;
}  // namespace text

// A prompt as the text graphs take it; `ids` and `mask` have the length that was asked for.
struct Encoding {
  std::vector<std::int64_t> ids;   // start mark, tokens, end mark, then the padding id
  std::vector<std::int64_t> mask;  // 1 up to and with the end mark, 0 for the padding
  // The end of the caller's text that did not fit, from the first character that has a token which
  // was cut off; empty if nothing was.
  std::string dropped;
};

// Immutable, cheap to copy, and safe to use from several threads at once.
class Tokenizer {
 public:
  // Reads the content of a tokenizer.json: added tokens, normalizer, pre-tokenizer, BPE model, and
  // the marks of start and end from the post-processor (without one: the added tokens
  // <|startoftext|> and
  // <|endoftext|>). The padding id is that of the file's padding section, else the end mark.
  // Errors: kBadData if the file is damaged, kUnsupported, with its name, for a step that this
  // tokenizer does not know.
  static Result<Tokenizer> from_tokenizer_json(std::string_view json);

  // Reads the vocabulary of the browser family: {"encoder", "merges", "byte_encoder"}. Text is
  // prepared as by the five-graph family's tokenizer.json; the padding id is 0.
  static Result<Tokenizer> from_clip_json(std::string_view json);

  // Exactly `length` ids (at least 2, the context of the text graph), the text cut where needed so
  // that the end mark fits; a truncation section in the file may ask for an earlier cut. An empty
  // text gives the two marks; see is_blank(). Errors: kInvalidArgument with the offset of the first
  // byte that is not UTF-8, or for a bad length; kLimit for text above 256 MiB. Time grows as n log
  // n.
  Result<Encoding> encode(std::string_view text, int length) const;

  // All ids with the two marks, neither cut nor padded. Errors as for encode().
  Result<std::vector<std::int64_t>> encode_all(std::string_view text) const;

  std::int64_t bos() const;
  std::int64_t eos() const;
  std::int64_t pad() const;

  // True if nothing of the text can be seen: only white space, control, format and other
  // zero-width characters, or nothing at all. Text that is not UTF-8 is not blank.
  static bool is_blank(std::string_view text);

 private:
  explicit Tokenizer(text::TokenizerParts parts);
  Result<std::vector<text::Token>> tokens(std::string_view text) const;

  std::shared_ptr<const text::TokenizerParts> parts_;
};

}  // namespace sam3
