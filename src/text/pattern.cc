#include "text/pattern.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace sam3::text {

void CharSet::add_class(std::uint8_t bits, bool negated) {
  if (negated)
    without_bits_.push_back(bits);
  else
    with_bits_ |= bits;
}

bool CharSet::contains(char32_t code_point) const {
  bool found = std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
  if (!found && (with_bits_ != 0 || !without_bits_.empty())) {
    const std::uint8_t bits = char_class(code_point);
    found = (bits & with_bits_) != 0 ||
            std::any_of(without_bits_.begin(), without_bits_.end(),
                        [&](std::uint8_t without) { return (bits & without) == 0; });
  }
  return found != negated_;
}

bool CharSet::reaches_beyond_ascii() const {
  return negated_ || with_bits_ != 0 || !without_bits_.empty() ||
         std::any_of(ranges_.begin(), ranges_.end(),
                     [](const Range& range) { return range.last > 0x7F; });
}

// Reads one expression; `position_` is the next code point.
class PatternParser {
 public:
  explicit PatternParser(std::u32string text) : text_(std::move(text)) {}

  Result<Pattern> parse() {
    Pattern pattern;
    do {
      Pattern::Alternative alternative;
      SAM3_RETURN_IF_ERROR(parse_alternative(alternative));
      alternative.find_starts();
      pattern.alternatives_.push_back(std::move(alternative));
    } while (take(U'|'));
    return pattern;
  }

 private:
  bool at_end() const { return position_ == text_.size(); }
  bool next_is(std::u32string_view what) const {
    return std::u32string_view(text_).substr(position_, what.size()) == what;
  }
  bool take(char32_t what) {
    if (at_end() || text_[position_] != what) return false;
    ++position_;
    return true;
  }

  Error unsupported(std::string what) const {
    std::string expression;
    for (const char32_t c : text_) append_utf8(c, expression);
    return {ErrorCode::kUnsupported,
            "regular expression \"" + expression + "\": " + std::move(what) + " before character " +
                std::to_string(position_) + " is not supported",
            "", ""};
  }

  Status parse_alternative(Pattern::Alternative& alternative) {
    while (!at_end() && !next_is(U"|")) {
      if (alternative.not_before) return unsupported("an item after a lookahead");
      if (next_is(U"(?!")) {
        position_ += 3;
        CharSet set;
        SAM3_RETURN_IF_ERROR(parse_set(set));
        if (!take(U')')) return unsupported("a lookahead of more than one item");
        alternative.not_before = std::move(set);
        continue;
      }
      Pattern::Item item;
      SAM3_RETURN_IF_ERROR(parse_set(item.set));
      if (take(U'?')) {
        item.optional = true;
      } else if (take(U'*')) {
        item.optional = item.repeated = true;
      } else if (take(U'+')) {
        item.repeated = true;
      }
      alternative.items.push_back(std::move(item));
    }
    return check(alternative);
  }

  // The forms that Alternative::match() handles.
  Status check(const Pattern::Alternative& alternative) const {
    const auto& items = alternative.items;
    for (std::size_t i = 0; i + 1 < items.size(); ++i) {
      if (items[i].repeated || (items[i].optional && i != 0))
        return unsupported("a repeat inside an alternative");
    }
    if (std::all_of(items.begin(), items.end(), [](const auto& item) { return item.optional; }))
      return unsupported("an alternative that matches the empty text");
    return {};
  }

  // One item: a character, an escape or a class.
  Status parse_set(CharSet& set) {
    if (at_end()) return unsupported("the end of the expression");
    const char32_t c = text_[position_++];
    if (c == U'\\') return parse_escape(set, nullptr);
    if (c == U'[') return parse_class(set);
    if (std::u32string_view(U"(){}]^$.*+?|").find(c) != std::u32string_view::npos)
      return unsupported(quoted(c));
    set.add_range(c, c);
    return {};
  }

  Status parse_class(CharSet& set) {
    if (take(U'^')) set.negate();
    bool empty = true;
    while (!take(U']')) {
      if (at_end()) return unsupported("a class without an end");
      if (next_is(U"[") || next_is(U"&&"))
        return unsupported("a class inside a class or an intersection");
      SAM3_RETURN_IF_ERROR(parse_member(set));
      empty = false;
    }
    return empty ? Status(unsupported("an empty class")) : Status();
  }

  // A character, a range or an escape inside [..].
  Status parse_member(CharSet& set) {
    std::optional<char32_t> first;
    SAM3_RETURN_IF_ERROR(parse_member_character(set, first));
    if (!first) return {};
    std::optional<char32_t> last = first;
    if (next_is(U"-") && !next_is(U"-]")) {
      ++position_;
      SAM3_RETURN_IF_ERROR(parse_member_character(set, last));
      if (!last || *last < *first) return unsupported("a range without two characters in order");
    }
    set.add_range(*first, *last);
    return {};
  }

  // Gives the character, or adds the class and gives nothing.
  Status parse_member_character(CharSet& set, std::optional<char32_t>& character) {
    character.reset();
    if (at_end()) return unsupported("a class without an end");
    const char32_t c = text_[position_++];
    if (c == U'\\') return parse_escape(set, &character);
    character = c;
    return {};
  }

  // What follows a backslash. A class is added to `set`; so is a character, unless `character` is
  // there to take it.
  Status parse_escape(CharSet& set, std::optional<char32_t>* character) {
    if (at_end()) return unsupported("a backslash at the end");
    char32_t c = text_[position_++];
    if (c == U's' || c == U'S') {
      set.add_class(kSpace, c == U'S');
      return {};
    }
    if (c == U'p' || c == U'P') {
      if (!next_is(U"{L}") && !next_is(U"{N}")) return unsupported("this property");
      set.add_class(text_[position_ + 1] == U'L' ? kLetter : kNumber, c == U'P');
      position_ += 3;
      return {};
    }
    if (c == U'n') {
      c = U'\n';
    } else if (c == U'r') {
      c = U'\r';
    } else if (c == U't') {
      c = U'\t';
    } else if (c >= 0x7F || c < 0x20 || (char_class(c) & (kLetter | kNumber)) != 0) {
      return unsupported("\"\\" + quoted(c).substr(1));
    }
    if (character)
      *character = c;
    else
      set.add_range(c, c);
    return {};
  }

  static std::string quoted(char32_t c) {
    std::string text = "\"";
    append_utf8(c, text);
    return text + "\"";
  }

  std::u32string text_;
  std::size_t position_ = 0;
};

Result<Pattern> Pattern::compile(std::string_view expression) {
  SAM3_ASSIGN_OR_RETURN(TracedText text, decode(expression));
  return PatternParser(std::move(text.chars)).parse();
}

Result<Pattern> Pattern::literal(std::string_view text) {
  SAM3_ASSIGN_OR_RETURN(const TracedText decoded, decode(text));
  if (decoded.chars.empty())
    return Error{ErrorCode::kUnsupported, "an empty string as a pattern is not supported", "", ""};
  Pattern pattern;
  pattern.alternatives_.emplace_back();
  for (const char32_t c : decoded.chars) {
    pattern.alternatives_[0].items.emplace_back();
    pattern.alternatives_[0].items.back().set.add_range(c, c);
  }
  pattern.alternatives_[0].find_starts();
  return pattern;
}

std::optional<Span> Pattern::find(std::u32string_view text, std::size_t from) const {
  for (std::size_t start = from; start < text.size(); ++start) {
    for (const Alternative& alternative : alternatives_) {
      if (!alternative.can_start(text[start])) continue;
      if (const auto end = alternative.match(text, start)) return Span{start, *end};
    }
  }
  return std::nullopt;
}

void Pattern::Alternative::find_starts() {
  const std::size_t firsts = items[0].optional && items.size() > 1 ? 2 : 1;
  for (std::size_t i = 0; i < firsts; ++i) {
    const CharSet& set = items[i].set;
    for (std::size_t c = 0; c < ascii_starts.size(); ++c)
      if (set.contains(static_cast<char32_t>(c))) ascii_starts.set(c);
    other_starts = other_starts || set.reaches_beyond_ascii();
  }
}

std::optional<std::size_t> Pattern::Alternative::match(std::u32string_view text,
                                                       std::size_t start) const {
  if (items.size() > 1 && items[0].optional) {
    if (items[0].set.contains(text[start])) {
      if (const auto end = match_items(text, start + 1, 1)) return end;
    }
    return match_items(text, start, 1);
  }
  return match_items(text, start, 0);
}

std::optional<std::size_t> Pattern::Alternative::match_items(std::u32string_view text,
                                                             std::size_t start,
                                                             std::size_t first_item) const {
  std::size_t position = start;
  for (std::size_t i = first_item; i + 1 < items.size(); ++i) {
    if (position == text.size() || !items[i].set.contains(text[position])) return std::nullopt;
    ++position;
  }
  const Item& last = items.back();
  const std::size_t least = position + (last.optional ? 0 : 1);
  const std::size_t most = last.repeated ? text.size() : std::min(position + 1, text.size());
  std::size_t end = position;
  while (end < most && last.set.contains(text[end])) ++end;
  for (; end >= least; --end) {
    if (!not_before || end == text.size() || !not_before->contains(text[end])) return end;
    if (end == 0) break;
  }
  return std::nullopt;
}

}  // namespace sam3::text
