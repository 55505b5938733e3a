#include "sam3/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/macros.h"

namespace sam3 {
namespace {

const Error kBad{ErrorCode::kBadData, "it is bad", "a.png", "detector"};

Result<int> half(int value) {
  if (value % 2 != 0) return kBad;
  return value / 2;
}

Result<int> quarter(int value) {
  SAM3_ASSIGN_OR_RETURN(const int first, half(value));
  SAM3_ASSIGN_OR_RETURN(const int second, half(first));
  return second;
}

Status must_be_even(int value) {
  SAM3_ASSIGN_OR_RETURN([[maybe_unused]] const int unused, half(value));
  return {};
}

TEST(Result, CarriesValuesAndErrors) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_FALSE(quarter(6).ok());
  EXPECT_EQ(quarter(6).error().code, ErrorCode::kBadData);
  EXPECT_TRUE(must_be_even(2).ok());
  EXPECT_FALSE(must_be_even(3).ok());
}

TEST(Result, ErrorNamesFileAndGraph) {
  EXPECT_EQ(kBad.to_string(), "a.png: detector: it is bad");
  EXPECT_EQ((Error{ErrorCode::kRuntime, "broken", "", ""}).to_string(), "broken");
}

TEST(Result, ValueThrowsOnlyOnError) {
  EXPECT_NO_THROW(half(2).value());
  EXPECT_NO_THROW(Status().value());
  EXPECT_THROW(half(3).value(), BadResult);
  EXPECT_THROW(Status(kBad).value(), BadResult);
  try {
    Status(kBad).value();
  } catch (const BadResult& bad) {
    EXPECT_EQ(bad.error().graph, "detector");
  }
}

TEST(Result, HoldsTypesThatOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace sam3
