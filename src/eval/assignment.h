// The best way to pair rows with columns.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "eval/matrix.h"

namespace sam3::eval {

// For each row its column, or nothing; no column stands twice. Of all ways to pair
// min(rows, columns) of them, one with the largest sum of `gains`, which are finite numbers. The
// same input always gives the same answer. Takes time rows * columns * min(rows, columns).
// Source: the assignment problem, solved by shortest augmenting paths (Jonker and Volgenant 1987).
std::vector<std::optional<std::size_t>> best_assignment(const Matrix& gains);

}  // namespace sam3::eval
