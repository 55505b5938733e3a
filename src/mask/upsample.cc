#include "mask/upsample.h"

#include <algorithm>
#include <span>
#include <vector>

namespace sam3::mask {
namespace {

// Where the positions of a picture axis lie among the low-resolution ones.
struct Axis {
  std::vector<int> index;     // the neighbour at or before the position
  std::vector<float> weight;  // of the neighbour after it
  std::vector<int> begin;     // begin[i]: the first position with index >= i, for i in [0, low]
};

// In single precision, every operation rounded, as PyTorch computes positions: pixels midway
// between two cells must fall on the same side. The product goes through double precision, where it
// is exact, so that no compiler fuses it with the sum.
Axis make_axis(int low, int picture) {
  Axis axis;
  axis.index.reserve(static_cast<std::size_t>(picture));
  axis.weight.reserve(static_cast<std::size_t>(picture));
  axis.begin.reserve(static_cast<std::size_t>(low) + 1);
  const float scale = static_cast<float>(low) / static_cast<float>(picture);
  for (int i = 0; i < picture; ++i) {
    const double product = (static_cast<double>(i) + 0.5) * static_cast<double>(scale);
    const float source = std::max(0.0F, static_cast<float>(product) - 0.5F);
    const int index = std::min(static_cast<int>(source), low - 1);
    while (axis.begin.size() <= static_cast<std::size_t>(index)) axis.begin.push_back(i);
    axis.index.push_back(index);
    axis.weight.push_back(std::clamp(source - static_cast<float>(index), 0.0F, 1.0F));
  }
  axis.begin.resize(static_cast<std::size_t>(low) + 1, picture);
  return axis;
}

// a * (1 - weight) + b * weight in single precision with the second product and the sum rounded
// once, as PyTorch's kernels do on processors with fused operations. The product is exact in double
// precision, so the result is the same on every processor.
inline float blend(float a, float b, float weight) {
  const float first = a * (1 - weight);
  return static_cast<float>(static_cast<double>(b) * static_cast<double>(weight) +
                            static_cast<double>(first));
}

// First and last column of a low-resolution row with a value above the cut; the width and -1 if
// there is none.
struct Active {
  int first;
  int last;
};

void set_run(std::span<std::uint64_t> words, int x0, int x1) {
  if (x0 >= x1) return;
  const auto first = static_cast<std::size_t>(x0) / 64;
  const auto last = static_cast<std::size_t>(x1 - 1) / 64;
  const std::uint64_t head = ~std::uint64_t{0} << (x0 % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (x1 - 1) % 64);
  if (first == last) {
    words[first] |= head & tail;
    return;
  }
  words[first] |= head;
  std::fill(words.begin() + static_cast<std::ptrdiff_t>(first) + 1,
            words.begin() + static_cast<std::ptrdiff_t>(last), ~std::uint64_t{0});
  words[last] |= tail;
}

// Along a picture row the value between two neighbouring low-resolution columns is linear, so it
// passes the cut at most once there. It is therefore enough to know on which side each column lies,
// to search for the pixel of the change where two neighbours differ, and to set whole runs.
class Enlarger {
 public:
  Enlarger(const float* values, Size low, Size picture, float cut)
      : values_(values),
        low_(low),
        picture_(picture),
        cut_(cut),
        columns_(make_axis(low.width, picture.width)),
        rows_(make_axis(low.height, picture.height)),
        blended_(static_cast<std::size_t>(low.width)) {
    active_.reserve(static_cast<std::size_t>(low.height));
    for (int y = 0; y < low.height; ++y) active_.push_back(find_active(low_row(y)));
  }

  Mask run() {
    Mask mask(picture_);
    for (int y = 0; y < picture_.height; ++y) fill_row(y, mask.row(y));
    return mask;
  }

 private:
  // The two low-resolution rows around a picture row and the weight of the lower one.
  struct RowPair {
    const float* upper;
    const float* lower;
    float weight;
  };

  const float* low_row(int y) const {
    return values_ + static_cast<std::size_t>(y) * static_cast<std::size_t>(low_.width);
  }

  Active find_active(const float* row) const {
    int first = 0;
    while (first < low_.width && !(row[first] > cut_)) ++first;
    if (first == low_.width) return {low_.width, -1};
    int last = low_.width - 1;
    while (!(row[last] > cut_)) --last;
    return {first, last};
  }

  // At picture column x, with the terms in PyTorch's order.
  bool is_set(const RowPair& rows, int x) const {
    const int left = columns_.index[static_cast<std::size_t>(x)];
    const int right = std::min(left + 1, low_.width - 1);
    const float weight = columns_.weight[static_cast<std::size_t>(x)];
    const float upper = blend(rows.upper[left], rows.upper[right], weight);
    const float lower = blend(rows.lower[left], rows.lower[right], weight);
    return blend(upper, lower, rows.weight) > cut_;
  }

  // First picture column after low-resolution column `column` that is not `before`.
  int find_change(const RowPair& rows, int column, bool before) const {
    int x0 = columns_.begin[static_cast<std::size_t>(column)];
    int x1 = columns_.begin[static_cast<std::size_t>(column) + 1];
    while (x0 < x1) {
      const int middle = x0 + (x1 - x0) / 2;
      if (is_set(rows, middle) == before)
        x0 = middle + 1;
      else
        x1 = middle;
    }
    return x0;
  }

  void fill_row(int y, std::span<std::uint64_t> words) {
    const int above = rows_.index[static_cast<std::size_t>(y)];
    const int below = std::min(above + 1, low_.height - 1);
    const Active a = active_[static_cast<std::size_t>(above)];
    const Active b = active_[static_cast<std::size_t>(below)];
    if (a.first > a.last && b.first > b.last) return;
    // One column more on each side, where the value falls below the cut.
    const int first = std::max(0, std::min(a.first, b.first) - 1);
    const int last = std::min(low_.width - 1, std::max(a.last, b.last) + 1);
    const RowPair rows{low_row(above), low_row(below), rows_.weight[static_cast<std::size_t>(y)]};
    float* const values = blended_.data();
    for (int x = first; x <= last; ++x)
      values[x] = blend(rows.upper[x], rows.lower[x], rows.weight);

    int start = 0;
    bool inside = values[first] > cut_;  // only in column 0, where the run starts with the picture
    for (int x = first; x < last; ++x) {
      if ((values[x + 1] > cut_) == inside) continue;
      const int change = find_change(rows, x, inside);
      if (inside)
        set_run(words, start, change);
      else
        start = change;
      inside = !inside;
    }
    if (inside) set_run(words, start, picture_.width);
  }

  const float* values_;
  Size low_;
  Size picture_;
  float cut_;
  Axis columns_;
  Axis rows_;
  std::vector<Active> active_;
  std::vector<float> blended_;
};

bool is_empty(Size size) { return size.width <= 0 || size.height <= 0; }

// Calls set(x, y) for every set bit of the plane.
template <typename Set>
void visit_bits(const BitPlane& plane, Set set) {
  for (int y = 0; y < plane.size.height; ++y) {
    const std::uint8_t* row = plane.data + static_cast<std::size_t>(y) * plane.bytes_per_row;
    for (int x = 0; x < plane.size.width; ++x) {
      const int shift = plane.order == BitOrder::kMsbFirst ? 7 - x % 8 : x % 8;
      if ((row[x / 8] >> shift & 1) != 0) set(x, y);
    }
  }
}

}  // namespace

Mask unpack_bits(const BitPlane& plane) {
  Mask mask(plane.size);
  visit_bits(plane, [&](int x, int y) { mask.set(x, y); });
  return mask;
}

Mask upsample_bits(const BitPlane& plane, Size picture) {
  if (is_empty(plane.size) || is_empty(picture)) return Mask(picture);
  const auto width = static_cast<std::size_t>(plane.size.width);
  std::vector<float> values(width * static_cast<std::size_t>(plane.size.height));
  visit_bits(plane, [&](int x, int y) {
    values[static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)] = 1;
  });
  return Enlarger(values.data(), plane.size, picture, 0.5F).run();
}

Mask upsample_logits(const float* logits, Size low, Size picture) {
  if (is_empty(low) || is_empty(picture)) return Mask(picture);
  return Enlarger(logits, low, picture, 0.0F).run();
}

}  // namespace sam3::mask
