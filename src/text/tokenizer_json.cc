#include "text/tokenizer_json.h"

#include <string>
#include <utility>

#include "base/macros.h"
#include "base/utf8.h"

namespace sam3::text {
namespace {

constexpr const char* kStartToken = "<|startoftext|>";
constexpr const char* kEndToken = "<|endoftext|>";

// Steps of the tokenizer.json that transformers builds for CLIP (convert_slow_tokenizer.py,
// CLIPConverter). The browser family's file has a vocabulary only; its callers prepare text like
// this.
constexpr std::string_view kClipSteps = R"json({
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "NFC"},
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
    {"type": "Lowercase"}]},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Removed", "invert": true, "pattern":
      {"Regex": "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]}
})json";
constexpr const char* kClipEndOfWord = "</w>";
constexpr std::int32_t kClipPad = 0;

Status read_steps(const Json& json, TokenizerParts& parts) {
  if (const Json* normalizer = find_member(json, "normalizer")) {
    SAM3_ASSIGN_OR_RETURN(parts.normalizer, Normalizer::from_json(*normalizer));
  }
  SAM3_ASSIGN_OR_RETURN(const Json* pre_tokenizer, need_member(json, "pre_tokenizer", ""));
  SAM3_ASSIGN_OR_RETURN(parts.pre_tokenizer, PreTokenizer::from_json(*pre_tokenizer));
  return {};
}

// [token, id] as RobertaProcessing has it.
Result<std::int32_t> read_mark(const Json& section, const char* key) {
  const std::string where = std::string("post_processor.") + key;
  SAM3_ASSIGN_OR_RETURN(const Json* pair, need_member(section, key, "post_processor"));
  if (!pair->is_array() || pair->size() != 2) return bad_json("\"" + where + "\" is not a pair");
  return to_id((*pair)[1], where);
}

// The id of a {"SpecialToken": {"id": name}} entry of a template.
Result<std::int32_t> read_template_mark(const Json& section, const Json& entry) {
  const std::string where = "post_processor.special_tokens";
  SAM3_ASSIGN_OR_RETURN(const Json* token, need_member(entry, "SpecialToken", "single"));
  SAM3_ASSIGN_OR_RETURN(const std::string name, need_string(*token, "id", "SpecialToken"));
  SAM3_ASSIGN_OR_RETURN(const Json* known,
                        need_member(section, "special_tokens", "post_processor"));
  SAM3_ASSIGN_OR_RETURN(const Json* special, need_member(*known, name.c_str(), where));
  SAM3_ASSIGN_OR_RETURN(const Json* ids, need_member(*special, "ids", where));
  if (!ids->is_array() || ids->size() != 1) return unsupported_json("a mark of several tokens");
  return to_id((*ids)[0], where);
}

Status read_template(const Json& section, TokenizerParts& parts) {
  SAM3_ASSIGN_OR_RETURN(const Json* single, need_member(section, "single", "post_processor"));
  if (!single->is_array() || single->size() != 3 || !find_member((*single)[1], "Sequence"))
    return unsupported_json("a template other than start, text, end");
  SAM3_ASSIGN_OR_RETURN(parts.bos, read_template_mark(section, (*single)[0]));
  SAM3_ASSIGN_OR_RETURN(parts.eos, read_template_mark(section, (*single)[2]));
  return {};
}

Status read_marks_from_added_tokens(TokenizerParts& parts) {
  const auto bos = parts.added_tokens.find_id(kStartToken);
  const auto eos = parts.added_tokens.find_id(kEndToken);
  if (!bos || !eos) {
    return bad_json(std::string("neither a post_processor nor the added tokens ") + kStartToken +
                    " and " + kEndToken + " name the marks of start and end");
  }
  parts.bos = *bos;
  parts.eos = *eos;
  return {};
}

Status read_post_processor(const Json& json, TokenizerParts& parts) {
  const Json* section = find_member(json, "post_processor");
  if (!section) return read_marks_from_added_tokens(parts);
  SAM3_ASSIGN_OR_RETURN(const std::string type, need_string(*section, "type", "post_processor"));
  if (type == "TemplateProcessing") return read_template(*section, parts);
  if (type != "RobertaProcessing" && type != "BertProcessing")
    return unsupported_json("post_processor type \"" + type + "\"");
  SAM3_ASSIGN_OR_RETURN(parts.bos, read_mark(*section, "cls"));
  SAM3_ASSIGN_OR_RETURN(parts.eos, read_mark(*section, "sep"));
  return {};
}

// Text runs to the right, so only the right end can be padded or cut.
Status need_right(const Json& section, std::string_view where) {
  if (!find_member(section, "direction")) return {};
  SAM3_ASSIGN_OR_RETURN(const std::string direction, need_string(section, "direction", where));
  if (direction != "Right")
    return unsupported_json(std::string(where) + " direction \"" + direction + "\"");
  return {};
}

Status read_lengths(const Json& json, TokenizerParts& parts) {
  parts.pad = parts.eos;
  if (const Json* padding = find_member(json, "padding")) {
    SAM3_RETURN_IF_ERROR(need_right(*padding, "padding"));
    SAM3_ASSIGN_OR_RETURN(parts.pad, need_id(*padding, "pad_id", "padding"));
  }
  if (const Json* truncation = find_member(json, "truncation")) {
    SAM3_RETURN_IF_ERROR(need_right(*truncation, "truncation"));
    SAM3_ASSIGN_OR_RETURN(const std::int32_t limit,
                          need_id(*truncation, "max_length", "truncation"));
    if (limit < 2) return bad_json("\"truncation.max_length\" leaves no room for start and end");
    parts.max_length = static_cast<std::size_t>(limit);
  }
  return {};
}

// The member {"33": "!", ..} of the browser family's file.
Result<ByteSymbols> read_byte_encoder(const Json& section) {
  ByteSymbols symbols;
  for (std::size_t byte = 0; byte < symbols.size(); ++byte) {
    SAM3_ASSIGN_OR_RETURN(symbols[byte],
                          need_string(section, std::to_string(byte).c_str(), "byte_encoder"));
  }
  return symbols;
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(std::string_view text) {
  SAM3_ASSIGN_OR_RETURN(const Json json, parse_json(text));
  TokenizerParts parts;
  SAM3_RETURN_IF_ERROR(read_steps(json, parts));
  SAM3_ASSIGN_OR_RETURN(const Json* model, need_member(json, "model", ""));
  SAM3_ASSIGN_OR_RETURN(parts.bpe, Bpe::from_json(*model));
  if (const Json* added = find_member(json, "added_tokens")) {
    SAM3_ASSIGN_OR_RETURN(
        parts.added_tokens,
        AddedTokens::from_json(*added, *find_member(*model, "vocab"), parts.normalizer));
  }
  SAM3_RETURN_IF_ERROR(read_post_processor(json, parts));
  SAM3_RETURN_IF_ERROR(read_lengths(json, parts));
  return parts;
}

Result<TokenizerParts> read_clip_json(std::string_view text) {
  SAM3_ASSIGN_OR_RETURN(const Json json, parse_json(text));
  SAM3_ASSIGN_OR_RETURN(const Json* encoder, need_member(json, "encoder", ""));
  SAM3_ASSIGN_OR_RETURN(const Json* merges, need_member(json, "merges", ""));
  SAM3_ASSIGN_OR_RETURN(const Json* byte_encoder, need_member(json, "byte_encoder", ""));
  SAM3_ASSIGN_OR_RETURN(const ByteSymbols symbols, read_byte_encoder(*byte_encoder));

  TokenizerParts parts;
  SAM3_ASSIGN_OR_RETURN(const Json steps, parse_json(kClipSteps));
  SAM3_RETURN_IF_ERROR(read_steps(steps, parts));
  SAM3_ASSIGN_OR_RETURN(parts.bpe,
                        Bpe::make({*encoder, *merges, kClipEndOfWord, kEndToken}, symbols));
  Json added = Json::array();
  for (const char* content : {kStartToken, kEndToken}) {
    SAM3_ASSIGN_OR_RETURN(const std::int32_t id, need_id(*encoder, content, "encoder"));
    added.push_back({{"content", content}, {"id", id}, {"special", true}});
  }
  SAM3_ASSIGN_OR_RETURN(parts.added_tokens,
                        AddedTokens::from_json(added, *encoder, parts.normalizer));
  SAM3_RETURN_IF_ERROR(read_marks_from_added_tokens(parts));
  parts.pad = kClipPad;
  return parts;
}

}  // namespace sam3::text
