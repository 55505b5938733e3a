// Bit masks at picture size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sam3/export.h"
#include "sam3/picture.h"

namespace sam3 {

// Run lengths of a mask in COCO's order: down the columns, left to right, starting with the number
// of zeros (0 if the first pixel is set). The counts add up to width * height.
// Source: the mask API of pycocotools.
struct Rle {
  Size size;
  std::vector<std::uint32_t> counts;
};

// A mask of `size` pixels, one bit each; bit x % 64 of word x / 64 of a row is pixel x, bits beyond
// the width are zero.
class SAM3_API Mask {
 public:
  Mask() = default;
  // All pixels unset.
  explicit Mask(Size size);

  Size size() const { return size_; }
  int width() const { return size_.width; }
  int height() const { return size_.height; }
  std::size_t words_per_row() const { return words_per_row_; }
  std::span<const std::uint64_t> row(int y) const;
  std::span<std::uint64_t> row(int y);

  bool at(int x, int y) const { return row(y)[static_cast<std::size_t>(x) / 64] >> (x % 64) & 1; }
  void set(int x, int y) {
    row(y)[static_cast<std::size_t>(x) / 64] |= std::uint64_t{1} << (x % 64);
  }

  // Number of set pixels.
  std::int64_t area() const;
  // Smallest box that holds all set pixels; all zeros when none is set.
  Box tight_box() const;
  Rle rle() const;

  friend bool operator==(const Mask&, const Mask&) = default;

 private:
  Size size_;
  std::size_t words_per_row_ = 0;
  std::vector<std::uint64_t> words_;
};

// COCO's compressed string form of `rle`, as pycocotools writes it into "counts".
SAM3_API std::string compressed_counts(const Rle& rle);

// |a and b| / |a or b|; 0 when both are empty. The sizes must be equal.
SAM3_API double mask_iou(const Mask& a, const Mask& b);

}  // namespace sam3
