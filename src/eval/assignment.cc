#include "eval/assignment.h"

#include <limits>

namespace sam3::eval {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Pairs every row of a cost matrix with a column; there are at least as many columns as rows. Rows
// are added one by one: each takes the cheapest path over columns that are taken to one that is
// free, and along it all rows move on. The potentials keep every reduced cost at zero or above, so
// that the cheapest path can be found by Dijkstra's rule.
class Solver {
 public:
  explicit Solver(const Matrix& costs)
      : costs_(costs),
        row_potential_(costs.rows),
        column_potential_(costs.columns),
        row_of_(costs.columns, kNone) {}

  // The row of each column, or kNone.
  std::vector<std::size_t> solve() {
    for (std::size_t row = 0; row < costs_.rows; ++row) add(row);
    return row_of_;
  }

 private:
  void add(std::size_t new_row) {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    std::vector<double> distance(costs_.columns, kFar);
    std::vector<std::size_t> before(costs_.columns, kNone);  // the column before it on the path
    std::vector<bool> final(costs_.columns, false);
    std::vector<std::size_t> reached;  // columns with a final distance, without the free one
    std::size_t row = new_row;
    std::size_t column = kNone;
    double length = 0;
    while (true) {
      std::size_t next = kNone;
      for (std::size_t c = 0; c < costs_.columns; ++c) {
        if (final[c]) continue;
        const double through =
            length + costs_.at(row, c) - row_potential_[row] - column_potential_[c];
        if (through < distance[c]) distance[c] = through, before[c] = column;
        if (next == kNone || distance[c] < distance[next]) next = c;
      }
      column = next;
      length = distance[next];
      final[next] = true;
      if (row_of_[next] == kNone) break;
      reached.push_back(next);
      row = row_of_[next];
    }
    row_potential_[new_row] += length;
    for (const std::size_t c : reached) {
      row_potential_[row_of_[c]] += length - distance[c];
      column_potential_[c] -= length - distance[c];
    }
    while (before[column] != kNone) {
      row_of_[column] = row_of_[before[column]];
      column = before[column];
    }
    row_of_[column] = new_row;
  }

  const Matrix& costs_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<std::size_t> row_of_;
};

}  // namespace

std::vector<std::optional<std::size_t>> best_assignment(const Matrix& gains) {
  const bool turned = gains.rows > gains.columns;
  Matrix costs(turned ? gains.columns : gains.rows, turned ? gains.rows : gains.columns);
  for (std::size_t row = 0; row < gains.rows; ++row)
    for (std::size_t column = 0; column < gains.columns; ++column)
      (turned ? costs.at(column, row) : costs.at(row, column)) = -gains.at(row, column);
  const std::vector<std::size_t> row_of = Solver(costs).solve();
  std::vector<std::optional<std::size_t>> result(gains.rows);
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    if (row_of[i] == kNone) continue;
    if (turned)
      result[i] = row_of[i];
    else
      result[row_of[i]] = i;
  }
  return result;
}

}  // namespace sam3::eval
