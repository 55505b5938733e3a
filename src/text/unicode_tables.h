// The character data behind unicode.h, sorted by code point. Made by tools/unicode/make_tables.py.
#pragma once

#include <cstdint>
#include <span>

namespace sam3::text {

// Code points first..last have these bits of CharClass.
struct ClassRange {
  char32_t first;
  char32_t last;
  std::uint8_t bits;
};

// Every step-th code point of first..last has its lower case `delta` further on.
struct LowerRange {
  char32_t first;
  char32_t last;
  std::uint8_t step;
  std::int32_t delta;
};

struct CodeRange {
  char32_t first;
  char32_t last;
};

extern const std::span<const ClassRange> kClassRanges;
extern const std::span<const LowerRange> kLowerRanges;
extern const std::span<const CodeRange> kInertRanges;

}  // namespace sam3::text
