#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"
#include "base/utf8.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace sam3 {
namespace {

using text::Token;
using text::TokenizerParts;
using text::TracedText;

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28;  // positions in a word have 31 bits
constexpr std::size_t kMarks = 2;                            // start and end

// Cuts `traced` at the added tokens in it: their ids go to `tokens`, what lies between them to
// `rest`.
template <typename Rest>
void cut_at(const text::TokenTexts& added, const TracedText& traced, std::vector<Token>& tokens,
            const Rest& rest) {
  std::size_t position = 0;
  while (const auto match = added.find(traced.chars, position)) {
    if (match->begin > position) rest(traced.slice(position, match->begin));
    tokens.push_back({match->id, traced.origins[match->begin]});
    position = match->end;
  }
  if (position < traced.chars.size()) rest(traced.slice(position, traced.chars.size()));
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_shared<const TokenizerParts>(std::move(parts))) {}

Result<Tokenizer> Tokenizer::from_tokenizer_json(std::string_view json) {
  SAM3_ASSIGN_OR_RETURN(TokenizerParts parts, text::read_tokenizer_json(json));
  return Tokenizer(std::move(parts));
}

Result<Tokenizer> Tokenizer::from_clip_json(std::string_view json) {
  SAM3_ASSIGN_OR_RETURN(TokenizerParts parts, text::read_clip_json(json));
  return Tokenizer(std::move(parts));
}

std::int64_t Tokenizer::bos() const { return parts_->bos; }
std::int64_t Tokenizer::eos() const { return parts_->eos; }
std::int64_t Tokenizer::pad() const { return parts_->pad; }

Result<std::vector<Token>> Tokenizer::tokens(std::string_view text) const {
  if (text.size() > kMaxTextBytes) {
    return Error{ErrorCode::kLimit,
                 "a text of " + std::to_string(text.size()) + " bytes is longer than the " +
                     std::to_string(kMaxTextBytes) + " that can be tokenized",
                 "", ""};
  }
  SAM3_ASSIGN_OR_RETURN(const TracedText traced, text::decode(text));
  std::vector<Token> tokens;
  const auto encode_words = [&](TracedText piece) {
    const std::vector<text::Span> words = parts_->pre_tokenizer.apply(piece);
    parts_->bpe.encode(piece, words, tokens);
  };
  const auto encode_raw = [&](TracedText piece) {
    const TracedText normalized = parts_->normalizer.apply(std::move(piece));
    cut_at(parts_->added_tokens.normalized(), normalized, tokens, encode_words);
  };
  cut_at(parts_->added_tokens.raw(), traced, tokens, encode_raw);
  return tokens;
}

Result<Encoding> Tokenizer::encode(std::string_view text, int length) const {
  if (length < static_cast<int>(kMarks)) {
    return Error{ErrorCode::kInvalidArgument,
                 "a context of " + std::to_string(length) + " tokens has no room for start and end",
                 "", ""};
  }
  SAM3_ASSIGN_OR_RETURN(const std::vector<Token> tokens, this->tokens(text));
  const auto size = static_cast<std::size_t>(length);
  const std::size_t kept = std::min(tokens.size(), std::min(size, parts_->max_length) - kMarks);

  Encoding encoding;
  encoding.ids.assign(size, pad());
  encoding.mask.assign(size, 0);
  std::fill_n(encoding.mask.begin(), kept + kMarks, 1);
  encoding.ids[0] = bos();
  for (std::size_t i = 0; i < kept; ++i) encoding.ids[i + 1] = tokens[i].id;
  encoding.ids[kept + 1] = eos();

  std::size_t cut = text.size();
  for (std::size_t i = kept; i < tokens.size(); ++i) cut = std::min(cut, tokens[i].origin);
  encoding.dropped = text.substr(cut);
  return encoding;
}

Result<std::vector<std::int64_t>> Tokenizer::encode_all(std::string_view text) const {
  SAM3_ASSIGN_OR_RETURN(const std::vector<Token> tokens, this->tokens(text));
  std::vector<std::int64_t> ids;
  ids.reserve(tokens.size() + kMarks);
  ids.push_back(bos());
  for (const Token& token : tokens) ids.push_back(token.id);
  ids.push_back(eos());
  return ids;
}

bool Tokenizer::is_blank(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const auto code_point = decode_utf8(text, position);
    if (!code_point) return false;
    if ((text::char_class(*code_point) & (text::kSpace | text::kInvisible)) == 0) return false;
  }
  return true;
}

}  // namespace sam3
