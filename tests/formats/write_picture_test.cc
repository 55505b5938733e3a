#include "formats/write_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "formats/picture_files.h"
#include "sam3/read_picture.h"

namespace sam3 {
namespace {

using formats::OverlayItem;
using formats::write_mask_png;
using formats::write_overlay;
using test::is_near;
using test::pixel;
using test::Rgb;
using test::TemporaryFolder;

constexpr Rgb kOrange{230, 159, 0};  // the first colour of the palette

Picture plain_picture(Size size, std::uint8_t value) {
  const auto bytes =
      std::size_t{3} * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  std::shared_ptr<std::uint8_t> rgb(new std::uint8_t[bytes], std::default_delete<std::uint8_t[]>());
  std::fill_n(rgb.get(), bytes, value);
  return Picture(size, std::move(rgb));
}

Mask rectangle(Size size, int x0, int y0, int x1, int y1) {
  Mask mask(size);
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) mask.set(x, y);
  return mask;
}

bool same_pixels(const Picture& a, const Picture& b) {
  return a.size() == b.size() &&
         std::equal(a.data(), a.data() + std::ptrdiff_t{3} * a.width() * a.height(), b.data());
}

Picture read_back(const std::filesystem::path& path) {
  auto loaded = read_picture(path);
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return loaded->picture;
}

TEST(WriteMask, ReadsBackPixelForPixel) {
  const TemporaryFolder folder("mask");
  // Widths around a word of bits, so that an order mixed up within bytes or words shows.
  for (const int width : {1, 7, 8, 63, 64, 65, 200}) {
    Mask mask({width, 13});
    for (int y = 0; y < 13; ++y)
      for (int x = 0; x < width; ++x)
        if ((x * x + 3 * y) % 5 < 2) mask.set(x, y);
    ASSERT_TRUE(write_mask_png(folder / "m.png", mask).ok());
    const Picture picture = read_back(folder / "m.png");
    ASSERT_EQ(picture.size(), mask.size());
    for (int y = 0; y < 13; ++y)
      for (int x = 0; x < width; ++x)
        ASSERT_EQ(pixel(picture, x, y)[0], mask.at(x, y) ? 255 : 0) << x << "," << y;
  }
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteMask, IsEightBitGrey) {
  const TemporaryFolder folder("maskgrey");
  ASSERT_TRUE(write_mask_png(folder / "m.png", Mask({3, 2})).ok());
  const auto bytes = test::file_bytes(folder / "m.png");
  ASSERT_GT(bytes.size(), 26U);
  EXPECT_EQ(bytes[24], 8);  // bit depth
  EXPECT_EQ(bytes[25], 0);  // grey
}

TEST(WriteMask, RefusesOtherEndingsAndEmptyMasks) {
  const TemporaryFolder folder("maskerrors");
  EXPECT_FALSE(write_mask_png(folder / "m.xyz", Mask({3, 2})).ok());
  EXPECT_FALSE(write_mask_png(folder / "m.jpg", Mask({3, 2})).ok());
  EXPECT_FALSE(write_mask_png(folder / "m.png", Mask()).ok());
  EXPECT_EQ(folder.entries(), 0);
}

TEST(WriteOverlay, NoItemsLeavesThePixels) {
  const TemporaryFolder folder("none");
  const Picture base = read_back(test::trouble("base.png"));
  ASSERT_TRUE(write_overlay(folder / "o.png", base, {}).ok());
  EXPECT_TRUE(same_pixels(base, read_back(folder / "o.png")));
  for (const char* name : {"o.jpg", "o.webp"}) {
    ASSERT_TRUE(write_overlay(folder / name, base, {}).ok());
    EXPECT_TRUE(is_near(pixel(read_back(folder / name), 480, 340), {220, 20, 30}, 6)) << name;
  }
  EXPECT_EQ(folder.entries(), 3);
}

TEST(WriteOverlay, WritesTheFormatOfTheEnding) {
  const TemporaryFolder folder("endings");
  const Picture grey = plain_picture({20, 10}, 100);
  ASSERT_TRUE(write_overlay(folder / "o.PNG", grey, {}).ok());
  ASSERT_TRUE(write_overlay(folder / "o.jpeg", grey, {}).ok());
  ASSERT_TRUE(write_overlay(folder / "o.webp", grey, {}).ok());
  EXPECT_EQ(test::file_bytes(folder / "o.PNG")[1], 'P');
  EXPECT_EQ(test::file_bytes(folder / "o.jpeg")[0], 0xFF);
  EXPECT_EQ(test::file_bytes(folder / "o.webp")[8], 'W');
  const Status unknown = write_overlay(folder / "o.tiff", grey, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(folder.entries(), 3);
}

TEST(Overlay, MaskIsFilledAndOutlined) {
  const Size size{300, 200};
  const Picture grey = plain_picture(size, 100);
  const Mask mask = rectangle(size, 60, 50, 131, 120);
  formats::Overlay overlay(grey);
  ASSERT_TRUE(overlay.draw({&mask, {}, ""}).ok());
  const Picture& result = overlay.picture();
  // Corners and edges are outline, the inside is between both colours, outside nothing changes.
  for (const auto& [x, y] : {std::pair{60, 50}, {130, 119}, {60, 80}, {95, 50}})
    EXPECT_EQ(pixel(result, x, y), kOrange) << x << "," << y;
  EXPECT_EQ(pixel(result, 59, 80), (Rgb{100, 100, 100}));
  EXPECT_EQ(pixel(result, 131, 80), (Rgb{100, 100, 100}));
  const Rgb inside = pixel(result, 64, 80);
  EXPECT_GT(inside[0], 130);
  EXPECT_LT(inside[0], 200);
  EXPECT_EQ(inside, pixel(result, 128, 118));
  EXPECT_EQ(pixel(grey, 60, 50), (Rgb{100, 100, 100})) << "the input must not change";
}

TEST(Overlay, EveryItemHasItsOwnColour) {
  const Size size{64, 8};
  formats::Overlay overlay(plain_picture(size, 0));
  for (int i = 0; i < 8; ++i) {
    const Mask dot = rectangle(size, 8 * i, 0, 8 * i + 1, 1);
    ASSERT_TRUE(overlay.draw({&dot, {}, ""}).ok());
  }
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_NE(pixel(overlay.picture(), 8 * i, 0), pixel(overlay.picture(), 8 * j, 0));
  EXPECT_EQ(pixel(overlay.picture(), 56, 0), kOrange);
}

TEST(Overlay, PicturesHandedOutDoNotChange) {
  const Size size{16, 16};
  formats::Overlay overlay(plain_picture(size, 0));
  const Mask first = rectangle(size, 0, 0, 4, 4);
  const Mask second = rectangle(size, 8, 8, 12, 12);
  ASSERT_TRUE(overlay.draw({&first, {}, ""}).ok());
  const Picture before = overlay.picture();
  ASSERT_TRUE(overlay.draw({&second, {}, ""}).ok());
  EXPECT_EQ(pixel(before, 8, 8), (Rgb{0, 0, 0}));
  EXPECT_NE(pixel(overlay.picture(), 8, 8), (Rgb{0, 0, 0}));
}

TEST(Overlay, BoxesAreCutToThePicture) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Size size{50, 40};
  for (const Box& box : {Box{-10, -10, 1000, 1000}, Box{49.6, 39.6, 50, 40}, Box{20, 20, 20, 20},
                         Box{-1e300, 5, 1e300, 6}, Box{nan, nan, nan, nan}, Box{30, 30, 10, 10}}) {
    formats::Overlay overlay(plain_picture(size, 0));
    EXPECT_TRUE(overlay.draw({nullptr, box, "label"}).ok());
  }
  formats::Overlay overlay(plain_picture(size, 0));
  ASSERT_TRUE(overlay.draw({nullptr, Box{10, 8, 30, 24}, ""}).ok());
  EXPECT_EQ(pixel(overlay.picture(), 10, 8), kOrange);
  EXPECT_EQ(pixel(overlay.picture(), 29, 23), kOrange);
  EXPECT_EQ(pixel(overlay.picture(), 30, 24), (Rgb{0, 0, 0}));
  EXPECT_EQ(pixel(overlay.picture(), 20, 16), (Rgb{0, 0, 0}));
}

// With a font at hand the label is a plate in the item's colour; any text is taken as it is.
TEST(Overlay, LabelsAreAnyText) {
  const Size size{400, 300};
  for (const std::string& label :
       {std::string("dog 0.93"), std::string("<b>&bad markup"), std::string("caf\xE9\n\x01"),
        std::string("\xE6\xA9\x8B \xF0\x9F\x8D\x8E"), std::string(5000, 'w'), std::string("%s%n"),
        std::string(" ")}) {
    formats::Overlay overlay(plain_picture(size, 0));
    ASSERT_TRUE(overlay.draw({nullptr, Box{100, 100, 200, 200}, label}).ok());
    EXPECT_EQ(pixel(overlay.picture(), 100, 100), kOrange) << label;
  }
  for (const Size tiny : {Size{1, 1}, Size{1, 400}, Size{3, 3}}) {
    formats::Overlay overlay(plain_picture(tiny, 0));
    EXPECT_TRUE(overlay.draw({nullptr, Box{0, 0, 1, 1}, "label"}).ok());
  }
}

TEST(Overlay, MaskOfAnotherSizeIsRefused) {
  formats::Overlay overlay(plain_picture({10, 10}, 0));
  const Mask mask({10, 11});
  const Status status = overlay.draw({&mask, {}, ""});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("10x11"));
}

TEST(Overlay, MasksAtTheEdgesOfThePicture) {
  for (const Size size : {Size{1, 1}, Size{1, 480}, Size{640, 1}, Size{65, 2}}) {
    const Mask all = rectangle(size, 0, 0, size.width, size.height);
    formats::Overlay overlay(plain_picture(size, 0));
    ASSERT_TRUE(overlay.draw({&all, {}, ""}).ok());
    EXPECT_EQ(pixel(overlay.picture(), size.width - 1, size.height - 1), kOrange);
  }
}

}  // namespace
}  // namespace sam3
