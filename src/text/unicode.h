// What the tokenizer must know about characters. The versions of Unicode are those that the
// reference (the `tokenizers` package) mixes: classes of 16.0, lower case of 17.0, composition
// of 9.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::text {

// Bits; letter, number and space exclude each other.
enum CharClass : std::uint8_t {
  kLetter = 1,     // \p{L}
  kNumber = 2,     // \p{N}
  kSpace = 4,      // White_Space
  kInvisible = 8,  // control, format, or ignored when shown: nothing of it can be seen
};

// CharClass bits of a code point; 0 for visible signs, marks, and what is not assigned.
std::uint8_t char_class(char32_t code_point);

// Appends the lower case of one code point, whatever stands beside it (Rust's char::to_lowercase).
void append_lower(char32_t code_point, std::u32string& text);

// Code points on their way to the vocabulary; origins[i] is the offset of the byte in the caller's
// text at which the character behind chars[i] begins. Both have the same size.
struct TracedText {
  std::u32string chars;
  std::vector<std::size_t> origins;

  void append(char32_t code_point, std::size_t origin) {
    chars.push_back(code_point);
    origins.push_back(origin);
  }
  // The code points begin..end-1.
  TracedText slice(std::size_t begin, std::size_t end) const {
    const auto at = [&](std::size_t i) { return origins.begin() + static_cast<std::ptrdiff_t>(i); };
    return {chars.substr(begin, end - begin), {at(begin), at(end)}};
  }
};

// Decodes UTF-8. kInvalidArgument with the byte and its offset if `text` is malformed.
Result<TracedText> decode(std::string_view text);

// Canonical composition (NFC). Time grows as n log n at most, whatever the text.
TracedText compose(TracedText text);

}  // namespace sam3::text
