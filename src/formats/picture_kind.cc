#include "formats/picture_kind.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

namespace sam3::formats {
namespace {

using namespace std::string_view_literals;

constexpr const char* kMagick = "magick FILE FILE.png";
constexpr PictureKind kHeic{"HEIC", true, "heif-convert FILE FILE.jpg"};
constexpr PictureKind kAvif{"AVIF", true, "avifdec FILE FILE.png"};
constexpr PictureKind kSvg{"SVG", false, "rsvg-convert FILE -o FILE.png"};

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  PictureKind kind;
};

// The first match counts, so longer signatures stand before shorter ones at the same place.
constexpr Signature kSignatures[] = {
    {0, "\xFF\xD8\xFF"sv, {"JPEG", true, kMagick}},
    {0, "\x89PNG\r\n\x1A\n"sv, {"PNG", true, kMagick}},
    {8, "WEBP"sv, {"WebP", true, "dwebp FILE -o FILE.png"}},
    {8, "CR\x02\x00"sv, {"Canon CR2 raw", false, "dcraw -c -w FILE > FILE.ppm"}},
    {0, "II*\0"sv, {"TIFF", true, kMagick}},
    {0, "MM\0*"sv, {"TIFF", true, kMagick}},
    {0, "II+\0"sv, {"TIFF", true, kMagick}},
    {0, "MM\0+"sv, {"TIFF", true, kMagick}},
    {0, "GIF87a"sv, {"GIF", true, kMagick}},
    {0, "GIF89a"sv, {"GIF", true, kMagick}},
    {0, "\xFF\x0A"sv, {"JPEG XL", false, "djxl FILE FILE.png"}},
    {0, "\0\0\0\x0CJXL \r\n\x87\n"sv, {"JPEG XL", false, "djxl FILE FILE.png"}},
    {0, "\0\0\0\x0CjP  \r\n\x87\n"sv, {"JPEG 2000", false, "opj_decompress -i FILE -o FILE.png"}},
    {0, "\xFF\x4F\xFF\x51"sv, {"JPEG 2000", false, "opj_decompress -i FILE -o FILE.png"}},
    {0, "%PDF-"sv, {"PDF", false, "pdftoppm -png FILE page"}},
    {0, "BM"sv, {"BMP", false, kMagick}},
    {0, "8BPS"sv, {"Photoshop", false, kMagick}},
    {0, "\x76\x2F\x31\x01"sv, {"OpenEXR", false, kMagick}},
    {0, "#?RADIANCE"sv, {"Radiance HDR", false, kMagick}},
    {0, "\0\0\1\0"sv, {"ICO", false, kMagick}},
    {128, "DICM"sv, {"DICOM", false, "dcm2img FILE FILE.png"}},
    {0, "SIMPLE  ="sv, {"FITS", false, kMagick}},
};

std::string_view as_text(std::span<const std::uint8_t> head) {
  return {reinterpret_cast<const char*>(head.data()), head.size()};
}

bool has_at(std::string_view text, std::size_t offset, std::string_view wanted) {
  return text.size() >= offset && text.substr(offset, wanted.size()) == wanted;
}

// Files of the ISO base media family name a major brand and further ones; pictures often have the
// general "mif1" as the major one.
std::optional<PictureKind> find_box_kind(std::string_view head) {
  if (!has_at(head, 4, "ftyp")) return std::nullopt;
  bool heic = false;
  for (std::size_t offset = 8; offset + 4 <= std::min<std::size_t>(head.size(), 64); offset += 4) {
    const std::string_view brand = head.substr(offset, 4);
    if (brand == "avif" || brand == "avis") return kAvif;
    if (offset == 8 && brand == "crx ") return PictureKind{"Canon CR3 raw", false, kMagick};
    for (const std::string_view known :
         {"heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"})
      heic = heic || brand == known;
  }
  if (heic) return kHeic;
  return PictureKind{"video", false, "ffmpeg -i FILE -frames:v 1 FILE.png"};
}

bool begins_with_ignoring_case(std::string_view text, std::string_view wanted) {
  return text.size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), text.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

// Past a byte order mark and white space.
std::string_view trimmed(std::string_view text) {
  if (has_at(text, 0, "\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

}  // namespace

std::optional<PictureKind> find_picture_kind(std::span<const std::uint8_t> head) {
  const std::string_view text = as_text(head);
  for (const Signature& signature : kSignatures)
    if (has_at(text, signature.offset, signature.bytes)) return signature.kind;
  if (const auto kind = find_box_kind(text)) return kind;
  const std::string_view start = trimmed(text);
  if (begins_with_ignoring_case(start, "<svg") ||
      (begins_with_ignoring_case(start, "<?xml") && text.find("<svg") != std::string_view::npos))
    return kSvg;
  if (text.size() >= 3 && text[0] == 'P' && text[1] >= '1' && text[1] <= '7' &&
      (text[2] == '\n' || text[2] == ' '))
    return PictureKind{"PNM", false, kMagick};
  return std::nullopt;
}

std::string describe_content(std::span<const std::uint8_t> head) {
  const std::string_view start = trimmed(as_text(head));
  for (const std::string_view tag : {"<!doctype html", "<html", "<head", "<body"})
    if (begins_with_ignoring_case(start, tag)) return "an HTML page";
  if (has_at(start, 0, "version https://git-lfs")) return "a Git LFS pointer";
  const bool text = std::none_of(head.begin(), head.end(), [](std::uint8_t byte) {
    return byte == 0x7F || (byte < 0x20 && (byte < 0x09 || byte > 0x0D));
  });
  return text ? "text" : "unknown data";
}

std::optional<Size> claimed_png_size(std::span<const std::uint8_t> head) {
  if (!has_at(as_text(head), 0, "\x89PNG\r\n\x1A\n") || head.size() < 24) return std::nullopt;
  const auto number = [&](std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | head[offset + i];
    return static_cast<int>(std::min<std::uint32_t>(value, 0x7FFFFFFF));
  };
  return Size{number(16), number(20)};
}

}  // namespace sam3::formats
