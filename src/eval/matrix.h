// A table of numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace sam3::eval {

// `rows` times `columns` numbers, row by row, zero at first. Where it holds overlaps, rows are
// detections and columns are truths.
struct Matrix {
  Matrix() = default;
  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}

  double& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

}  // namespace sam3::eval
