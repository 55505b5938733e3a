#include "text/normalizer.h"

#include <utility>

#include "base/macros.h"

namespace sam3::text {

Result<Pattern> pattern_from_json(const Json& section, std::string_view where) {
  SAM3_ASSIGN_OR_RETURN(const Json* pattern, need_member(section, "pattern", where));
  const std::string place = std::string(where) + ".pattern";
  if (find_member(*pattern, "String")) {
    SAM3_ASSIGN_OR_RETURN(const std::string text, need_string(*pattern, "String", place));
    return Pattern::literal(text);
  }
  SAM3_ASSIGN_OR_RETURN(const std::string expression, need_string(*pattern, "Regex", place));
  return Pattern::compile(expression);
}

Result<Normalizer> Normalizer::from_json(const Json& section) {
  Normalizer normalizer;
  SAM3_RETURN_IF_ERROR(normalizer.add(section, 0));
  return normalizer;
}

Status Normalizer::add(const Json& section, int depth) {
  constexpr std::string_view kWhere = "normalizer";
  SAM3_ASSIGN_OR_RETURN(const std::string type, need_string(section, "type", kWhere));
  if (type == "Sequence") {
    if (depth == kMaxSequenceDepth) return unsupported_json("a normalizer nested this deep");
    SAM3_ASSIGN_OR_RETURN(const Json* steps, need_member(section, "normalizers", kWhere));
    if (!steps->is_array()) return bad_json("\"normalizer.normalizers\" is not an array");
    for (const Json& step : *steps) SAM3_RETURN_IF_ERROR(add(step, depth + 1));
  } else if (type == "NFC") {
    steps_.emplace_back(Compose{});
  } else if (type == "Lowercase") {
    steps_.emplace_back(Lowercase{});
  } else if (type == "Replace") {
    SAM3_ASSIGN_OR_RETURN(Pattern pattern, pattern_from_json(section, kWhere));
    SAM3_ASSIGN_OR_RETURN(const std::string content, need_string(section, "content", kWhere));
    SAM3_ASSIGN_OR_RETURN(TracedText decoded, decode(content));
    steps_.emplace_back(Replace{std::move(pattern), std::move(decoded.chars)});
  } else if (type == "Strip") {
    SAM3_ASSIGN_OR_RETURN(const bool left, bool_or(section, "strip_left", true, kWhere));
    SAM3_ASSIGN_OR_RETURN(const bool right, bool_or(section, "strip_right", true, kWhere));
    steps_.emplace_back(Strip{left, right});
  } else {
    return unsupported_json("normalizer type \"" + type + "\"");
  }
  return {};
}

TracedText Normalizer::apply(TracedText text) const {
  for (const Step& step : steps_)
    text = std::visit([&](const auto& one) { return run(one, std::move(text)); }, step);
  return text;
}

TracedText Normalizer::run(const Compose&, TracedText text) { return compose(std::move(text)); }

TracedText Normalizer::run(const Lowercase&, TracedText text) {
  TracedText result;
  result.chars.reserve(text.chars.size());
  result.origins.reserve(text.chars.size());
  for (std::size_t i = 0; i < text.chars.size(); ++i) {
    append_lower(text.chars[i], result.chars);
    result.origins.resize(result.chars.size(), text.origins[i]);
  }
  return result;
}

TracedText Normalizer::run(const Replace& step, TracedText text) {
  TracedText result;
  std::size_t position = 0;
  const auto copy_until = [&](std::size_t end) {
    for (; position < end; ++position) result.append(text.chars[position], text.origins[position]);
  };
  while (const auto match = step.pattern.find(text.chars, position)) {
    copy_until(match->begin);
    for (const char32_t c : step.content) result.append(c, text.origins[match->begin]);
    position = match->end;
  }
  copy_until(text.chars.size());
  return result;
}

TracedText Normalizer::run(const Strip& step, TracedText text) {
  std::size_t begin = 0;
  std::size_t end = text.chars.size();
  const auto is_space = [&](std::size_t i) { return (char_class(text.chars[i]) & kSpace) != 0; };
  if (step.left)
    while (begin < end && is_space(begin)) ++begin;
  if (step.right)
    while (begin < end && is_space(end - 1)) --end;
  return text.slice(begin, end);
}

}  // namespace sam3::text
