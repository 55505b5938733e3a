#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "formats/atomic_file.h"
#include "formats/output_paths.h"
#include "formats/vips_library.h"
#include "formats/write_picture.h"

namespace sam3::formats {
namespace {

using Colour = std::array<std::uint8_t, 3>;

// M. Okabe and K. Ito, "Color Universal Design", without black.
constexpr Colour kPalette[] = {{230, 159, 0}, {86, 180, 233}, {0, 158, 115},  {240, 228, 66},
                               {0, 114, 178}, {213, 94, 0},   {204, 121, 167}};
constexpr int kFillOpacity = 110;  // of 256
constexpr int kLossyQuality = 92;
constexpr int kPngCompression = 3;  // files a few percent larger than by default, in half the time
constexpr std::size_t kLabelCharacters = 80;

// Lines as thick, and letters as high, as shows at this size.
int line_width(Size size) { return std::max(1, std::min(size.width, size.height) / 300); }
int letter_height(Size size) { return std::clamp(std::min(size.width, size.height) / 32, 11, 120); }

// The picture being drawn on. All coordinates are cut to it.
struct Canvas {
  Size size;
  std::uint8_t* pixels;

  std::uint8_t* at(std::int64_t x, std::int64_t y) const {
    return pixels + 3 * (y * size.width + x);
  }
  void blend(std::int64_t x, std::int64_t y, const Colour& colour, int opacity) const {
    std::uint8_t* pixel = at(x, y);
    for (std::size_t c = 0; c < 3; ++c)
      pixel[c] =
          static_cast<std::uint8_t>((pixel[c] * (256 - opacity) + colour[c] * opacity) / 256);
  }
  // Half-open.
  void fill(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1,
            const Colour& colour) const {
    x0 = std::clamp<std::int64_t>(x0, 0, size.width);
    x1 = std::clamp<std::int64_t>(x1, 0, size.width);
    y0 = std::clamp<std::int64_t>(y0, 0, size.height);
    y1 = std::clamp<std::int64_t>(y1, 0, size.height);
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = x0; x < x1; ++x) std::memcpy(at(x, y), colour.data(), 3);
  }
};

// The pixels of `mask` whose four neighbours are set too; outside the picture nothing is set, so
// that a mask that touches the edge keeps its outline there.
Mask eroded(const Mask& mask) {
  Mask result(mask.size());
  for (int y = 1; y + 1 < mask.height(); ++y) {
    const auto above = mask.row(y - 1);
    const auto here = mask.row(y);
    const auto below = mask.row(y + 1);
    const auto out = result.row(y);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::uint64_t before = i > 0 ? here[i - 1] >> 63 : 0;
      const std::uint64_t after = i + 1 < here.size() ? here[i + 1] << 63 : 0;
      out[i] = here[i] & (here[i] << 1 | before) & (here[i] >> 1 | after) & above[i] & below[i];
    }
  }
  return result;
}

template <typename Visit>
void for_each_bit(std::uint64_t word, std::int64_t first, const Visit& visit) {
  for (; word != 0; word &= word - 1) visit(first + std::countr_zero(word));
}

void draw_mask(const Canvas& canvas, const Mask& mask, const Colour& colour) {
  Mask inner = mask;
  for (int i = 0; i < line_width(canvas.size); ++i) inner = eroded(inner);
  for (int y = 0; y < mask.height(); ++y) {
    const auto words = mask.row(y);
    const auto inner_words = inner.row(y);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto first = static_cast<std::int64_t>(64 * i);
      for_each_bit(inner_words[i], first,
                   [&](std::int64_t x) { canvas.blend(x, y, colour, kFillOpacity); });
      for_each_bit(words[i] & ~inner_words[i], first,
                   [&](std::int64_t x) { std::memcpy(canvas.at(x, y), colour.data(), 3); });
    }
  }
}

// A position in pixels, inside [0, limit]; not-a-number counts as 0.
std::int64_t pixel_position(double value, int limit) {
  if (!(value > 0)) return 0;
  return value < limit ? std::llround(value) : limit;
}

void draw_box(const Canvas& canvas, const Box& box, const Colour& colour) {
  const std::int64_t line = line_width(canvas.size);
  const std::int64_t x0 = pixel_position(box.x0, canvas.size.width);
  const std::int64_t y0 = pixel_position(box.y0, canvas.size.height);
  const std::int64_t x1 = pixel_position(box.x1, canvas.size.width);
  const std::int64_t y1 = pixel_position(box.y1, canvas.size.height);
  canvas.fill(x0, y0, x1, std::min(y0 + line, y1), colour);
  canvas.fill(x0, std::max(y1 - line, y0), x1, y1, colour);
  canvas.fill(x0, y0, std::min(x0 + line, x1), y1, colour);
  canvas.fill(std::max(x1 - line, x0), y0, x1, y1, colour);
}

// The text as libvips takes it: valid UTF-8 without control characters, not too long, and with the
// signs of its markup escaped.
std::string markup(const std::string& label) {
  const std::string valid = replace_invalid_utf8(label);
  std::string text;
  std::size_t position = 0;
  for (std::size_t count = 0; position < valid.size(); ++count) {
    if (count == kLabelCharacters) return text + "…";
    const auto code = decode_utf8(valid, position).value_or(U' ');
    if (code == U'&')
      text += "&amp;";
    else if (code == U'<')
      text += "&lt;";
    else if (code == U'>')
      text += "&gt;";
    else
      append_utf8(code < 0x20 || code == 0x7F ? U' ' : code, text);
  }
  return text;
}

// The text as an image of opacities, or nothing when it cannot be drawn here.
VipsPtr<VipsImage> render_text(const std::string& label, int height) {
  const std::string font = "sans " + std::to_string(height);
  VipsImage* out = nullptr;
  if (vips_text(&out, markup(label).c_str(), "font", font.c_str(), "dpi", 72, nullptr) != 0) {
    log_line(LogLevel::kWarning, "a label cannot be drawn: " + take_vips_error());
    return nullptr;
  }
  const VipsPtr<VipsImage> lazy(out);
  VipsPtr<VipsImage> drawn(vips_image_copy_memory(lazy.get()));
  if (!drawn) log_line(LogLevel::kWarning, "a label cannot be drawn: " + take_vips_error());
  return drawn;
}

bool is_light(const Colour& colour) {
  return 299 * colour[0] + 587 * colour[1] + 114 * colour[2] > 1000 * 128;  // ITU-R BT.601 luma
}

void draw_label(const Canvas& canvas, const std::string& label, std::int64_t x, std::int64_t y,
                const Colour& colour) {
  const int height = letter_height(canvas.size);
  const VipsPtr<VipsImage> text = render_text(label, height);
  if (!text) return;
  const std::int64_t margin = std::max(2, height / 5);
  const std::int64_t width = vips_image_get_width(text.get());
  const std::int64_t rows = vips_image_get_height(text.get());
  // Above the box if there is room, else inside; never beyond the right edge if it can be helped.
  const std::int64_t plate_width = width + 2 * margin;
  const std::int64_t plate_height = rows + 2 * margin;
  const std::int64_t left = std::max<std::int64_t>(0, std::min(x, canvas.size.width - plate_width));
  const std::int64_t top = y >= plate_height ? y - plate_height : y;
  canvas.fill(left, top, left + plate_width, top + plate_height, colour);
  const Colour ink = is_light(colour) ? Colour{0, 0, 0} : Colour{255, 255, 255};
  const auto* opacities = static_cast<const std::uint8_t*>(vips_image_get_data(text.get()));
  for (std::int64_t j = 0; j < rows && top + margin + j < canvas.size.height; ++j)
    for (std::int64_t i = 0; i < width && left + margin + i < canvas.size.width; ++i) {
      const int opacity = opacities[j * width + i];
      if (opacity != 0) canvas.blend(left + margin + i, top + margin + j, ink, opacity + 1);
    }
}

Status save(VipsImage* image, VipsTarget* target, const std::string& ending) {
  int failed = 1;
  if (ending == ".png")
    failed = vips_pngsave_target(image, target, "compression", kPngCompression, nullptr);
  else if (ending == ".webp")
    failed = vips_webpsave_target(image, target, "Q", kLossyQuality, "effort", 2, nullptr);
  else
    failed = vips_jpegsave_target(image, target, "Q", kLossyQuality, nullptr);
  if (failed != 0)
    return Error{
        ErrorCode::kRuntime, "the picture cannot be written: " + take_vips_error(), {}, {}};
  return {};
}

}  // namespace

Status Overlay::make_own_copy() {
  const auto bytes = std::size_t{3} * static_cast<std::size_t>(picture_.width()) *
                     static_cast<std::size_t>(picture_.height());
  std::shared_ptr<std::uint8_t> copy(new (std::nothrow) std::uint8_t[bytes],
                                     std::default_delete<std::uint8_t[]>());
  if (!copy) return Error{ErrorCode::kLimit, "not enough memory to draw on a picture", {}, {}};
  std::memcpy(copy.get(), picture_.data(), bytes);
  pixels_ = std::move(copy);
  picture_ = Picture(picture_.size(), pixels_);
  return {};
}

Status Overlay::draw(const OverlayItem& item) {
  const Size size = picture_.size();
  if (picture_.empty())
    return Error{ErrorCode::kInvalidArgument, "an empty picture cannot be drawn on", {}, {}};
  if (item.mask && item.mask->size() != size)
    return Error{ErrorCode::kInvalidArgument,
                 "a mask of " + std::to_string(item.mask->width()) + "x" +
                     std::to_string(item.mask->height()) + " pixels does not fit a picture of " +
                     std::to_string(size.width) + "x" + std::to_string(size.height),
                 {},
                 {}};
  try {
    SAM3_RETURN_IF_ERROR(prepare_vips());
    // Two references are ours; any further one belongs to a caller, whose pixels must not change.
    if (!pixels_ || pixels_.use_count() > 2) SAM3_RETURN_IF_ERROR(make_own_copy());
    const Colour& colour = kPalette[items_++ % std::size(kPalette)];
    const Canvas canvas{size, pixels_.get()};
    if (item.mask) draw_mask(canvas, *item.mask, colour);
    if (item.box) draw_box(canvas, *item.box, colour);
    if (item.label.empty()) return {};
    Box place = item.mask ? item.mask->tight_box() : Box{};
    if (item.box) place = *item.box;
    draw_label(canvas, item.label, pixel_position(place.x0, size.width),
               pixel_position(place.y0, size.height), colour);
    return {};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, "not enough memory to draw on a picture", {}, {}};
  }
}

Status write_picture(const std::filesystem::path& path, const Picture& picture) {
  SAM3_RETURN_IF_ERROR(check_output_path(path, kPictureEndings));
  if (picture.empty())
    return Error{
        ErrorCode::kInvalidArgument, "an empty picture cannot be written", path.string(), {}};
  SAM3_RETURN_IF_ERROR(prepare_vips());
  const std::size_t bytes = std::size_t{3} * static_cast<std::size_t>(picture.width()) *
                            static_cast<std::size_t>(picture.height());
  const VipsPtr<VipsImage> raw(vips_image_new_from_memory(picture.data(), bytes, picture.width(),
                                                          picture.height(), 3, VIPS_FORMAT_UCHAR));
  VipsImage* tagged = nullptr;
  if (!raw ||
      vips_copy(raw.get(), &tagged, "interpretation", VIPS_INTERPRETATION_sRGB, nullptr) != 0)
    return Error{ErrorCode::kRuntime, take_vips_error(), path.string(), {}};
  const VipsPtr<VipsImage> image(tagged);
  SAM3_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  {
    const VipsPtr<VipsTarget> target(vips_target_new_to_descriptor(fileno(file.stream())));
    if (!target) return Error{ErrorCode::kRuntime, take_vips_error(), path.string(), {}};
    if (const Status saved = save(image.get(), target.get(), lower_ending(path)); !saved) {
      Error error = saved.error();
      error.file = path.string();
      return error;
    }
  }
  return file.commit();
}

Status write_overlay(const std::filesystem::path& path, const Picture& picture,
                     std::span<const OverlayItem> items) {
  SAM3_RETURN_IF_ERROR(check_output_path(path, kPictureEndings));
  Overlay overlay(picture);
  for (const OverlayItem& item : items) SAM3_RETURN_IF_ERROR(overlay.draw(item));
  return write_picture(path, overlay.picture());
}

}  // namespace sam3::formats
