// Telling file formats by their first bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3::formats {

// As many first bytes as any test here looks at.
inline constexpr std::size_t kHeadBytes = 512;

struct PictureKind {
  const char* name = "";     // as people call it: "JPEG", "HEIC"
  bool readable = false;     // by this layer
  const char* convert = "";  // command that makes a readable picture, for formats that need one
};

// Nothing when the bytes do not begin like any known picture, document or video format.
std::optional<PictureKind> find_picture_kind(std::span<const std::uint8_t> head);

// What a file without a known kind looks like: "an HTML page", "text" or "unknown data".
std::string describe_content(std::span<const std::uint8_t> head);

// Width and height that a PNG file claims, which may be up to 2^31 - 1 each, more than libpng lets
// through; nothing for other formats.
std::optional<Size> claimed_png_size(std::span<const std::uint8_t> head);

}  // namespace sam3::formats
