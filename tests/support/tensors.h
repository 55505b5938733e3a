// Comparing a run's tensors with reference values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "support/safetensors.h"

namespace sam3::test {

inline runtime::Tensor to_tensor(const Tensor& reference) {
  if (reference.dtype == "F32") return {reference.shape, reference.values<float>()};
  if (reference.dtype == "I64") return {reference.shape, reference.values<std::int64_t>()};
  return {reference.shape, reference.values<std::uint8_t>()};
}

// |value - reference| <= tolerance * max(1, largest |reference|) for every element.
inline testing::AssertionResult is_close(const runtime::Tensor& tensor, const Tensor& reference,
                                         double tolerance) {
  if (tensor.dims() != reference.shape) return testing::AssertionFailure() << "shapes differ";
  const std::vector<float> expected = reference.values<float>();
  double scale = 1;
  for (const float value : expected) scale = std::max(scale, std::fabs(static_cast<double>(value)));
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(tensor.floats()[i]) - static_cast<double>(expected[i]));
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  if (worst <= tolerance * scale) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "largest difference " << worst << ", largest value " << scale;
}

}  // namespace sam3::test
