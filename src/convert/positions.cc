// Sine encodings of positions, and boxes. Source of the arithmetic: Sam3SinePositionEmbedding.
#include <cmath>
#include <limits>
#include <numbers>

#include "convert/graphs.h"

namespace sam3::convert {

namespace {

constexpr double kTemperature = 10000;
constexpr double kEpsilon = 1e-6;

// What a position is divided by, for feature j of `features`.
float divisor(Size j, Size features) {
  return static_cast<float>(
      std::pow(kTemperature, static_cast<double>(2 * (j / 2)) / static_cast<double>(features)));
}

// Row i of [side, features]: the encoding of position i of a side.
std::vector<float> side_encoding(Size side, Size features) {
  std::vector<float> table;
  for (Size i = 0; i < side; ++i) {
    const auto position = static_cast<float>(
        static_cast<double>(i + 1) / (static_cast<double>(side) + kEpsilon) * 2 * std::numbers::pi);
    for (Size j = 0; j < features; ++j) {
      const auto angle = static_cast<double>(position / divisor(j, features));
      table.push_back(static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
  return table;
}

}  // namespace

Value build_position_encoding(Builder& b, Size width, Size side) {
  const Builder::Scope scope(b, "position_encoding");
  const Size features = width / 2;
  const std::vector<float> table = side_encoding(side, features);
  const Value sides = b.ints({1, side, side, features});
  const Value y = b.node("Expand", {b.floats({1, side, 1, features}, table), sides});
  const Value x = b.node("Expand", {b.floats({1, 1, side, features}, table), sides});
  return b.reshape(b.concat({y, x}, 3), {1, side * side, 2 * features});
}

Value build_position_map(Builder& b, Size width, Size side) {
  return b.reshape(b.transpose(build_position_encoding(b, width, side), {0, 2, 1}),
                   {1, width, side, side});
}

Value build_sine_encoding(Builder& b, const Value& x, Size features) {
  // Pairs of features share a divisor: sine and cosine of the same angle.
  std::vector<float> divisors;
  for (Size j = 0; j < features; j += 2) divisors.push_back(divisor(j, features));
  const auto pairs = static_cast<Size>(divisors.size());
  const Value turned = b.unsqueeze(b.scale(x, 2 * std::numbers::pi), -1);
  const Value angles = b.node("Div", {turned, b.floats({pairs}, divisors)});
  const Value both = b.concat(
      {b.unsqueeze(b.node("Sin", {angles}), -1), b.unsqueeze(b.node("Cos", {angles}), -1)}, -1);
  return b.reshape(both, {0, 0, 2 * pairs});
}

Value build_corners(Builder& b, const Value& boxes) {
  const std::vector<Value> parts =
      b.nodes("Split", {boxes, b.ints({2, 2})}, 2, {{"axis", std::int64_t{-1}}});
  const Value half = b.scale(parts[1], 0.5);
  return b.concat({b.node("Sub", {parts[0], half}), b.add(parts[0], half)}, -1);
}

Value build_attention_bias(Builder& b, const Value& valid) {
  const Value wide = b.unsqueeze(b.unsqueeze(valid, 1), 1);
  return b.node("Where", {wide, b.scalar(0), b.scalar(std::numeric_limits<float>::lowest())});
}

}  // namespace sam3::convert
