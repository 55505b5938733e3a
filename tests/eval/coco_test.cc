#include "eval/coco.h"

#include <gtest/gtest.h>

#include "cases.h"

namespace sam3::eval {
namespace {

class AveragePrecision : public testing::TestWithParam<std::string> {};

void expect_numbers(const CocoNumbers& numbers, const nlohmann::json& expected) {
  ASSERT_EQ(expected.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_NEAR(numbers[i], expected[i].get<double>(), 1e-9) << kCocoMeasures[i];
}

TEST_P(AveragePrecision, IsThatOfPycocotools) {
  const test::EvalCase golden = test::eval_case(GetParam());
  const CocoTruth truth = test::truth_of(golden);
  const CocoResults results = test::results_of(golden, truth);
  ThreadPool pool(2);
  for (const auto& [name, kind] :
       {std::pair{"bbox", IouKind::kBox}, std::pair{"segm", IouKind::kMask}}) {
    SCOPED_TRACE(name);
    if (!golden.expected.contains(name)) continue;
    const auto& expected = golden.expected[name];
    const CocoScores scores = coco_scores(truth, results, kind, pool.runner());
    expect_numbers(scores.numbers, expected["all"]);
    ASSERT_EQ(scores.categories.size(), expected["categories"].size());
    for (std::size_t i = 0; i < scores.categories.size(); ++i) {
      SCOPED_TRACE(truth.categories[i].name);
      expect_numbers(scores.categories[i], expected["categories"][i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AveragePrecision, testing::ValuesIn(test::eval_case_names()),
                         [](const auto& golden) { return golden.param; });

TEST(CocoScores, HaveNoNumbersWhereNothingIsToBeFound) {
  const CocoTruth truth =
      parse_coco_truth(R"({"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": []})")
          .value();
  const CocoScores scores = coco_scores(truth, {}, IouKind::kBox);
  for (const double number : scores.numbers) EXPECT_EQ(number, -1);
}

}  // namespace
}  // namespace sam3::eval
