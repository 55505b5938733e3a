#include "formats/picture_kind.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "formats/colour_profile.h"
#include "formats/pixel_rows.h"

namespace sam3 {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string kind_of(std::string_view text) {
  const auto kind = formats::find_picture_kind(bytes_of(text));
  return kind ? kind->name : "none";
}

TEST(PictureKind, IsFoundByTheFirstBytes) {
  EXPECT_EQ(kind_of("\xFF\xD8\xFF\xE0"sv), "JPEG");
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0WEBPVP8 "sv), "WebP");
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0WAVEfmt "sv), "none");
  EXPECT_EQ(kind_of("MM\0+\0\x08\0\0"sv), "TIFF");
  EXPECT_EQ(kind_of("II*\0\x10\0\0\0CR\x02\0"sv), "Canon CR2 raw");
  EXPECT_EQ(kind_of("\0\0\0\x1C"
                    "ftypmif1\0\0\0\0mif1heic"sv),
            "HEIC");
  EXPECT_EQ(kind_of("\0\0\0\x1C"
                    "ftypmif1\0\0\0\0mif1avif"sv),
            "AVIF");
  EXPECT_EQ(kind_of("\0\0\0\x1C"
                    "ftypisom\0\0\0\0isommp42"sv),
            "video");
  EXPECT_EQ(kind_of("\0\0\0\x0CJXL \r\n\x87\n"sv), "JPEG XL");
  EXPECT_EQ(kind_of("\xEF\xBB\xBF <?xml version='1.0'?>\n<svg/>"sv), "SVG");
  EXPECT_EQ(kind_of("<?xml version='1.0'?><rss/>"sv), "none");
  EXPECT_EQ(kind_of("P6\n1 1\n"sv), "PNM");
  EXPECT_EQ(kind_of("Please do not"sv), "none");
  EXPECT_EQ(kind_of(""sv), "none");
}

TEST(PictureKind, DescribesOtherContent) {
  EXPECT_EQ(formats::describe_content(bytes_of("\n<!DOCTYPE HTML>"sv)), "an HTML page");
  EXPECT_EQ(formats::describe_content(bytes_of("caf\xE9 au lait"sv)), "text");
  EXPECT_EQ(formats::describe_content(bytes_of("version https://git-lfs.github.com/spec/v1"sv)),
            "a Git LFS pointer");
  EXPECT_EQ(formats::describe_content(bytes_of("\0\1\2"sv)), "unknown data");
}

TEST(PictureKind, PngSizeNeedsAWholeHeader) {
  const std::string head = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\1\2\xFF\0\0\0"s;
  EXPECT_EQ(formats::claimed_png_size(bytes_of(head)), (Size{258, 0x7FFFFFFF}));
  EXPECT_FALSE(formats::claimed_png_size(bytes_of(head).first(23)));
}

TEST(ColourProfile, MalformedProfilesAreNotSrgb) {
  EXPECT_FALSE(formats::is_srgb_profile({}));
  std::string profile(132 + 12, '\0');
  profile.replace(16, 4, "RGB ");
  profile[131] = 1;
  profile.replace(132, 4, "desc");
  EXPECT_FALSE(formats::is_srgb_profile(bytes_of(profile)));  // an empty description
  profile.replace(136, 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  EXPECT_FALSE(formats::is_srgb_profile(bytes_of(profile)));  // outside the profile
  profile.replace(136, 8, "\0\0\0\x90\0\0\0\4"s);
  EXPECT_TRUE(formats::is_srgb_profile(bytes_of(profile + "sRGB")));
  profile[131] = '\x7F';
  EXPECT_FALSE(formats::is_srgb_profile(bytes_of(profile + "sRGB")));  // more tags than bytes
}

TEST(PixelRows, ConvertsEveryKindOfSample) {
  using formats::Channels;
  std::uint8_t rgb[3];
  const auto converted = [&](std::initializer_list<std::uint16_t> pixel, Channels channels) {
    formats::convert_row(pixel.begin(), 1, channels, rgb);
    return std::array<int, 3>{rgb[0], rgb[1], rgb[2]};
  };
  using Rgb = std::array<int, 3>;
  EXPECT_EQ(converted({0x80FF}, Channels::kGrey), (Rgb{0x80, 0x80, 0x80}));
  EXPECT_EQ(converted({0, 65535}, Channels::kGreyAlpha), (Rgb{0, 0, 0}));
  EXPECT_EQ(converted({0, 0}, Channels::kGreyAlpha), (Rgb{255, 255, 255}));
  EXPECT_EQ(converted({0x1234, 0x5678, 0xFFFF}, Channels::kRgb), (Rgb{0x12, 0x56, 0xFF}));
  EXPECT_EQ(converted({0, 65535, 0, 32768}, Channels::kRgba), (Rgb{127, 255, 127}));
  EXPECT_EQ(converted({0, 65535, 0, 0}, Channels::kCmyk), (Rgb{255, 0, 255}));
  EXPECT_EQ(converted({0, 0, 0, 65535}, Channels::kCmyk), (Rgb{0, 0, 0}));
  EXPECT_EQ(converted({0, 0, 0, 65535, 0}, Channels::kCmykAlpha), (Rgb{255, 255, 255}));
  const std::uint16_t samples[] = {5, 900, 7, 901};
  EXPECT_EQ(formats::highest_sample(samples, 2, Channels::kGreyAlpha, 0), 7);
  EXPECT_EQ(formats::highest_sample(samples, 2, Channels::kGreyAlpha, 8), 8);
}

}  // namespace
}  // namespace sam3
