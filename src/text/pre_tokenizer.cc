#include "text/pre_tokenizer.h"

#include <utility>

#include "base/macros.h"
#include "text/normalizer.h"

namespace sam3::text {
namespace {

constexpr std::string_view kWhere = "pre_tokenizer";

// What ByteLevel splits with when its use_regex is set: GPT-2's expression, fixed in `tokenizers`.
constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Part {
  Span span;
  bool match;
};

// Matches in a piece of `text` and what lies between them, in order.
void find_parts(std::u32string_view text, Span piece, const Pattern& pattern, bool invert,
                std::vector<Part>& parts) {
  parts.clear();
  const std::u32string_view part = text.substr(0, piece.end).substr(piece.begin);
  std::size_t position = 0;
  const auto add = [&](std::size_t end, bool match) {
    parts.push_back({{piece.begin + position, piece.begin + end}, match});
    position = end;
  };
  while (const auto match = pattern.find(part, position)) {
    if (match->begin > position) add(match->begin, invert);
    add(match->end, !invert);
  }
  if (position < part.size()) add(part.size(), invert);
}

}  // namespace

Result<PreTokenizer> PreTokenizer::from_json(const Json& section) {
  PreTokenizer result;
  SAM3_RETURN_IF_ERROR(result.add(section, 0));
  if (!result.has_byte_level_) return unsupported_json("a pre_tokenizer without ByteLevel");
  return result;
}

Status PreTokenizer::add(const Json& section, int depth) {
  SAM3_ASSIGN_OR_RETURN(const std::string type, need_string(section, "type", kWhere));
  if (type == "Sequence") {
    if (depth == kMaxSequenceDepth) return unsupported_json("a pre_tokenizer nested this deep");
    SAM3_ASSIGN_OR_RETURN(const Json* steps, need_member(section, "pretokenizers", kWhere));
    if (!steps->is_array()) return bad_json("\"pre_tokenizer.pretokenizers\" is not an array");
    for (const Json& step : *steps) SAM3_RETURN_IF_ERROR(add(step, depth + 1));
    return {};
  }
  if (type != "Split" && type != "ByteLevel")
    return unsupported_json("pre_tokenizer type \"" + type + "\"");
  if (has_byte_level_) return unsupported_json("a pre_tokenizer after ByteLevel");
  return type == "Split" ? add_split(section) : add_byte_level(section);
}

Status PreTokenizer::add_split(const Json& section) {
  SAM3_ASSIGN_OR_RETURN(Pattern pattern, pattern_from_json(section, kWhere));
  SAM3_ASSIGN_OR_RETURN(const std::string name, need_string(section, "behavior", kWhere));
  SAM3_ASSIGN_OR_RETURN(const Behavior behavior, behavior_from(name));
  SAM3_ASSIGN_OR_RETURN(const bool invert, bool_or(section, "invert", false, kWhere));
  before_prefix_.push_back({std::move(pattern), behavior, invert});
  return {};
}

Status PreTokenizer::add_byte_level(const Json& section) {
  SAM3_ASSIGN_OR_RETURN(add_prefix_space_, bool_or(section, "add_prefix_space", true, kWhere));
  SAM3_ASSIGN_OR_RETURN(const bool use_regex, bool_or(section, "use_regex", true, kWhere));
  if (use_regex) {
    SAM3_ASSIGN_OR_RETURN(Pattern pattern, Pattern::compile(kByteLevelExpression));
    after_prefix_.push_back({std::move(pattern), Behavior::kIsolated, false});
  }
  has_byte_level_ = true;
  return {};
}

Result<PreTokenizer::Behavior> PreTokenizer::behavior_from(const std::string& name) {
  constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  for (const auto& [known, behavior] : kBehaviors)
    if (name == known) return behavior;
  return unsupported_json("Split behavior \"" + name + "\"");
}

std::vector<Span> PreTokenizer::split(std::u32string_view text, const std::vector<Span>& pieces,
                                      const Split& step) {
  std::vector<Span> words;
  std::vector<Part> parts;  // of one piece; outside the loop for its memory
  for (const Span piece : pieces) {
    find_parts(text, piece, step.pattern, step.invert, parts);
    bool after_match = false;
    bool first = true;
    for (const auto& [span, match] : parts) {
      // Of neighbouring matches only the first goes to what precedes, the last to what follows.
      const bool join = (step.behavior == Behavior::kContiguous && match == after_match) ||
                        (step.behavior == Behavior::kMergedWithPrevious && match && !after_match) ||
                        (step.behavior == Behavior::kMergedWithNext && !match && after_match);
      if (match && step.behavior == Behavior::kRemoved) continue;
      if (join && !first)
        words.back().end = span.end;
      else
        words.push_back(span);
      first = false;
      after_match = match;
    }
  }
  return words;
}

void PreTokenizer::add_prefix_spaces(TracedText& text, std::vector<Span>& words) {
  TracedText result;
  for (Span& word : words) {
    const std::size_t begin = result.chars.size();
    if (text.chars[word.begin] != U' ') result.append(U' ', text.origins[word.begin]);
    for (std::size_t i = word.begin; i < word.end; ++i)
      result.append(text.chars[i], text.origins[i]);
    word = {begin, result.chars.size()};
  }
  text = std::move(result);
}

std::vector<Span> PreTokenizer::apply(TracedText& text) const {
  std::vector<Span> words;
  if (!text.chars.empty()) words.push_back({0, text.chars.size()});
  const auto run = [&](const std::vector<Split>& steps) {
    for (const Split& step : steps) words = split(text.chars, words, step);
  };
  run(before_prefix_);
  if (add_prefix_space_) add_prefix_spaces(text, words);
  run(after_prefix_);
  return words;
}

}  // namespace sam3::text
