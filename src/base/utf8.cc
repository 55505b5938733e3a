#include "base/utf8.h"

namespace sam3 {

std::optional<char32_t> decode_utf8(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t start = position++;
  const unsigned char first = byte(start);
  if (first < 0x80) return first;
  int more = 0;
  char32_t value = 0;
  char32_t least = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    more = 1, value = first & 0x1FU, least = 0x80;
  } else if (first >= 0xE0 && first <= 0xEF) {
    more = 2, value = first & 0x0FU, least = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    more = 3, value = first & 0x07U, least = 0x10000;
  } else {
    return std::nullopt;
  }
  if (text.size() - start <= static_cast<std::size_t>(more)) return std::nullopt;
  for (int i = 1; i <= more; ++i) {
    const unsigned char next = byte(start + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) return std::nullopt;
    value = value << 6 | (next & 0x3FU);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
    return std::nullopt;
  position = start + static_cast<std::size_t>(more) + 1;
  return value;
}

void append_utf8(char32_t code_point, std::string& text) {
  const auto put = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    if (!decode_utf8(text, position)) return start;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    if (decode_utf8(text, position))
      result.append(text.substr(start, position - start));
    else
      append_utf8(0xFFFD, result);
  }
  return result;
}

}  // namespace sam3
