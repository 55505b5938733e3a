// Pictures as the library sees them: upright, sRGB, eight bits a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sam3 {

// Size in displayed pixels, that is, after the rotation that EXIF asks for.
struct Size {
  int width = 0;
  int height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Position in displayed pixels; (0, 0) is the top left corner of the top left pixel.
struct Point {
  double x = 0;
  double y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

// Half-open rectangle in displayed pixels: x0 <= x < x1, y0 <= y < y1.
struct Box {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

// An immutable picture: RGB, interleaved, rows from top to bottom without padding
// (3 * width bytes each). Copies share the pixels; safe to use from several threads.
class Picture {
 public:
  Picture() = default;
  // `rgb` holds 3 * width * height bytes, both sizes at least 1.
  Picture(Size size, std::shared_ptr<const std::uint8_t> rgb) : size_(size), rgb_(std::move(rgb)) {}

  Size size() const { return size_; }
  int width() const { return size_.width; }
  int height() const { return size_.height; }
  bool empty() const { return !rgb_; }
  const std::uint8_t* data() const { return rgb_.get(); }
  const std::uint8_t* row(int y) const {
    return rgb_.get() + static_cast<std::size_t>(y) * 3 * static_cast<std::size_t>(size_.width);
  }

 private:
  Size size_;
  std::shared_ptr<const std::uint8_t> rgb_;
};

// A picture from a file or from bytes, with what the reader had to say about it.
struct LoadedPicture {
  Picture picture;
  std::vector<std::string> warnings;  // one sentence each
};

}  // namespace sam3
