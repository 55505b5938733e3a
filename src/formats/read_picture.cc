#include "sam3/read_picture.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "formats/colour_profile.h"
#include "formats/picture_kind.h"
#include "formats/pixel_rows.h"
#include "formats/vips_library.h"

namespace sam3 {
namespace formats {
namespace {

// Rows that are decoded at a time; a multiple of the rows in a JPEG block.
constexpr int kBandRows = 32;
// See ReadOptions::max_pixels.
constexpr std::int64_t kPixelsPerByte = 1000;
constexpr std::int64_t kNearlyEmptyShare = 10;
constexpr std::uint16_t kTwelveBits = 4095;
constexpr std::uint8_t kGrey = 128;

// A file, or bytes in memory, that can be opened again.
struct Input {
  std::function<VipsSource*()> open;
  std::vector<std::uint8_t> head;  // the first kHeadBytes, or fewer
  std::int64_t bytes = 0;
};

Error make_error(ErrorCode code, std::string message) { return {code, std::move(message), {}, {}}; }

std::string size_text(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

Status check_size(Size size, std::int64_t bytes, std::int64_t max_pixels) {
  const std::int64_t pixels = std::int64_t{size.width} * size.height;
  if (pixels > max_pixels)
    return make_error(ErrorCode::kLimit, size_text(size) + " pixels are more than the limit of " +
                                             std::to_string(max_pixels) +
                                             "; raise it with --max-pixels");
  if (pixels / kPixelsPerByte > bytes && pixels > max_pixels / kNearlyEmptyShare)
    return make_error(ErrorCode::kLimit,
                      size_text(size) + " pixels from a file of only " + std::to_string(bytes) +
                          " bytes look made to exhaust memory and are more than a tenth of the "
                          "limit of " +
                          std::to_string(max_pixels) +
                          "; raise it with --max-pixels if the picture is genuine");
  return {};
}

bool is_jpeg(const PictureKind& kind) { return std::string_view(kind.name) == "JPEG"; }

Error cannot_decode(const PictureKind& kind, const std::string& reason) {
  std::string message = std::string("this ") + kind.name + " picture cannot be decoded (" + reason +
                        "); it is damaged or cut off";
  if (!is_jpeg(kind) && std::string_view(kind.name) != "PNG")
    message +=
        std::string(", or of a kind not known here: try to convert it, for example with \"") +
        kind.convert + "\"";
  return make_error(ErrorCode::kBadData, message);
}

// A decoder's image, in whatever form the file has.
struct Stored {
  VipsPtr<VipsSource> source;  // before the image, which reads from it
  VipsPtr<VipsImage> image;

  Size size() const {
    return {vips_image_get_width(image.get()), vips_image_get_height(image.get())};
  }
};

Result<Stored> open_stored(const Input& input, const PictureKind& kind, VipsFailOn fail_on) {
  Stored stored;
  stored.source.reset(input.open());
  if (!stored.source) return cannot_decode(kind, take_vips_error());
  stored.image.reset(vips_image_new_from_source(
      stored.source.get(), "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", fail_on, nullptr));
  if (!stored.image) return cannot_decode(kind, take_vips_error());
  return stored;
}

bool is_lab(VipsImage* image) {
  const VipsInterpretation space = vips_image_get_interpretation(image);
  return space == VIPS_INTERPRETATION_LAB || space == VIPS_INTERPRETATION_LABS ||
         space == VIPS_INTERPRETATION_LABQ;
}

// An operation of libvips that makes a new image from one.
template <typename Operation>
Result<VipsPtr<VipsImage>> run_operation(const VipsPtr<VipsImage>& image,
                                         const Operation& operation) {
  VipsImage* out = nullptr;
  if (operation(image.get(), &out) != 0) return make_error(ErrorCode::kBadData, take_vips_error());
  return VipsPtr<VipsImage>(out);
}

// Flattening comes before the profile is used: alpha is no colour and the profile does not know it.
Result<VipsPtr<VipsImage>> use_profile(const VipsPtr<VipsImage>& image) {
  VipsPtr<VipsImage> opaque(VIPS_IMAGE(g_object_ref(image.get())));
  if (vips_image_hasalpha(image.get())) {
    const double most = vips_image_get_format(image.get()) == VIPS_FORMAT_USHORT ? 65535 : 255;
    const bool ink = vips_image_get_interpretation(image.get()) == VIPS_INTERPRETATION_CMYK;
    const std::unique_ptr<VipsArrayDouble, void (*)(VipsArrayDouble*)> white(
        vips_array_double_newv(1, ink ? 0.0 : most),
        [](VipsArrayDouble* array) { vips_area_unref(VIPS_AREA(array)); });
    SAM3_ASSIGN_OR_RETURN(opaque, run_operation(image, [&](VipsImage* in, VipsImage** out) {
                            return vips_flatten(in, out, "background", white.get(), "max_alpha",
                                                most, nullptr);
                          }));
  }
  return run_operation(opaque, [](VipsImage* in, VipsImage** out) {
    return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "depth", 8, nullptr);
  });
}

// The image with its colours made sRGB, or unchanged where convert_row() does the rest.
Result<VipsPtr<VipsImage>> to_srgb(VipsPtr<VipsImage> image, std::vector<std::string>& warnings) {
  const void* data = nullptr;
  std::size_t length = 0;
  if (!is_lab(image.get()) && vips_image_get_typeof(image.get(), VIPS_META_ICC_NAME) != 0 &&
      vips_image_get_blob(image.get(), VIPS_META_ICC_NAME, &data, &length) == 0 &&
      !is_srgb_profile({static_cast<const std::uint8_t*>(data), length})) {
    auto converted = use_profile(image);
    if (converted.ok()) return converted;
    warnings.push_back("its colour profile does not fit and is ignored (" +
                       converted.error().message + ")");
  }
  if (!is_lab(image.get())) return image;
  return run_operation(image, [](VipsImage* in, VipsImage** out) {
    return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, nullptr);
  });
}

Result<Channels> channels_of(VipsImage* image) {
  const VipsBandFormat format = vips_image_get_format(image);
  const bool ink = vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK;
  const int bands = vips_image_get_bands(image);
  if (format != VIPS_FORMAT_UCHAR && format != VIPS_FORMAT_USHORT)
    return make_error(ErrorCode::kUnsupported,
                      std::string("its samples are of the type ") +
                          vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format) +
                          "; only 8 and 16 bit pictures are read: convert it first");
  if (ink && bands == 4) return Channels::kCmyk;
  if (ink && bands == 5) return Channels::kCmykAlpha;
  switch (ink ? 0 : bands) {
    case 1:
      return Channels::kGrey;
    case 2:
      return Channels::kGreyAlpha;
    case 3:
      return Channels::kRgb;
    case 4:
      return Channels::kRgba;
    default:
      return make_error(ErrorCode::kUnsupported,
                        "it has " + std::to_string(bands) +
                            " channels; only grey, RGB and CMYK pictures are read");
  }
}

// What to do when the data ends before the picture does.
enum class Missing { kRefuse, kFill };

// Decodes band by band into the upright picture, in the calling thread: the pipelines of libvips
// that write whole images would start one.
class Decoder {
 public:
  Decoder(VipsImage* image, Channels channels, Placement placement)
      : image_(image), channels_(channels), placement_(placement) {}

  // With kFill, what follows the last good band is grey; without any good band it fails all the
  // same.
  Result<Picture> run(Missing missing) {
    const Size size = placement_.size();
    const auto bytes = std::size_t{3} * static_cast<std::size_t>(size.width) *
                       static_cast<std::size_t>(size.height);
    const std::shared_ptr<std::uint8_t> pixels(new (std::nothrow) std::uint8_t[bytes],
                                               std::default_delete<std::uint8_t[]>());
    if (!pixels)
      return make_error(ErrorCode::kLimit,
                        "not enough memory for a picture of " + size_text(size) + " pixels");
    const VipsPtr<VipsRegion> region(vips_region_new(image_));
    if (!region) return make_error(ErrorCode::kBadData, take_vips_error());
    const int height = vips_image_get_height(image_);
    for (int top = 0; top < height; top += kBandRows) {
      VipsRect rows{0, top, vips_image_get_width(image_), std::min(kBandRows, height - top)};
      if (missing_rows_ == 0 && vips_region_prepare(region.get(), &rows) != 0) {
        const std::string reason = take_vips_error();
        if (missing == Missing::kRefuse || top == 0) return make_error(ErrorCode::kBadData, reason);
        missing_rows_ = height - top;
      }
      if (missing_rows_ == 0)
        take_band(region.get(), rows, pixels.get());
      else
        fill_band(rows, pixels.get());
    }
    return Picture(size, pixels);
  }

  // Of a 16-bit picture, after run().
  std::uint16_t highest() const { return highest_; }
  int missing_rows() const { return missing_rows_; }

 private:
  void take_band(VipsRegion* region, const VipsRect& rows, std::uint8_t* target) {
    // The region may hold more rows than were asked for, never fewer columns.
    const std::uint8_t* start =
        region->data + std::ptrdiff_t{region->bpl} * (rows.top - region->valid.top);
    const std::ptrdiff_t stride = region->bpl;
    const bool wide = vips_image_get_format(image_) == VIPS_FORMAT_USHORT;
    if (channels_ == Channels::kRgb && !wide)
      return placement_.place(start, stride, rows.top, rows.height, target);
    const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * rows.width;
    band_.resize(static_cast<std::size_t>(row_bytes * rows.height));
    for (int y = 0; y < rows.height; ++y) {
      const std::uint8_t* source = start + y * stride;
      std::uint8_t* rgb = band_.data() + y * row_bytes;
      if (wide) {
        const auto* samples = reinterpret_cast<const std::uint16_t*>(source);
        highest_ = highest_sample(samples, rows.width, channels_, highest_);
        convert_row(samples, rows.width, channels_, rgb);
      } else {
        convert_row(source, rows.width, channels_, rgb);
      }
    }
    placement_.place(band_.data(), row_bytes, rows.top, rows.height, target);
  }

  void fill_band(const VipsRect& rows, std::uint8_t* target) {
    const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * rows.width;
    band_.assign(static_cast<std::size_t>(row_bytes * rows.height), kGrey);
    placement_.place(band_.data(), row_bytes, rows.top, rows.height, target);
  }

  VipsImage* image_;
  Channels channels_;
  Placement placement_;
  std::vector<std::uint8_t> band_;
  std::uint16_t highest_ = 0;
  int missing_rows_ = 0;
};

int orientation_of(VipsImage* image) {
  const int orientation = vips_image_get_orientation(image);
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

Result<LoadedPicture> decode(const Stored& stored, const PictureKind& kind, Missing missing) {
  LoadedPicture loaded;
  const int pages = vips_image_get_n_pages(stored.image.get());
  if (pages > 1)
    loaded.warnings.push_back("it has " + std::to_string(pages) +
                              " pages or frames; only the first is used");
  const int orientation = orientation_of(stored.image.get());
  auto image =
      to_srgb(VipsPtr<VipsImage>(VIPS_IMAGE(g_object_ref(stored.image.get()))), loaded.warnings);
  if (!image.ok()) return cannot_decode(kind, image.error().message);
  SAM3_ASSIGN_OR_RETURN(const Channels channels, channels_of(image->get()));
  Decoder decoder(image->get(), channels, Placement(stored.size(), orientation));
  auto picture = decoder.run(missing);
  if (!picture.ok()) {
    if (picture.error().code != ErrorCode::kBadData) return picture.error();
    return cannot_decode(kind, picture.error().message);
  }
  loaded.picture = *std::move(picture);
  if (decoder.missing_rows() > 0)
    loaded.warnings.push_back(
        "its data is damaged or cut off; " + std::to_string(decoder.missing_rows()) + " of " +
        std::to_string(stored.size().height) + " rows are missing and left grey");
  if (vips_image_get_format(image->get()) == VIPS_FORMAT_USHORT && decoder.highest() <= kTwelveBits)
    loaded.warnings.push_back("its 16-bit samples go only up to " +
                              std::to_string(decoder.highest()) +
                              ", so it is almost black; scale it before if it holds 12-bit data");
  return loaded;
}

bool is_of_one_colour(const Picture& picture) {
  const std::uint8_t* first = picture.data();
  const std::int64_t pixels = std::int64_t{picture.width()} * picture.height();
  for (std::int64_t i = 1; i < pixels; ++i)
    if (std::memcmp(first, first + 3 * i, 3) != 0) return false;
  return true;
}

// The decoder of JPEG fills in what is missing, and of a progressive file it may have a coarse form
// of every row; the others leave behind rows of anything. `strict` is the error of the strict
// attempt. A picture of a single colour holds nothing that was decoded.
Result<LoadedPicture> decode_damaged_jpeg(const Input& input, const PictureKind& kind,
                                          const Error& strict) {
  auto stored = open_stored(input, kind, VIPS_FAIL_ON_NONE);
  if (!stored.ok()) return strict;
  auto loaded = decode(*stored, kind, Missing::kRefuse);
  if (!loaded.ok() || is_of_one_colour(loaded->picture)) return strict;
  loaded->warnings.push_back("its data is damaged or cut off; parts of the picture are missing");
  return loaded;
}

Result<LoadedPicture> read(const Input& input, const ReadOptions& options) {
  if (input.bytes == 0) return make_error(ErrorCode::kBadData, "the file is empty");
  const auto kind = find_picture_kind(input.head);
  if (!kind)
    return make_error(ErrorCode::kBadData,
                      "this is not a picture but " + describe_content(input.head));
  if (!kind->readable)
    return make_error(ErrorCode::kUnsupported, std::string("the format ") + kind->name +
                                                   " is not read; convert it first, for example "
                                                   "with \"" +
                                                   kind->convert + "\"");
  if (const auto size = claimed_png_size(input.head))
    SAM3_RETURN_IF_ERROR(check_size(*size, input.bytes, options.max_pixels));
  SAM3_RETURN_IF_ERROR(prepare_vips());
  SAM3_ASSIGN_OR_RETURN(const Stored stored, open_stored(input, *kind, VIPS_FAIL_ON_TRUNCATED));
  SAM3_RETURN_IF_ERROR(check_size(stored.size(), input.bytes, options.max_pixels));
  const bool fill = options.allow_truncated && !is_jpeg(*kind);
  auto loaded = decode(stored, *kind, fill ? Missing::kFill : Missing::kRefuse);
  if (loaded.ok() || !options.allow_truncated || !is_jpeg(*kind) ||
      loaded.error().code != ErrorCode::kBadData)
    return loaded;
  return decode_damaged_jpeg(input, *kind, loaded.error());
}

Result<Input> open_file(const std::filesystem::path& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    return make_error(ErrorCode::kNotFound, "there is no such file");
  if (std::filesystem::is_directory(status))
    return make_error(ErrorCode::kInvalidArgument, "this is a folder, not a picture");
  if (!std::filesystem::is_regular_file(status))
    return make_error(ErrorCode::kInvalidArgument, "this is not a regular file");
  Input input;
  input.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, code));
  std::ifstream file(path, std::ios::binary);
  if (code || !file)
    return make_error(ErrorCode::kNotFound,
                      "the file cannot be opened (" + std::generic_category().message(errno) + ")");
  std::array<char, kHeadBytes> head{};
  file.read(head.data(), head.size());
  input.head.assign(head.data(), head.data() + file.gcount());
  // By name and not through libvips' own syntax, which takes brackets at the end for options.
  input.open = [path] { return vips_source_new_from_file(path.c_str()); };
  return input;
}

// Exceptions here come from the standard library only, when memory runs out.
template <typename Read>
Result<LoadedPicture> without_exceptions(const Read& read_it) {
  try {
    return read_it();
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kLimit, std::string("not enough memory (") + error.what() + ")");
  }
}

}  // namespace
}  // namespace formats

Result<LoadedPicture> read_picture(const std::filesystem::path& path, const ReadOptions& options) {
  auto loaded = formats::without_exceptions([&]() -> Result<LoadedPicture> {
    SAM3_ASSIGN_OR_RETURN(const formats::Input input, formats::open_file(path));
    return formats::read(input, options);
  });
  if (loaded.ok()) return loaded;
  Error error = loaded.error();
  error.file = path.string();
  return error;
}

Result<LoadedPicture> read_picture_bytes(std::span<const std::uint8_t> bytes,
                                         const ReadOptions& options) {
  return formats::without_exceptions([&] {
    formats::Input input;
    input.bytes = static_cast<std::int64_t>(bytes.size());
    const auto head = bytes.first(std::min(bytes.size(), formats::kHeadBytes));
    input.head.assign(head.begin(), head.end());
    input.open = [bytes] { return vips_source_new_from_memory(bytes.data(), bytes.size()); };
    return formats::read(input, options);
  });
}

}  // namespace sam3
