// Reading the two kinds of tokenizer file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "sam3/result.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"

namespace sam3::text {

// Everything that a tokenizer file says.
struct TokenizerParts {
  AddedTokens added_tokens;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Bpe bpe;
  std::int32_t bos = 0;
  std::int32_t eos = 0;
  std::int32_t pad = 0;
  std::size_t max_length = std::numeric_limits<std::size_t>::max();  // the file's truncation
};

Result<TokenizerParts> read_tokenizer_json(std::string_view text);
Result<TokenizerParts> read_clip_json(std::string_view text);

}  // namespace sam3::text
