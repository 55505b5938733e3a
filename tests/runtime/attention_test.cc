// Every attention kernel against the definition in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/operators/attention_kernel.h"

namespace sam3::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Bias { kNone, kKeys, kFull };

struct Case {
  std::int64_t batches, heads, queries, keys, head_size;
  Bias bias = Bias::kNone;
  bool rows_first = false;  // [B, L, H, D] in memory

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.batches << "x" << c.heads << " " << c.queries << "x" << c.keys << " of "
               << c.head_size << " bias " << static_cast<int>(c.bias) << " rows " << c.rows_first;
  }
};

// A problem with its memory.
class Example {
 public:
  explicit Example(const Case& c) : random_(7) {
    problem.batches = c.batches;
    problem.heads = c.heads;
    problem.queries = c.queries;
    problem.keys = c.keys;
    problem.head_size = c.head_size;
    problem.value_size = c.head_size;
    problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.head_size)));
    problem.query = rows(query_, c, c.queries);
    problem.key = rows(key_, c, c.keys);
    problem.value = rows(value_, c, c.keys);
    if (c.bias == Bias::kKeys) {
      fill(bias_, c.batches * c.keys);
      problem.bias = {bias_.data(), c.keys, 0, 0, 1};
    } else if (c.bias == Bias::kFull) {
      fill(bias_, c.batches * c.heads * c.queries * c.keys);
      problem.bias = {bias_.data(), c.heads * c.queries * c.keys, c.queries * c.keys, c.keys, 1};
    }
    result.assign(static_cast<std::size_t>(c.batches * c.heads * c.queries * c.head_size), 99);
    problem.result = result.data();
    problem.result_rows = problem.query;
  }

  float& bias_at(std::size_t i) { return bias_[i]; }
  std::size_t bias_size() const { return bias_.size(); }
  void scale_queries(float factor) {
    for (float& value : query_) value *= factor;
  }

  // softmax(scale q k + bias) v of one query, in double.
  std::vector<double> expected(std::int64_t b, std::int64_t h, std::int64_t q) const {
    std::vector<double> scores;
    for (std::int64_t k = 0; k < problem.keys; ++k) {
      double score = 0;
      for (std::int64_t i = 0; i < problem.head_size; ++i)
        score += static_cast<double>(at(problem.query, b, h, q)[i]) *
                 static_cast<double>(at(problem.key, b, h, k)[i]);
      score *= static_cast<double>(problem.scale);
      const AttentionBias& bias = problem.bias;
      if (bias.data)
        score += static_cast<double>(bias.data[b * bias.batch_stride + h * bias.head_stride +
                                               q * bias.query_stride + k * bias.key_stride]);
      scores.push_back(score);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    std::vector<double> sums(static_cast<std::size_t>(problem.head_size));
    for (std::int64_t k = 0; k < problem.keys; ++k) {
      const double weight = std::exp(scores[static_cast<std::size_t>(k)] - largest);
      total += weight;
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += weight * static_cast<double>(at(problem.value, b, h, k)[i]);
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  const float* found(std::int64_t b, std::int64_t h, std::int64_t q) const {
    HeadRows rows = problem.result_rows;
    rows.data = result.data();
    return at(rows, b, h, q);
  }

  void run(const AttentionKernel& kernel) const {
    for (std::int64_t job = 0; job < attention_jobs(problem); ++job) kernel.run(problem, job);
  }

  AttentionProblem problem;
  std::vector<float> result;

 private:
  static const float* at(const HeadRows& rows, std::int64_t b, std::int64_t h, std::int64_t row) {
    return rows.data + b * rows.batch_stride + h * rows.head_stride + row * rows.row_stride;
  }
  void fill(std::vector<float>& values, std::int64_t count) {
    std::normal_distribution<float> normal;
    values.resize(static_cast<std::size_t>(count));
    for (float& value : values) value = 2 * normal(random_);
  }
  HeadRows rows(std::vector<float>& values, const Case& c, std::int64_t count) {
    fill(values, c.batches * c.heads * count * c.head_size);
    const std::int64_t whole = c.heads * count * c.head_size;
    return c.rows_first ? HeadRows{values.data(), whole, c.head_size, c.heads * c.head_size}
                        : HeadRows{values.data(), whole, count * c.head_size, c.head_size};
  }

  std::mt19937 random_;
  std::vector<float> query_, key_, value_, bias_;
};

// Sums of float32 products over head size and keys, and weights of one unit in the last place:
// values are of the order of one.
constexpr double kTolerance = 2e-5;

void expect_right(const Example& example, const AttentionKernel& kernel) {
  const AttentionProblem& problem = example.problem;
  for (std::int64_t b = 0; b < problem.batches; ++b)
    for (std::int64_t h = 0; h < problem.heads; ++h)
      for (std::int64_t q = 0; q < problem.queries; ++q) {
        const std::vector<double> expected = example.expected(b, h, q);
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(static_cast<double>(example.found(b, h, q)[i]), expected[i], kTolerance)
              << kernel.name << " batch " << b << " head " << h << " query " << q << " value " << i;
      }
}

class AttentionKernels : public testing::TestWithParam<Case> {};

TEST_P(AttentionKernels, GiveWhatIsDefined) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example example(GetParam());
    example.run(kernel);
    expect_right(example, kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionKernels,
    testing::Values(Case{1, 1, 1, 1, 1}, Case{1, 1, 1, 1, 16}, Case{1, 2, 3, 5, 8},
                    Case{2, 3, 47, 63, 16}, Case{1, 2, 48, 64, 64}, Case{1, 2, 49, 65, 64},
                    Case{1, 1, 97, 300, 20, Bias::kNone, true}, Case{1, 1, 5, 1000, 13},
                    Case{1, 2, 100, 100, 128}, Case{3, 2, 24, 36, 64, Bias::kKeys},
                    Case{2, 2, 13, 130, 16, Bias::kFull, true},
                    Case{2, 4, 60, 33, 32, Bias::kKeys, true}, Case{1, 1, 2, 7, 300}));

TEST(AttentionKernel, FastestComesFirstAndAllHaveNames) {
  const auto& kernels = attention_kernels();
  ASSERT_FALSE(kernels.empty());
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.push_back(kernel.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(AttentionKernel, LargeScoresDoNotOverflow) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example example({1, 1, 50, 200, 16});
    example.scale_queries(300);
    example.run(kernel);
    for (const float value : example.result) ASSERT_TRUE(std::isfinite(value)) << kernel.name;
    // Where one score is far above the others, its row is the answer, with the rounding of scores
    // of several thousand.
    const std::vector<double> expected = example.expected(0, 0, 7);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(static_cast<double>(example.found(0, 0, 7)[i]), expected[i], 2e-3);
  }
}

TEST(AttentionKernel, HiddenKeysDoNotCount) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    for (const float hidden : {-kInfinity, std::numeric_limits<float>::lowest()}) {
      Example example({1, 2, 20, 150, 16, Bias::kKeys});
      // A whole first block, some in between, and the end.
      for (std::size_t k = 0; k < 70; ++k) example.bias_at(k) = hidden;
      example.bias_at(100) = hidden;
      example.bias_at(149) = hidden;
      example.run(kernel);
      expect_right(example, kernel);
    }
  }
}

TEST(AttentionKernel, KeysThatAreAllHiddenByTheLowestNumberCountAlike) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example example({1, 2, 20, 150, 16, Bias::kKeys});
    for (std::size_t k = 0; k < example.bias_size(); ++k)
      example.bias_at(k) = std::numeric_limits<float>::lowest();
    example.run(kernel);
    double mean = 0;
    for (std::int64_t k = 0; k < 150; ++k)
      mean += static_cast<double>(example.problem.value.data[k * 16]) / 150;
    EXPECT_NEAR(static_cast<double>(example.found(0, 0, 3)[0]), mean, kTolerance) << kernel.name;
  }
}

TEST(AttentionKernel, ValuesMayBeLongerOrShorterThanKeys) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example wide({1, 2, 50, 70, 24});
    const std::vector<float> whole = (wide.run(kernel), wide.result);
    for (const std::int64_t size : {5, 16}) {
      Example example({1, 2, 50, 70, 24});
      example.problem.value_size = size;
      example.run(kernel);
      for (std::int64_t q = 0; q < 50; ++q)
        for (std::int64_t i = 0; i < size; ++i)
          ASSERT_EQ(example.found(0, 1, q)[i], wide.found(0, 1, q)[i]) << kernel.name;
      EXPECT_EQ(example.found(0, 1, 7)[size], 99) << kernel.name;  // as it was
    }
  }
}

TEST(AttentionKernel, NaNIsNotHidden) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example example({1, 1, 3, 70, 8, Bias::kKeys});
    example.bias_at(65) = std::numeric_limits<float>::quiet_NaN();
    example.run(kernel);
    for (const float value : example.result) EXPECT_TRUE(std::isnan(value)) << kernel.name;
  }
}

TEST(AttentionKernel, WithoutKeysTheResultIsZero) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    Example example({1, 1, 3, 1, 8});
    example.problem.keys = 0;
    example.run(kernel);
    for (const float value : example.result) EXPECT_EQ(value, 0) << kernel.name;
  }
}

TEST(AttentionKernel, NoKeyAtAllIsZerosOrNaN) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    for (const bool zeros : {true, false}) {
      Example example({1, 1, 3, 70, 8, Bias::kKeys});
      for (std::size_t k = 0; k < example.bias_size(); ++k) example.bias_at(k) = -kInfinity;
      example.problem.zero_empty = zeros;
      example.run(kernel);
      for (const float value : example.result) EXPECT_TRUE(zeros ? value == 0 : std::isnan(value));
    }
  }
}

}  // namespace
}  // namespace sam3::runtime
