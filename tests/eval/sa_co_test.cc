#include "eval/sa_co.h"

#include <gtest/gtest.h>

#include "cases.h"
#include "eval/evaluation.h"

namespace sam3::eval {
namespace {

void expect_measures(const SaCoMeasures& measures, const nlohmann::json& expected,
                     const std::string& suffix) {
  const auto expect = [&](double value, const std::string& name) {
    EXPECT_NEAR(value, expected.at(name + suffix).get<double>(), 1e-9) << name << suffix;
  };
  expect(measures.cgf1, "cgF1");
  expect(measures.positive_micro_f1, "positive_micro_F1");
  expect(measures.positive_micro_precision, "positive_micro_precision");
  expect(measures.positive_macro_f1, "positive_macro_F1");
  expect(measures.precision, "precision");
  expect(measures.recall, "recall");
  expect(measures.f1, "F1");
}

void expect_scores(const SaCoScores& scores, const nlohmann::json& expected) {
  expect_measures(scores.mean, expected, "");
  expect_measures(scores.at_50, expected, "@0.5");
  expect_measures(scores.at_75, expected, "@0.75");
  EXPECT_NEAR(scores.il_mcc, expected.at("IL_MCC").get<double>(), 1e-9);
  EXPECT_NEAR(scores.il_precision, expected.at("IL_precision").get<double>(), 1e-9);
  EXPECT_NEAR(scores.il_recall, expected.at("IL_recall").get<double>(), 1e-9);
  EXPECT_NEAR(scores.il_f1, expected.at("IL_F1").get<double>(), 1e-9);
  EXPECT_NEAR(scores.il_fpr, expected.at("IL_FPR").get<double>(), 1e-9);
}

class SaCo : public testing::TestWithParam<std::string> {};

TEST_P(SaCo, IsThatOfTheReference) {
  const test::EvalCase golden = test::eval_case(GetParam());
  const CocoTruth truth = test::truth_of(golden);
  CocoResults results = test::results_of(golden, truth);
  for (const bool masks : {true, false}) {
    const char* kind = masks ? "segm" : "bbox";
    if (!golden.expected.contains(kind)) continue;
    SCOPED_TRACE(kind);
    results.has_masks = masks;  // also results of boxes have masks here: the boxes
    expect_scores(evaluate(truth, results).sa_co, golden.expected[kind].at("sa_co"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SaCo, testing::ValuesIn(test::eval_case_names()),
                         [](const auto& golden) { return golden.param; });

TEST(SaCoScores, CountPresence) {
  const SaCoOutcome seen{2, 1, {}};
  const SaCoOutcome missed{1, 0, {}};
  const SaCoOutcome invented{0, 3, {}};
  const SaCoScores scores = sa_co_scores(std::vector{seen, seen, missed, invented}, 4);
  EXPECT_EQ(scores.true_present, 2);
  EXPECT_EQ(scores.false_absent, 1);
  EXPECT_EQ(scores.false_present, 1);
  EXPECT_EQ(scores.true_absent, 4);
  EXPECT_NEAR(scores.il_mcc, (2 * 4 - 1 * 1) / std::sqrt(3 * 3 * 5 * 5), 1e-6);
}

TEST(SaCoScores, OfNothingAreNumbers) {
  const SaCoScores scores = sa_co_scores({});
  EXPECT_EQ(scores.mean.cgf1, 0);
  EXPECT_EQ(scores.il_mcc, 0);
  EXPECT_EQ(scores.mean.positive_macro_f1, -1);
}

}  // namespace
}  // namespace sam3::eval
