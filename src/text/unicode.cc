#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "text/unicode_tables.h"

namespace sam3::text {
namespace {

// The range that holds `code_point`, or nullptr.
template <typename Range>
const Range* find_range(std::span<const Range> ranges, char32_t code_point) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code_point,
                       [](char32_t value, const Range& range) { return value < range.first; });
  if (after == ranges.begin()) return nullptr;
  const Range& range = *std::prev(after);
  return code_point <= range.last ? &range : nullptr;
}

// Text of code points below is its own composition: they have no combining class, and none of them
// is the second half of a composite.
constexpr char32_t kFirstCombining = 0x300;

// Assigned after the reference's composition data were made: neither moved, split nor composed.
bool is_inert(char32_t code_point) { return find_range(kInertRanges, code_point) != nullptr; }

struct Unit {
  char32_t code_point;
  std::uint8_t combining_class;
  std::size_t origin;
};

std::uint8_t combining_class(char32_t code_point) {
  if (code_point < kFirstCombining || is_inert(code_point)) return 0;
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point));
  return static_cast<std::uint8_t>(property->combining_class);
}

void decompose(char32_t code_point, std::size_t origin, std::vector<Unit>& units) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  std::array<utf8proc_int32_t, 16> parts{};  // the longest canonical decomposition has 4
  utf8proc_ssize_t count = 0;
  if (code_point >= 0x80 && !is_inert(code_point)) {
    count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts.data(),
                                    parts.size(), kOptions, nullptr);
  }
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    parts[0] = static_cast<utf8proc_int32_t>(code_point);
    count = 1;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto part = static_cast<char32_t>(parts[i]);
    units.push_back({part, combining_class(part), origin});
  }
}

// Sorts every run of combining marks by class. utf8proc would do it by insertion, which a long run
// of marks makes quadratic.
void reorder(std::vector<Unit>& units) {
  const auto is_mark = [](const Unit& unit) { return unit.combining_class != 0; };
  auto run = units.begin();
  while ((run = std::find_if(run, units.end(), is_mark)) != units.end()) {
    const auto end = std::find_if_not(run, units.end(), is_mark);
    std::stable_sort(run, end, [](const Unit& a, const Unit& b) {
      return a.combining_class < b.combining_class;
    });
    run = end;
  }
}

std::optional<char32_t> compose_pair(char32_t first, char32_t second) {
  if (second < kFirstCombining) return std::nullopt;
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  std::array<utf8proc_int32_t, 2> pair = {static_cast<utf8proc_int32_t>(first),
                                          static_cast<utf8proc_int32_t>(second)};
  if (utf8proc_normalize_utf32(pair.data(), 2, kOptions) != 1) return std::nullopt;
  const auto composite = static_cast<char32_t>(pair[0]);
  if (is_inert(composite)) return std::nullopt;
  return composite;
}

}  // namespace

std::uint8_t char_class(char32_t code_point) {
  if (code_point > 0x20 && code_point < 0x7F) {  // the usual case, without the search
    if ((code_point | 0x20) >= 'a' && (code_point | 0x20) <= 'z') return kLetter;
    return code_point >= '0' && code_point <= '9' ? kNumber : 0;
  }
  const ClassRange* range = find_range(kClassRanges, code_point);
  return range ? range->bits : 0;
}

void append_lower(char32_t code_point, std::u32string& text) {
  if (code_point == 0x130) {  // the only one that grows: i and a combining dot above
    text += U"i\u0307";
    return;
  }
  const LowerRange* range = find_range(kLowerRanges, code_point);
  if (range && (code_point - range->first) % range->step == 0)
    code_point = static_cast<char32_t>(static_cast<std::int32_t>(code_point) + range->delta);
  text.push_back(code_point);
}

Result<TracedText> decode(std::string_view text) {
  TracedText result;
  result.chars.reserve(text.size());
  result.origins.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const std::optional<char32_t> code_point = decode_utf8(text, position);
    if (!code_point) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(text[start]);
      return Error{ErrorCode::kInvalidArgument,
                   std::string("the text is not valid UTF-8: byte 0x") + kDigits[byte >> 4] +
                       kDigits[byte & 15] + " at offset " + std::to_string(start),
                   "", ""};
    }
    result.append(*code_point, start);
  }
  return result;
}

TracedText compose(TracedText text) {
  if (std::all_of(text.chars.begin(), text.chars.end(),
                  [](char32_t c) { return c < kFirstCombining; }))
    return text;
  std::vector<Unit> units;
  units.reserve(text.chars.size());
  for (std::size_t i = 0; i < text.chars.size(); ++i)
    decompose(text.chars[i], text.origins[i], units);
  reorder(units);

  TracedText result;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone;  // where the last code point of class 0 stands in `result`
  int last_class = -1;          // the class of the one just written; -1 right after a starter
  for (const Unit& unit : units) {
    const int unit_class = unit.combining_class;
    if (starter != kNone && last_class < unit_class) {
      if (const auto composite = compose_pair(result.chars[starter], unit.code_point)) {
        result.chars[starter] = *composite;
        continue;
      }
    }
    if (unit_class == 0) {
      starter = result.chars.size();
      last_class = -1;
    } else {
      last_class = unit_class;
    }
    result.append(unit.code_point, unit.origin);
  }
  return result;
}

}  // namespace sam3::text
