#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"

namespace sam3::text {

void TokenTexts::add(std::u32string text, std::int32_t id) {
  if (text.empty()) return;
  auto& entries = by_first_[text[0]];
  const auto place = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.text.size() < text.size();
  });
  entries.insert(place, Entry{std::move(text), id});
}

std::optional<TokenTexts::Match> TokenTexts::find(std::u32string_view text,
                                                  std::size_t from) const {
  if (by_first_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    const auto entries = by_first_.find(text[begin]);
    if (entries == by_first_.end()) continue;
    for (const Entry& entry : entries->second) {
      if (text.substr(begin, entry.text.size()) == entry.text)
        return Match{begin, begin + entry.text.size(), entry.id};
    }
  }
  return std::nullopt;
}

Result<AddedTokens> AddedTokens::from_json(const Json& section, const Json& vocab,
                                           const Normalizer& normalizer) {
  constexpr std::string_view kWhere = "added_tokens";
  if (!section.is_array()) return bad_json("\"added_tokens\" is not an array");
  AddedTokens tokens;
  for (const Json& entry : section) {
    SAM3_ASSIGN_OR_RETURN(const std::string content, need_string(entry, "content", kWhere));
    SAM3_ASSIGN_OR_RETURN(const std::int32_t id, need_id(entry, "id", kWhere));
    if (const Json* known = find_member(vocab, content.c_str()); known && *known != id) {
      return bad_json("added token \"" + content + "\" has id " + std::to_string(id) +
                      " but another one in the vocabulary");
    }
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      SAM3_ASSIGN_OR_RETURN(const bool set, bool_or(entry, flag, false, kWhere));
      if (set) return unsupported_json(std::string(flag) + " of added token \"" + content + "\"");
    }
    SAM3_ASSIGN_OR_RETURN(const bool special, bool_or(entry, "special", false, kWhere));
    SAM3_ASSIGN_OR_RETURN(const bool normalized, bool_or(entry, "normalized", !special, kWhere));
    SAM3_ASSIGN_OR_RETURN(TracedText text, decode(content));
    tokens.ids_.insert_or_assign(content, id);
    if (normalized)
      tokens.normalized_.add(normalizer.apply(std::move(text)).chars, id);
    else
      tokens.raw_.add(std::move(text.chars), id);
  }
  return tokens;
}

std::optional<std::int32_t> AddedTokens::find_id(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace sam3::text
