#include "formats/colour_profile.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sam3::formats {
namespace {

// Layout of ICC.1: a header of 128 bytes, the number of tags, then name, offset and length of each.
constexpr std::size_t kColourSpaceOffset = 16;
constexpr std::size_t kTagTableOffset = 128;
constexpr std::size_t kTagBytes = 12;
constexpr std::size_t kMostTags = 100;

std::size_t number_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[offset + i];
  return value;
}

std::string_view text_at(std::span<const std::uint8_t> bytes, std::size_t offset,
                         std::size_t length) {
  return {reinterpret_cast<const char*>(bytes.data()) + offset, length};
}

}  // namespace

bool is_srgb_profile(std::span<const std::uint8_t> profile) {
  if (profile.size() < kTagTableOffset + 4) return false;
  if (text_at(profile, kColourSpaceOffset, 4) != "RGB ") return false;
  const std::size_t tags = number_at(profile, kTagTableOffset);
  if (tags > kMostTags || profile.size() < kTagTableOffset + 4 + tags * kTagBytes) return false;
  for (std::size_t i = 0; i < tags; ++i) {
    const std::size_t entry = kTagTableOffset + 4 + i * kTagBytes;
    if (text_at(profile, entry, 4) != "desc") continue;
    const std::size_t offset = number_at(profile, entry + 4);
    const std::size_t length = number_at(profile, entry + 8);
    if (offset > profile.size() || length > profile.size() - offset) return false;
    // The text is ASCII in version 2 and UTF-16 in version 4; without the zero bytes both read
    // alike.
    std::string text;
    for (const char c : text_at(profile, offset, length))
      if (c != '\0') text += c;
    return text.find("sRGB") != std::string::npos;
  }
  return false;
}

}  // namespace sam3::formats
