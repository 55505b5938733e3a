#include "sam3/read_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "formats/picture_files.h"

namespace sam3 {
namespace {

using test::file_bytes;
using test::is_near;
using test::pixel;
using test::Rgb;
using test::sample;
using test::trouble;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Rgb kWhite{255, 255, 255};
constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kRed{220, 20, 30};

Picture read_ok(const std::filesystem::path& path, const ReadOptions& options = {}) {
  const auto loaded = read_picture(path, options);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.error().to_string();
    std::abort();
  }
  return loaded->picture;
}

Error read_error(const std::filesystem::path& path, const ReadOptions& options = {}) {
  const auto loaded = read_picture(path, options);
  if (loaded.ok()) return {ErrorCode::kRuntime, "no error", {}, {}};
  return loaded.error();
}

void expect_base_scene(const Picture& picture, int tolerance) {
  EXPECT_EQ(picture.size(), (Size{640, 480}));
  EXPECT_TRUE(is_near(pixel(picture, 10, 10), kWhite, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 200, 140), kBlack, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 480, 340), kRed, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 440, 140), kWhite, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 200, 340), kWhite, tolerance));
}

void expect_small_scene(const Picture& picture, const Rgb& disc, int tolerance) {
  EXPECT_EQ(picture.size(), (Size{160, 120}));
  EXPECT_TRUE(is_near(pixel(picture, 2, 2), kWhite, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 32, 17), kBlack, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 67, 52), kBlack, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 120, 85), disc, tolerance));
  EXPECT_TRUE(is_near(pixel(picture, 110, 35), kWhite, tolerance));
}

// Files that show the base scene whatever is odd about them.
class BaseScene : public testing::TestWithParam<const char*> {};

TEST_P(BaseScene, HasTheColoursInTheRightPlaces) {
  const auto loaded = read_picture(trouble(GetParam()));
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  expect_base_scene(loaded->picture, 3);
  EXPECT_THAT(loaded->warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Plain, BaseScene,
                         testing::Values("base.png", "base.jpg", "rgb.tif", "jpg_named.png",
                                         "png_named.jpg"));
INSTANTIATE_TEST_SUITE_P(Turned, BaseScene,
                         testing::Values("exif_6.jpg", "exif_6.png", "exif_6_bigendian.jpg",
                                         "exif_6_no_jfif.jpg"));
INSTANTIATE_TEST_SUITE_P(BrokenExif, BaseScene,
                         testing::Values("exif_bad_0.jpg", "exif_bad_9.jpg", "exif_bad_700.jpg",
                                         "exif_cut.jpg", "exif_double_prefix.jpg",
                                         "exif_empty.jpg"));
INSTANTIATE_TEST_SUITE_P(Ink, BaseScene,
                         testing::Values("cmyk_adobe.jpg", "ycck_adobe.jpg", "cmyk_plain.jpg"));
INSTANTIATE_TEST_SUITE_P(Samples, BaseScene,
                         testing::Values("rgb16.png", "pal8.png", "pal8_trns.png", "rgb_trns.png",
                                         "rgba.png"));
INSTANTIATE_TEST_SUITE_P(Names, BaseScene,
                         testing::Values("batch/-dash.jpg", "batch/br[1].jpg",
                                         "batch/latin1-\xE9.jpg", "batch/line\nbreak.jpg",
                                         "batch/pct%20d.jpg", "batch/quote'\".jpg",
                                         "batch/with space.jpg", "batch/UPPER.JPG"));

// Libvips takes brackets at the end of a name for options.
TEST(ReadPicture, BracketsAtTheEndOfANameAreNoOptions) {
  const test::TemporaryFolder folder("brackets");
  const auto path = folder / "photo[page=1]";
  std::filesystem::copy_file(trouble("base.png"), path);
  expect_base_scene(read_ok(path), 0);
}

class Orientation : public testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(Orientation, IsAppliedOnce) {
  const auto [value, ending] = GetParam();
  expect_small_scene(read_ok(sample("orientation_" + std::to_string(value) + ending)), kRed, 4);
}

INSTANTIATE_TEST_SUITE_P(All, Orientation,
                         testing::Combine(testing::Range(1, 9),
                                          testing::Values(".jpg", ".png", ".webp", ".tif")));

TEST(ReadPicture, LosslessTurnedFilesAreEqualPixelForPixel) {
  const Picture upright = read_ok(sample("orientation_1.png"));
  for (int value = 2; value <= 8; ++value)
    for (const char* ending : {".png", ".webp", ".tif"}) {
      const Picture turned = read_ok(sample("orientation_" + std::to_string(value) + ending));
      ASSERT_EQ(turned.size(), upright.size());
      EXPECT_TRUE(std::equal(turned.data(), turned.data() + 3 * 160 * 120, upright.data()))
          << value << ending;
    }
}

TEST(ReadPicture, SixteenBitGreyIsScaledNotCut) {
  const Picture grey = read_ok(trouble("gray16.png"));
  EXPECT_EQ(pixel(grey, 10, 10), kWhite);
  EXPECT_EQ(pixel(grey, 200, 140), kBlack);
  EXPECT_EQ(pixel(grey, 480, 340), (Rgb{81, 81, 81}));
  const Picture tiff = read_ok(trouble("gray16.tif"));
  EXPECT_EQ(pixel(tiff, 480, 340), (Rgb{81, 81, 81}));
  const Picture ramp = read_ok(trouble("gray16_ramp.png"));
  EXPECT_EQ(pixel(ramp, 0, 0), kBlack);
  EXPECT_EQ(pixel(ramp, 128, 0), (Rgb{64, 64, 64}));
  EXPECT_EQ(pixel(ramp, 256, 0), (Rgb{128, 128, 128}));
  EXPECT_EQ(pixel(ramp, 511, 0), kWhite);
}

TEST(ReadPicture, TwelveBitsInSixteenAreWarnedAboutAndNotStretched) {
  const auto loaded = read_picture(trouble("gray12in16.png"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("4080")));
  EXPECT_EQ(pixel(loaded->picture, 10, 10), (Rgb{15, 15, 15}));
  const auto full = read_picture(trouble("gray16.png"));
  ASSERT_TRUE(full.ok());
  EXPECT_THAT(full->warnings, IsEmpty());
}

TEST(ReadPicture, GreyAndOneBitBecomeRgb) {
  for (const char* name : {"gray1.png", "gray8.png", "la8.png", "gray.jpg"}) {
    const Picture picture = read_ok(trouble(name));
    EXPECT_EQ(pixel(picture, 10, 10), kWhite) << name;
    EXPECT_EQ(pixel(picture, 200, 140), kBlack) << name;
  }
  expect_small_scene(read_ok(sample("fax.tif")), kBlack, 0);
}

TEST(ReadPicture, TransparencyIsFlattenedOnWhite) {
  for (const char* name :
       {"half_transparent.png", "half_transparent.webp", "half_transparent_16.png"}) {
    const Picture picture = read_ok(sample(name));
    EXPECT_TRUE(is_near(pixel(picture, 2, 2), kWhite, 0)) << name;
    EXPECT_TRUE(is_near(pixel(picture, 50, 35), {127, 127, 127}, 1)) << name;
    EXPECT_TRUE(is_near(pixel(picture, 120, 85), {237, 137, 142}, 1)) << name;
  }
}

TEST(ReadPicture, FurtherKindsShowTheScene) {
  expect_small_scene(read_ok(sample("palette.gif")), kRed, 8);
  expect_small_scene(read_ok(sample("cmyk.tif")), kRed, 1);
  expect_small_scene(read_ok(sample("still.avif")), kRed, 6);
  expect_small_scene(read_ok(sample("interlaced.png")), kRed, 0);
  expect_base_scene(read_ok(sample("progressive.jpg")), 6);
}

TEST(ReadPicture, ColourProfileIsUsed) {
  // Red and blue primaries are exchanged in this profile.
  const Rgb blue{30, 20, 220};
  expect_small_scene(read_ok(sample("profile_swapped.png")), blue, 3);
  expect_small_scene(read_ok(sample("profile_swapped.jpg")), blue, 5);
}

TEST(ReadPicture, SrgbProfileChangesNothing) {
  const Picture tagged = read_ok(sample("profile_srgb.png"));
  const Picture plain = read_ok(sample("orientation_1.png"));
  EXPECT_TRUE(std::equal(plain.data(), plain.data() + 3 * 160 * 120, tagged.data()));
}

TEST(ReadPicture, UnfitColourProfilesAreIgnored) {
  const auto misfit = read_picture(sample("profile_misfit.jpg"));  // grey with a profile for RGB
  ASSERT_TRUE(misfit.ok()) << misfit.error().to_string();
  EXPECT_THAT(misfit->warnings, ElementsAre(HasSubstr("profile")));
  EXPECT_TRUE(is_near(pixel(misfit->picture, 50, 35), kBlack, 4));
  EXPECT_TRUE(is_near(pixel(misfit->picture, 120, 85), {81, 81, 81}, 4));
  expect_small_scene(read_ok(sample("profile_broken.jpg")), kRed, 4);
}

TEST(ReadPicture, FirstPageOrFrameIsTakenWithAWarning) {
  for (const char* name : {"frames.gif", "frames.webp", "pages.tif"}) {
    const auto loaded = read_picture(sample(name));
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("2 pages"))) << name;
    expect_small_scene(loaded->picture, kRed, 8);
  }
}

TEST(ReadPicture, ThinAndTinyPictures) {
  EXPECT_EQ(read_ok(trouble("px1.png")).size(), (Size{1, 1}));
  EXPECT_EQ(read_ok(trouble("w1.png")).size(), (Size{1, 480}));
  EXPECT_EQ(read_ok(trouble("h1.png")).size(), (Size{640, 1}));
  EXPECT_EQ(read_ok(trouble("wide.png")).size(), (Size{8000, 3}));
}

// A file of 24 KB with 48 megapixels is unusual but harmless.
TEST(ReadPicture, LargeEmptyPicturesAreReadBelowATenthOfTheLimit) {
  EXPECT_EQ(read_ok(trouble("grid_8000.png")).size(), (Size{8000, 6000}));
}

class Unreadable : public testing::TestWithParam<const char*> {};

TEST_P(Unreadable, IsAnErrorThatNamesTheFile) {
  const Error error = read_error(trouble(GetParam()));
  EXPECT_EQ(error.code, ErrorCode::kBadData) << error.message;
  EXPECT_EQ(error.file, trouble(GetParam()).string());
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(CutOff, Unreadable,
                         testing::Values("no_scan.jpg", "cut_half.jpg", "cut_95.jpg",
                                         "cut_half.png", "bad_crc.png", "batch/bad.jpg"));
INSTANTIATE_TEST_SUITE_P(NoPicture, Unreadable,
                         testing::Values("zero.jpg", "text.jpg", "html.png", "batch/notes.txt",
                                         "batch/.DS_Store", "batch/Thumbs.db", "batch/._a.jpg"));

TEST(ReadPicture, EmptyTextAndHtmlFilesAreCalledThat) {
  EXPECT_THAT(read_error(trouble("zero.jpg")).message, HasSubstr("empty"));
  EXPECT_THAT(read_error(trouble("text.jpg")).message, HasSubstr("not a picture but text"));
  EXPECT_THAT(read_error(trouble("html.png")).message, HasSubstr("not a picture but an HTML page"));
}

TEST(ReadPicture, MissingFilesAndFoldersAreCalledThat) {
  EXPECT_EQ(read_error(trouble("missing.jpg")).code, ErrorCode::kNotFound);
  const Error folder = read_error(trouble("batch"));
  EXPECT_EQ(folder.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(folder.message, HasSubstr("folder"));
}

// Opening a pipe without a writer would wait for ever.
TEST(ReadPicture, PipesAreRefused) {
  const test::TemporaryFolder folder("pipe");
  ASSERT_EQ(mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  EXPECT_EQ(read_error(folder / "pipe.jpg").code, ErrorCode::kInvalidArgument);
}

TEST(ReadPicture, FormatsThatCannotBeReadAreNamedWithAWayToConvert) {
  const std::pair<const char*, const char*> cases[] = {
      {"stub.heic", "HEIC"},   {"stub_mif1.heic", "HEIC"}, {"stub.avif", "AVIF"},
      {"stub.jxl", "JPEG XL"}, {"stub.webp", "WebP"},      {"drawing.svg", "SVG"}};
  for (const auto& [name, format] : cases)
    EXPECT_THAT(read_error(trouble(name)).message, AllOf(HasSubstr(format), HasSubstr("convert")))
        << name;
  EXPECT_EQ(read_error(trouble("drawing.svg")).code, ErrorCode::kUnsupported);
  EXPECT_EQ(read_error(sample("bitmap.bmp")).code, ErrorCode::kUnsupported);
  EXPECT_THAT(read_error(sample("float.tif")).message, HasSubstr("float"));
  EXPECT_THAT(read_error(sample("six_channels.tif")).message, HasSubstr("6 channels"));
}

TEST(ReadPicture, HugePicturesAreRefusedFromTheirHeader) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  const Error bomb = read_error(trouble("bomb.png"));
  EXPECT_EQ(bomb.code, ErrorCode::kLimit);
  EXPECT_THAT(bomb.message,
              AllOf(HasSubstr("24000x24000"), HasSubstr("1000000000"), HasSubstr("--max-pixels")));
  const Error header = read_error(trouble("bomb_header.png"));
  EXPECT_EQ(header.code, ErrorCode::kLimit);
  EXPECT_THAT(header.message, HasSubstr("2147483647x2147483647"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024);  // kilobytes
}

TEST(ReadPicture, LimitCanBeSet) {
  ReadOptions options;
  options.max_pixels = 640 * 480 - 1;
  const Error error = read_error(trouble("base.jpg"), options);
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_THAT(error.message, AllOf(HasSubstr("640x480"), HasSubstr("307199")));
  options.max_pixels = 640 * 480;
  expect_base_scene(read_ok(trouble("base.jpg"), options), 3);
}

TEST(ReadPicture, TruncatedDataCanBeAllowed) {
  ReadOptions options;
  options.allow_truncated = true;
  for (const char* name : {"cut_half.jpg", "cut_95.jpg"}) {
    const auto loaded = read_picture(trouble(name), options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("cut off"))) << name;
    EXPECT_TRUE(is_near(pixel(loaded->picture, 200, 140), kBlack, 3)) << name;
  }
  EXPECT_EQ(pixel(read_ok(trouble("cut_half.jpg"), options), 320, 470), (Rgb{128, 128, 128}));
  EXPECT_FALSE(read_picture(sample("progressive_cut.jpg")).ok());
  expect_base_scene(read_ok(sample("progressive_cut.jpg"), options), 24);
}

TEST(ReadPicture, FilesWithoutAnyPixelAreNeverAllowed) {
  ReadOptions options;
  options.allow_truncated = true;
  for (const char* name : {"no_scan.jpg", "batch/bad.jpg", "bad_crc.png", "zero.jpg", "text.jpg"})
    EXPECT_EQ(read_error(trouble(name), options).code, ErrorCode::kBadData) << name;
}

// Other pictures are read before, so that memory with their pixels could show up.
TEST(ReadPicture, MissingPartsNeverShowEarlierPictures) {
  ReadOptions options;
  options.allow_truncated = true;
  const auto loaded = read_picture(sample("noise_cut.png"), options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("rows are missing")));
  for (int round = 0; round < 3; ++round) {
    read_ok(sample("orientation_1.png"));
    read_ok(trouble("base.png"));
    const Picture again = read_ok(sample("noise_cut.png"), options);
    EXPECT_EQ(pixel(again, 50, 199), (Rgb{128, 128, 128}));
    EXPECT_TRUE(std::equal(again.data(), again.data() + 3 * 100 * 200, loaded->picture.data()));
  }
}

TEST(ReadPicture, BytesGiveTheSamePixels) {
  for (const char* name : {"base.jpg", "exif_6.jpg", "gray16.tif", "pal8_trns.png"}) {
    const auto bytes = file_bytes(trouble(name));
    const auto loaded = read_picture_bytes(bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    const Picture from_file = read_ok(trouble(name));
    ASSERT_EQ(loaded->picture.size(), from_file.size());
    EXPECT_TRUE(
        std::equal(from_file.data(), from_file.data() + 3 * 640 * 480, loaded->picture.data()));
  }
  const auto empty = read_picture_bytes({});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().file, "");
}

// Every cut of a small file ends in a picture or in an error, under the sanitizers without a fault.
TEST(ReadPicture, AnyCutIsHandled) {
  for (const char* name :
       {"orientation_6.jpg", "orientation_3.webp", "orientation_5.tif", "half_transparent_16.png",
        "profile_swapped.png", "frames.gif", "still.avif"}) {
    const auto bytes = file_bytes(sample(name));
    for (std::size_t length = 0; length + 40 < bytes.size(); length += 1 + bytes.size() / 60) {
      ReadOptions options;
      options.allow_truncated = length % 2 == 1;
      const auto loaded = read_picture_bytes(std::span(bytes).first(length), options);
      if (loaded.ok()) {
        EXPECT_EQ(loaded->picture.size(), (Size{160, 120})) << name << " cut at " << length;
      } else {
        EXPECT_EQ(loaded.error().code, ErrorCode::kBadData) << loaded.error().message;
      }
    }
  }
}

TEST(ReadPicture, SeveralThreadsMayRead) {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (std::size_t i = 0; i < good.size(); ++i)
    threads.emplace_back([&good, i] {
      for (int round = 0; round < 5; ++round) {
        const auto loaded = read_picture(trouble(i % 2 == 0 ? "exif_6.jpg" : "base.png"));
        const auto bad = read_picture(trouble("cut_half.jpg"));
        if (loaded.ok() && !bad.ok() && is_near(pixel(loaded->picture, 480, 340), kRed, 3))
          ++good[i];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(good, testing::Each(5));
}

}  // namespace
}  // namespace sam3
