#include "runtime/operators/attention_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

// Compiled once for each vector unit; those whose vectors have no fixed size are left out.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/operators/attention_kernel.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sam3::runtime::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A tile of scores, keys down and queries across, stays in the first-level cache.
constexpr std::size_t kQueries = 48;
constexpr std::size_t kKeys = 64;
constexpr float kLog2E = 1.44269504088896340736F;

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

// Rows and vectors of a product that are summed in registers: of 16 registers 4 x 3 leaves enough
// for operands, of 32 8 x 3.
constexpr std::size_t kVectors = 3;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr std::size_t kRows = 8;
#else
constexpr std::size_t kRows = 4;
#endif

// Element (r, i) of an operand lies at data[r * row + i * step].
struct Matrix {
  const float* data;
  std::size_t row;
  std::size_t step;
};

// target[r][q] = target[r][q] * factor[q] + sum over i < depth of a(r, i) * b[i][q]; rows of target
// and b are kQueries apart. A null factor is zero.
struct Product {
  Matrix a;
  const float* b;
  std::size_t depth;
  const float* factor;
  float* target;

  // Rows from r on, queries from q on.
  Product from(std::size_t r, std::size_t q) const {
    return {{a.data + r * a.row, a.row, a.step},
            b + q,
            depth,
            factor ? factor + q : nullptr,
            target + r * kQueries + q};
  }
};

// R rows and a panel of queries.
template <std::size_t R>
HWY_INLINE void multiply_panel(const Product& product) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const Matrix a = product.a;
  const float* HWY_RESTRICT b = product.b;
  Vector sums[R][kVectors];
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  for (std::size_t i = 0; i < product.depth; ++i) {
    Vector right[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) right[v] = hn::Load(d, b + i * kQueries + v * lanes);
    for (std::size_t r = 0; r < R; ++r) {
      const Vector left = hn::Set(d, a.data[r * a.row + i * a.step]);
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* place = product.target + r * kQueries + v * lanes;
      Vector sum = sums[r][v];
      if (product.factor)
        sum = hn::MulAdd(hn::Load(d, place), hn::Load(d, product.factor + v * lanes), sum);
      hn::Store(sum, d, place);
    }
}

void multiply(const Product& product, std::size_t rows) {
  const std::size_t panel = kVectors * hn::Lanes(Floats());
  std::size_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    for (std::size_t q = 0; q < kQueries; q += panel) multiply_panel<kRows>(product.from(r, q));
  for (; r < rows; ++r)
    for (std::size_t q = 0; q < kQueries; q += panel) multiply_panel<1>(product.from(r, q));
}

// 2^x for x <= 0; at least 2^-126, also for -infinity. Adding 1.5 * 2^23 leaves the whole part of x
// in the lowest bits. The polynomial is the one of its degree with the least relative error, 8e-8.
HWY_INLINE Vector exp2_of(Vector x) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const Vector shift = hn::Set(d, 12582912.0F);
  const Vector least = hn::Set(d, -126.0F);
  const Vector clamped = hn::IfThenElse(hn::Lt(x, least), least, x);  // NaN stays
  const Vector shifted = hn::Add(clamped, shift);
  const Vector f = hn::Sub(clamped, hn::Sub(shifted, shift));
  Vector p = hn::Set(d, 1.327647205e-03F);
  p = hn::MulAdd(p, f, hn::Set(d, 9.675541480e-03F));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550713275e-02F));
  p = hn::MulAdd(p, f, hn::Set(d, 2.402211972e-01F));
  p = hn::MulAdd(p, f, hn::Set(d, 6.931469671e-01F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.000000072e+00F));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
}

// What a tile needs while it goes over the keys; rows are kQueries long.
struct Tile {
  float* query;   // [head_size], turned and scaled
  float* value;   // [kKeys][value_size], the block's rows without gaps
  float* scores;  // [kKeys]
  float* sums;    // [value_size], the weighted values so far
  float* largest;
  float* total;
  float* factor;

  static std::size_t floats(std::size_t head_size, std::size_t value_size) {
    return (head_size + value_size + kKeys + 3) * kQueries + kKeys * value_size;
  }
  Tile(float* memory, std::size_t head_size, std::size_t value_size) {
    const auto take = [&](std::size_t count) { return std::exchange(memory, memory + count); };
    query = take(head_size * kQueries);
    sums = take(value_size * kQueries);
    scores = take(kKeys * kQueries);
    largest = take(kQueries);
    total = take(kQueries);
    factor = take(kQueries);
    value = take(kKeys * value_size);
  }
};

const float* row_of(const HeadRows& rows, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return rows.data + batch * rows.batch_stride + head * rows.head_stride + row * rows.row_stride;
}

// In the unit of the scores. What is finite stays so: a key that is hidden by the lowest number
// must not look like one that -infinity hides.
HWY_INLINE float scaled_bias(float bias) {
  const float scaled = bias * kLog2E;
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return scaled < kLowest && bias >= kLowest ? kLowest : scaled;
}

void add_bias(const AttentionBias& bias, const float* at, std::size_t keys, std::size_t queries,
              float* scores) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t k = 0; k < keys; ++k) {
    const float* here = at + static_cast<std::int64_t>(k) * bias.key_stride;
    float* row = scores + k * kQueries;
    if (bias.query_stride == 0) {
      const Vector all = hn::Set(d, scaled_bias(*here));
      for (std::size_t q = 0; q < kQueries; q += lanes)
        hn::Store(hn::Add(hn::Load(d, row + q), all), d, row + q);
    } else {
      for (std::size_t q = 0; q < queries; ++q)
        row[q] += scaled_bias(here[static_cast<std::int64_t>(q) * bias.query_stride]);
    }
  }
}

// Scores become weights relative to the running maximum; sums so far are to be multiplied by
// factor.
void update_softmax(std::size_t keys, const Tile& tile) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const Vector lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::size_t q = 0; q < kQueries; q += lanes) {
    const Vector before = hn::Load(d, tile.largest + q);
    Vector largest = before;
    for (std::size_t k = 0; k < keys; ++k)
      largest = hn::Max(largest, hn::Load(d, tile.scores + k * kQueries + q));
    hn::Store(largest, d, tile.largest + q);
    // -infinity minus itself would be NaN.
    const Vector base = hn::IfThenZeroElse(hn::Eq(largest, lowest), largest);
    const Vector factor = exp2_of(hn::Sub(before, base));
    Vector total = hn::Mul(hn::Load(d, tile.total + q), factor);
    for (std::size_t k = 0; k < keys; ++k) {
      float* score = tile.scores + k * kQueries + q;
      const Vector weight = exp2_of(hn::Sub(hn::Load(d, score), base));
      hn::Store(weight, d, score);
      total = hn::Add(total, weight);
    }
    hn::Store(total, d, tile.total + q);
    hn::Store(factor, d, tile.factor + q);
  }
}

void run_job(const AttentionProblem& problem, std::int64_t job) {
  const std::int64_t tiles = (problem.queries + static_cast<std::int64_t>(kQueries) - 1) /
                             static_cast<std::int64_t>(kQueries);
  const std::int64_t head = job / tiles % problem.heads;
  const std::int64_t batch = job / tiles / problem.heads;
  const std::int64_t first = job % tiles * static_cast<std::int64_t>(kQueries);
  const auto queries =
      static_cast<std::size_t>(std::min<std::int64_t>(kQueries, problem.queries - first));
  const auto size = static_cast<std::size_t>(problem.head_size);
  const auto value_size = static_cast<std::size_t>(problem.value_size);
  constexpr std::size_t kAlignment = 64;
  thread_local std::vector<float> memory;
  memory.resize(Tile::floats(size, value_size) + kAlignment / sizeof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const Tile tile(reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment),
                  size, value_size);
  std::fill_n(tile.query, size * kQueries, 0.0F);
  for (std::size_t q = 0; q < queries; ++q) {
    const float* row = row_of(problem.query, batch, head, first + static_cast<std::int64_t>(q));
    for (std::size_t i = 0; i < size; ++i)
      tile.query[i * kQueries + q] = row[i] * (problem.scale * kLog2E);
  }
  std::fill_n(tile.sums, value_size * kQueries, 0.0F);
  std::fill_n(tile.total, kQueries, 0.0F);
  std::fill_n(tile.largest, kQueries, -std::numeric_limits<float>::infinity());
  for (std::int64_t k = 0; k < problem.keys; k += std::int64_t{kKeys}) {
    const auto keys = static_cast<std::size_t>(std::min<std::int64_t>(kKeys, problem.keys - k));
    const Matrix key{row_of(problem.key, batch, head, k),
                     static_cast<std::size_t>(problem.key.row_stride), 1};
    multiply({key, tile.query, size, nullptr, tile.scores}, keys);
    const AttentionBias& bias = problem.bias;
    if (bias.data)
      add_bias(bias,
               bias.data + batch * bias.batch_stride + head * bias.head_stride +
                   first * bias.query_stride + k * bias.key_stride,
               keys, queries, tile.scores);
    update_softmax(keys, tile);
    for (std::size_t i = 0; i < keys; ++i)
      std::copy_n(row_of(problem.value, batch, head, k + static_cast<std::int64_t>(i)), value_size,
                  tile.value + i * value_size);
    multiply({{tile.value, 1, value_size}, tile.scores, keys, tile.factor, tile.sums}, value_size);
  }
  const HeadRows& rows = problem.result_rows;
  for (std::size_t q = 0; q < queries; ++q) {
    float* row = problem.result + batch * rows.batch_stride + head * rows.head_stride +
                 (first + static_cast<std::int64_t>(q)) * rows.row_stride;
    // Without a key that counts: zero divided by zero, unless zeros are wanted.
    const bool empty =
        tile.largest[q] == -std::numeric_limits<float>::infinity() || std::isnan(tile.total[q]);
    const bool zero = problem.keys == 0 || (empty && problem.zero_empty);
    const float inverse = zero ? 0 : empty ? std::nanf("") : 1 / tile.total[q];
    for (std::size_t i = 0; i < value_size; ++i)
      row[i] = zero ? 0 : tile.sums[i * kQueries + q] * inverse;
  }
}

}  // namespace

AttentionKernel kernel() { return {hwy::TargetName(HWY_TARGET), run_job}; }
std::int64_t tile_queries() { return static_cast<std::int64_t>(kQueries); }

}  // namespace sam3::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sam3::runtime {

HWY_EXPORT(kernel);
HWY_EXPORT(tile_queries);

const std::vector<AttentionKernel>& attention_kernels() {
  static const auto* const kernels = [] {
    auto* list = new std::vector<AttentionKernel>;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      list->push_back(HWY_DYNAMIC_DISPATCH(kernel)());
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return list;
  }();
  return *kernels;
}

std::int64_t attention_jobs(const AttentionProblem& problem) {
  const std::int64_t tile = HWY_STATIC_DISPATCH(tile_queries)();
  return problem.batches * problem.heads * ((problem.queries + tile - 1) / tile);
}

}  // namespace sam3::runtime
#endif
