// Writing pictures: overlays for people, masks for programs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sam3/mask.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3::formats {

// What is drawn for one detection. The mask has the picture's size; without it, or without a box,
// that part is left out, as is an empty label.
struct OverlayItem {
  const Mask* mask = nullptr;
  std::optional<Box> box;
  std::string label;
};

// A copy of a picture with detections drawn on it, one after the other, so that only one mask needs
// to exist at a time. The n-th item gets the n-th colour of a palette that people with colour
// blindness can tell apart (Okabe and Ito), over and over; the mask is a translucent area with an
// outline, the label black or white on that colour above the box. Labels need a font on the
// machine; without one, there are none.
class Overlay {
 public:
  // The copy is made by the first draw().
  explicit Overlay(Picture picture) : picture_(std::move(picture)) {}

  // kInvalidArgument when the mask has another size, kLimit when memory runs out.
  Status draw(const OverlayItem& item);

  // The picture so far; shares pixels with this object until the next draw().
  const Picture& picture() const { return picture_; }

 private:
  Status make_own_copy();

  Picture picture_;
  std::shared_ptr<std::uint8_t> pixels_;  // null until something was drawn
  std::size_t items_ = 0;
};

// Writes a picture as PNG (exact), JPEG or WebP (both lossy), by the ending. The file appears only
// when it is whole. Errors: those of check_output_path(), kRuntime when writing fails.
Status write_picture(const std::filesystem::path& path, const Picture& picture);

// `picture` with all `items`, written like write_picture(). Without items a PNG file has the
// very pixels of `picture`.
Status write_overlay(const std::filesystem::path& path, const Picture& picture,
                     std::span<const OverlayItem> items);

// Writes a PNG file of 8-bit grey, 255 where the mask is set and 0 elsewhere, packed for speed. The
// file appears only when it is whole. Errors: as write_picture(), and kInvalidArgument for an empty
// mask.
Status write_mask_png(const std::filesystem::path& path, const Mask& mask);

}  // namespace sam3::formats
