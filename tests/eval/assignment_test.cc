#include "eval/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace sam3::eval {
namespace {

double sum_of(const Matrix& gains, const std::vector<std::optional<std::size_t>>& columns) {
  double sum = 0;
  for (std::size_t row = 0; row < columns.size(); ++row)
    if (columns[row]) sum += gains.at(row, *columns[row]);
  return sum;
}

// Of all ways; the longer side is permuted.
double best_sum(const Matrix& gains) {
  const std::size_t most = std::max(gains.rows, gains.columns);
  const std::size_t least = std::min(gains.rows, gains.columns);
  std::vector<std::size_t> order(most);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = -1e300;
  do {
    double sum = 0;
    for (std::size_t i = 0; i < least; ++i)
      sum += gains.rows <= gains.columns ? gains.at(i, order[i]) : gains.at(order[i], i);
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Assignment, IsTheBestOfAllWays) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Matrix gains(1 + random() % 5, 1 + random() % 5);
    // Few different values, so that there are ties, and negative ones.
    for (double& value : gains.values) value = static_cast<double>(random() % 6) / 4 - 0.5;
    const auto columns = best_assignment(gains);
    ASSERT_EQ(columns.size(), gains.rows);
    std::set<std::size_t> used;
    for (const auto& column : columns)
      if (column) {
        EXPECT_LT(*column, gains.columns);
        EXPECT_TRUE(used.insert(*column).second);
      }
    EXPECT_EQ(used.size(), std::min(gains.rows, gains.columns));
    EXPECT_NEAR(sum_of(gains, columns), best_sum(gains), 1e-12);
  }
}

TEST(Assignment, OfNothingIsNothing) {
  EXPECT_TRUE(best_assignment(Matrix(0, 3)).empty());
  EXPECT_EQ(best_assignment(Matrix(2, 0)),
            (std::vector<std::optional<std::size_t>>{std::nullopt, std::nullopt}));
}

}  // namespace
}  // namespace sam3::eval
