#include "mask/rle.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/macros.h"
#include "mask/overlap.h"

namespace sam3 {
namespace {

// Calls visit(x, y) for every pixel that differs from the one before it, going down the columns
// from left to right; before the first pixel stands an unset one. Pixels of one column come from
// top to bottom, but the columns come interleaved: the mask is read row by row, 64 columns at a
// time, because reading down a column would touch a cache line for every bit.
template <typename Visit>
void visit_changes(const Mask& mask, const mask::Footprint& footprint, Visit visit) {
  if (footprint.area == 0) return;
  const int height = mask.height();
  // A column set down to the bottom row changes the top of the next one, maybe in the next word.
  const std::size_t word1 = std::min(footprint.word1 + 1, mask.words_per_row());
  const int y0 = footprint.y1 == height ? 0 : footprint.y0;
  const int y1 = std::min(footprint.y1 + 1, height);
  for (int y = y0; y < y1; ++y) {
    const std::span<const std::uint64_t> words = mask.row(y);
    const std::span<const std::uint64_t> before = mask.row(y > 0 ? y - 1 : height - 1);
    for (std::size_t i = footprint.word0; i < word1; ++i) {
      std::uint64_t previous = before[i];
      if (y == 0) previous = previous << 1 | (i > 0 ? before[i - 1] >> 63 : 0);
      std::uint64_t changes = words[i] ^ previous;
      for (; changes != 0; changes &= changes - 1) {
        const int x = static_cast<int>(i * 64) + std::countr_zero(changes);
        if (x < mask.width()) visit(x, y);
      }
    }
  }
}

std::int64_t pixels(Size size) { return std::int64_t{size.width} * size.height; }

Error bad_counts(const std::string& what) {
  return {.code = ErrorCode::kBadData, .message = "run lengths: " + what, .file = {}, .graph = {}};
}

}  // namespace

Rle Mask::rle() const {
  const mask::Footprint region = mask::footprint(*this);
  // The places of the changes, sorted by column with a counting sort: how many changes each column
  // has tells where its first one goes.
  std::vector<std::size_t> next(static_cast<std::size_t>(width()) + 1);
  visit_changes(*this, region, [&](int x, int) { ++next[static_cast<std::size_t>(x) + 1]; });
  for (std::size_t x = 1; x < next.size(); ++x) next[x] += next[x - 1];
  Rle rle{size_, std::vector<std::uint32_t>(next.back() + 1)};
  visit_changes(*this, region, [&](int x, int y) {
    const std::int64_t place = std::int64_t{x} * height() + y;
    rle.counts[next[static_cast<std::size_t>(x)]++] = static_cast<std::uint32_t>(place);
  });
  rle.counts.back() = static_cast<std::uint32_t>(pixels(size_));
  // Places become distances, in the same memory because noise has millions.
  for (std::size_t i = rle.counts.size() - 1; i > 0; --i) rle.counts[i] -= rle.counts[i - 1];
  return rle;
}

// Every count is written as a signed number in groups of five bits, lowest group first, bit 5 of a
// character saying that more follow and bit 4 of the last one giving the sign; from the fourth
// count on, the difference to the count two places before is written.
std::string compressed_counts(const Rle& rle) {
  std::string text;
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    std::int64_t value = rle.counts[i];
    if (i > 2) value -= rle.counts[i - 2];
    bool more = true;
    while (more) {
      int group = static_cast<int>(value & 0x1F);
      value >>= 5;
      more = value != ((group & 0x10) != 0 ? -1 : 0);
      if (more) group |= 0x20;
      text.push_back(static_cast<char>('0' + group));
    }
  }
  return text;
}

namespace mask {
namespace {

// The number that starts at `position`, which moves past it; nothing if it is malformed.
std::optional<std::int64_t> read_number(std::string_view text, std::size_t& position) {
  // Differences of 32-bit counts need 33 bits and the sign, so seven groups of five.
  constexpr int kMaxGroups = 7;
  std::int64_t value = 0;
  for (int i = 0; i < kMaxGroups && position < text.size(); ++i) {
    const int group = static_cast<unsigned char>(text[position]) - '0';
    if (group < 0 || group > 0x3F) return std::nullopt;
    ++position;
    value |= std::int64_t{group & 0x1F} << (5 * i);
    if ((group & 0x20) != 0) continue;
    if ((group & 0x10) != 0) value -= std::int64_t{1} << (5 * (i + 1));
    return value;
  }
  return std::nullopt;
}

Status check_sum(const Rle& rle) {
  if (rle.size.width < 0 || rle.size.height < 0)
    return bad_counts("the size " + std::to_string(rle.size.width) + "x" +
                      std::to_string(rle.size.height) + " is negative");
  std::int64_t sum = 0;
  for (const std::uint32_t count : rle.counts) sum += count;
  if (sum != pixels(rle.size))
    return bad_counts("they add up to " + std::to_string(sum) + ", not to the " +
                      std::to_string(pixels(rle.size)) + " pixels of the mask");
  return {};
}

}  // namespace

Result<Rle> parse_counts(std::string_view text, Size size) {
  Rle rle{size, {}};
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    std::optional<std::int64_t> value = read_number(text, position);
    if (!value) return bad_counts("malformed number at character " + std::to_string(start));
    const std::size_t i = rle.counts.size();
    if (i > 2) *value += rle.counts[i - 2];
    if (*value < 0 || *value > std::numeric_limits<std::uint32_t>::max())
      return bad_counts("count " + std::to_string(*value) + " is out of range");
    rle.counts.push_back(static_cast<std::uint32_t>(*value));
  }
  SAM3_RETURN_IF_ERROR(check_sum(rle));
  return rle;
}

Result<Mask> mask_from_rle(const Rle& rle) {
  SAM3_RETURN_IF_ERROR(check_sum(rle));
  Mask mask(rle.size);
  const std::int64_t height = rle.size.height;
  const auto toggle = [&](std::int64_t x, std::int64_t y) {
    mask.row(static_cast<int>(y))[static_cast<std::size_t>(x) / 64] ^= std::uint64_t{1} << (x % 64);
  };
  // First only the pixels where a column changes, then all others from the row above.
  std::int64_t position = 0;
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    const std::int64_t end = position + rle.counts[i];
    if (i % 2 == 0) position = end;
    while (position < end) {
      const std::int64_t x = position / height;
      toggle(x, position % height);
      position = std::min(end, (x + 1) * height);
      if (position == end && end % height != 0) toggle(x, end % height);
    }
  }
  for (int y = 1; y < mask.height(); ++y) {
    const std::span<const std::uint64_t> above = mask.row(y - 1);
    const std::span<std::uint64_t> words = mask.row(y);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] ^= above[i];
  }
  return mask;
}

}  // namespace mask
}  // namespace sam3
