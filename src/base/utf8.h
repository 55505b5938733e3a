// UTF-8 checks and repairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sam3 {

// Decodes the code point that starts at `position` and moves past it. Nothing, and `position` at
// the first offending byte plus one, for malformed input (overlong forms, surrogates and values
// above U+10FFFF are malformed, as RFC 3629 says).
std::optional<char32_t> decode_utf8(std::string_view text, std::size_t& position);

void append_utf8(char32_t code_point, std::string& text);

// Byte offset of the first malformed byte, or nothing if `text` is valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Every malformed byte becomes U+FFFD; valid text is returned as it is.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace sam3
