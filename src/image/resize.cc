#include "image/resize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

// The inner loops are plain C++; where the compiler can, it also makes a copy of them for wider
// vector units and picks one when the program starts. All copies compute with integers, so all
// give the same bytes. Sanitizers cannot follow the picking, which runs before they are set up.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#define SAM3_WIDE_COPIES __attribute__((target_clones("default", "avx2")))
#else
#define SAM3_WIDE_COPIES
#endif

namespace sam3::image {
namespace {

// 32 bits hold eight of pixel, two of headroom (Pillow's other filters overshoot) and this many of
// weight.
constexpr int kFractionBits = 32 - 8 - 2;
constexpr std::uint32_t kHalf = std::uint32_t{1} << (kFractionBits - 1);
constexpr std::int64_t kRowsPerBand = 32;

// The source positions that one target position is made of.
struct Window {
  std::int64_t first = 0;
  std::int64_t count = 0;
  const std::uint32_t* weights = nullptr;
};

// The windows of all target positions along one side. A source side of length n gives windows of
// at most 2 * ceil(n / target) + 1 weights.
class Filter {
 public:
  Filter(std::int64_t source, std::int64_t target) {
    const double scale = static_cast<double>(source) / static_cast<double>(target);
    const double support = std::max(scale, 1.0);
    stride_ = std::min(source, static_cast<std::int64_t>(std::ceil(support)) * 2 + 1);
    first_.reserve(static_cast<std::size_t>(target));
    count_.reserve(static_cast<std::size_t>(target));
    weights_.resize(static_cast<std::size_t>(target * stride_));
    std::vector<double> exact(static_cast<std::size_t>(stride_));
    for (std::int64_t i = 0; i < target; ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * scale;
      // Conversion to an integer cuts towards zero, as in Pillow; it differs from floor() only
      // below zero, where the window is cut anyway.
      const std::int64_t first =
          std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
      const std::int64_t end = std::min(source, static_cast<std::int64_t>(centre + support + 0.5));
      first_.push_back(first);
      count_.push_back(end - first);
      fill(i, centre, 1.0 / support, exact);
    }
  }

  Window at(std::int64_t i) const {
    const auto index = static_cast<std::size_t>(i);
    return {first_[index], count_[index], weights_.data() + i * stride_};
  }
  std::int64_t end(std::int64_t i) const { return at(i).first + at(i).count; }

 private:
  // The sum runs left to right in double precision and every weight is divided by it, then rounded
  // half up: the same operations in the same order as Pillow's, since one unit of one weight can
  // change a byte.
  void fill(std::int64_t i, double centre, double inverse_support, std::vector<double>& exact) {
    const Window window = at(i);
    double sum = 0;
    for (std::int64_t j = 0; j < window.count; ++j) {
      const double distance =
          std::abs((static_cast<double>(j + window.first) - centre + 0.5) * inverse_support);
      const double weight = distance < 1.0 ? 1.0 - distance : 0.0;
      exact[static_cast<std::size_t>(j)] = weight;
      sum += weight;
    }
    std::uint32_t* weights = weights_.data() + i * stride_;
    for (std::int64_t j = 0; j < window.count; ++j) {
      double weight = exact[static_cast<std::size_t>(j)];
      if (sum != 0.0) weight /= sum;
      weights[j] = static_cast<std::uint32_t>(0.5 + weight * (1 << kFractionBits));
    }
  }

  std::int64_t stride_ = 0;
  std::vector<std::int64_t> first_;
  std::vector<std::int64_t> count_;
  std::vector<std::uint32_t> weights_;
};

// A weight is rounded to at most twice its value, so a sum stays below 255 * 2^23 + 2^21 and fits
// 32 bits for any number of weights.
std::uint8_t rounded(std::uint32_t sum) {
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(sum >> kFractionBits, 255));
}

// One row of `width` pixels from `source`.
SAM3_WIDE_COPIES void filter_along_row(const std::uint8_t* source, const Filter& filter,
                                       std::int64_t width, std::uint8_t* target) {
  for (std::int64_t x = 0; x < width; ++x) {
    const Window window = filter.at(x);
    const std::uint8_t* pixel = source + 3 * window.first;
    std::uint32_t red = kHalf;
    std::uint32_t green = kHalf;
    std::uint32_t blue = kHalf;
    for (std::int64_t j = 0; j < window.count; ++j, pixel += 3) {
      const std::uint32_t weight = window.weights[j];
      red += pixel[0] * weight;
      green += pixel[1] * weight;
      blue += pixel[2] * weight;
    }
    *target++ = rounded(red);
    *target++ = rounded(green);
    *target++ = rounded(blue);
  }
}

// One row of `length` bytes from the rows of `window`; row 0 of the window is at `source`.
SAM3_WIDE_COPIES void filter_down_columns(const std::uint8_t* source, std::int64_t row_bytes,
                                          const Window& window, std::int64_t length,
                                          std::uint8_t* target) {
  constexpr std::int64_t kChunk = 256;  // sums that stay in the nearest cache
  std::uint32_t sums[kChunk];
  for (std::int64_t start = 0; start < length; start += kChunk) {
    const std::int64_t count = std::min(kChunk, length - start);
    std::fill_n(sums, kChunk, kHalf);
    for (std::int64_t j = 0; j < window.count; ++j) {
      const std::uint8_t* row = source + j * row_bytes + start;
      const std::uint32_t weight = window.weights[j];
      for (std::int64_t i = 0; i < count; ++i) sums[i] += row[i] * weight;
    }
    for (std::int64_t i = 0; i < count; ++i) target[start + i] = rounded(sums[i]);
  }
}

// Everything a band needs to know; a null filter means that the side keeps its length.
struct Job {
  const Picture& picture;
  Size size;
  const Filter* columns = nullptr;
  const Filter* rows = nullptr;
  std::uint8_t* target = nullptr;

  const std::uint8_t* source_row(std::int64_t y) const { return picture.row(static_cast<int>(y)); }
  std::uint8_t* target_row(std::int64_t y) const { return target + y * row_bytes(); }
  std::int64_t source_row_bytes() const { return std::int64_t{3} * picture.width(); }
  std::int64_t row_bytes() const { return std::int64_t{3} * size.width; }
};

using Bytes = std::unique_ptr<std::uint8_t[]>;

Bytes try_allocate(std::int64_t bytes) {
  return Bytes(new (std::nothrow) std::uint8_t[static_cast<std::size_t>(bytes)]);
}

// Each of these makes the target rows [begin, end) and returns false when memory runs out.

bool resize_rows_alone(const Job& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t y = begin; y < end; ++y) {
    const Window window = job.rows->at(y);
    filter_down_columns(job.source_row(window.first), job.row_bytes(), window, job.row_bytes(),
                        job.target_row(y));
  }
  return true;
}

bool resize_columns_alone(const Job& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t y = begin; y < end; ++y)
    filter_along_row(job.source_row(y), *job.columns, job.size.width, job.target_row(y));
  return true;
}

bool resize_rows_first(const Job& job, std::int64_t begin, std::int64_t end) {
  const Bytes row = try_allocate(job.source_row_bytes());
  if (!row) return false;
  for (std::int64_t y = begin; y < end; ++y) {
    const Window window = job.rows->at(y);
    filter_down_columns(job.source_row(window.first), job.source_row_bytes(), window,
                        job.source_row_bytes(), row.get());
    filter_along_row(row.get(), *job.columns, job.size.width, job.target_row(y));
  }
  return true;
}

bool resize_columns_first(const Job& job, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = job.rows->at(begin).first;
  const std::int64_t source_rows = job.rows->end(end - 1) - first;
  const Bytes narrowed = try_allocate(source_rows * job.row_bytes());
  if (!narrowed) return false;
  for (std::int64_t y = 0; y < source_rows; ++y)
    filter_along_row(job.source_row(first + y), *job.columns, job.size.width,
                     narrowed.get() + y * job.row_bytes());
  for (std::int64_t y = begin; y < end; ++y) {
    const Window window = job.rows->at(y);
    filter_down_columns(narrowed.get() + (window.first - first) * job.row_bytes(), job.row_bytes(),
                        window, job.row_bytes(), job.target_row(y));
  }
  return true;
}

// The order matters for the bytes, since each pass rounds. Pillow 13 filters the rows first when
// the height loses more than twice the pixels that the width loses.
bool rows_go_first(Size source, Size target) {
  const std::int64_t lost_rows = std::int64_t{source.height} - target.height;
  const std::int64_t lost_columns = std::int64_t{source.width} - target.width;
  return lost_rows > 0 && lost_rows > 2 * lost_columns;
}

bool resize_band(const Job& job, std::int64_t begin, std::int64_t end) {
  if (!job.columns) return resize_rows_alone(job, begin, end);
  if (!job.rows) return resize_columns_alone(job, begin, end);
  if (rows_go_first(job.picture.size(), job.size)) return resize_rows_first(job, begin, end);
  return resize_columns_first(job, begin, end);
}

// Target rows per band: fewer when each needs many source rows, so that a very high picture does
// not ask for a large band.
std::int64_t rows_per_band(Size source, Size target) {
  const std::int64_t source_rows_each = source.height / target.height + 1;
  return std::clamp<std::int64_t>(8 * kRowsPerBand / source_rows_each, 1, kRowsPerBand);
}

}  // namespace

Result<Picture> resize(const Picture& picture, Size size, const ParallelFor& runner) {
  if (picture.empty() || picture.width() < 1 || picture.height() < 1)
    return Error{ErrorCode::kInvalidArgument, "an empty picture cannot be resized", {}, {}};
  if (size.width < 1 || size.height < 1)
    return Error{ErrorCode::kInvalidArgument,
                 "a picture cannot be resized to " + std::to_string(size.width) + "x" +
                     std::to_string(size.height) + " pixels",
                 {},
                 {}};
  if (size == picture.size()) return picture;
  const Error no_memory{ErrorCode::kLimit,
                        "not enough memory to resize a picture to " + std::to_string(size.width) +
                            "x" + std::to_string(size.height) + " pixels",
                        {},
                        {}};
  try {
    std::unique_ptr<Filter> columns;
    std::unique_ptr<Filter> rows;
    if (size.width != picture.width())
      columns = std::make_unique<Filter>(picture.width(), size.width);
    if (size.height != picture.height())
      rows = std::make_unique<Filter>(picture.height(), size.height);
    const std::int64_t bytes = std::int64_t{3} * size.width * size.height;
    std::shared_ptr<std::uint8_t> target(new std::uint8_t[static_cast<std::size_t>(bytes)],
                                         std::default_delete<std::uint8_t[]>());
    const Job job{picture, size, columns.get(), rows.get(), target.get()};
    const std::int64_t band = rows_per_band(picture.size(), size);
    std::atomic<bool> failed = false;
    runner((size.height + band - 1) / band, [&](std::int64_t i) {
      const std::int64_t begin = i * band;
      if (!resize_band(job, begin, std::min<std::int64_t>(begin + band, size.height)))
        failed = true;
    });
    if (failed) return no_memory;
    return Picture(size, std::move(target));
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

}  // namespace sam3::image
