#include "eval/matching.h"

#include <gtest/gtest.h>

#include "cases.h"
#include "eval/coco_overlaps.h"
#include "eval/evaluation.h"
#include "mask/rle.h"

namespace sam3::eval {
namespace {

Mask filled(Size size, const Box& box) {
  Mask mask(size);
  for (int y = static_cast<int>(box.y0); y < static_cast<int>(box.y1); ++y)
    for (int x = static_cast<int>(box.x0); x < static_cast<int>(box.x1); ++x) mask.set(x, y);
  return mask;
}

Instance boxed(const Box& box, double score = 1, int category = 0) {
  return {box, nullptr, score, category};
}

constexpr MatchOptions kBoxesOnly{0.5, 0, Assignment::kOptimal};

TEST(BoxIou, IsCommonOverUnited) {
  EXPECT_DOUBLE_EQ(box_iou({0, 0, 10, 10}, {5, 0, 15, 10}), 50.0 / 150);
  EXPECT_DOUBLE_EQ(box_iou({0, 0, 10, 10}, {0, 0, 10, 10}), 1);
  EXPECT_EQ(box_iou({0, 0, 10, 10}, {10, 0, 20, 10}), 0);
  EXPECT_EQ(box_iou({3, 3, 3, 3}, {3, 3, 3, 3}), 0);
}

TEST(Matching, NeedsBoxAndMask) {
  const Size size{20, 10};
  const Mask left = filled(size, {0, 0, 10, 10});
  const Mask upper = filled(size, {0, 0, 10, 4});
  const std::vector<Instance> truths{{{0, 0, 10, 10}, &left}};
  const std::vector<Instance> same{{{0, 0, 10, 9}, &left}};
  const Matching right = match_instances(same, truths);
  ASSERT_EQ(right.matches.size(), 1U);
  EXPECT_DOUBLE_EQ(right.matches[0].box_iou, 0.9);
  EXPECT_DOUBLE_EQ(right.matches[0].mask_iou, 1);
  EXPECT_DOUBLE_EQ(right.counts.mean_box_iou(), 0.9);
  EXPECT_EQ(right.counts.f1(), 1);
  const std::vector<Instance> other_mask{{{0, 0, 10, 10}, &upper}};
  EXPECT_TRUE(match_instances(other_mask, truths).matches.empty());
  const std::vector<Instance> other_box{{{0, 0, 10, 4}, &left}};
  EXPECT_TRUE(match_instances(other_box, truths).matches.empty());
  const std::vector<Instance> no_mask{{{0, 0, 10, 10}, nullptr}};
  EXPECT_TRUE(match_instances(no_mask, truths).matches.empty());
  EXPECT_EQ(match_instances(no_mask, truths, kBoxesOnly).matches.size(), 1U);
}

TEST(Matching, IsOneToOneWithinACategory) {
  const std::vector<Instance> truths{boxed({0, 0, 10, 10}, 1, 1), boxed({0, 0, 10, 10}, 1, 2)};
  const std::vector<Instance> found{boxed({0, 0, 10, 10}, 0.9, 2), boxed({0, 0, 10, 10}, 0.8, 2),
                                    boxed({0, 0, 10, 10}, 0.7, 3)};
  for (const Assignment assignment : {Assignment::kOptimal, Assignment::kGreedy}) {
    MatchOptions options = kBoxesOnly;
    options.assignment = assignment;
    const Matching matching = match_instances(found, truths, options);
    ASSERT_EQ(matching.matches.size(), 1U);
    EXPECT_EQ(matching.matches[0].truth, 1U);
    EXPECT_DOUBLE_EQ(matching.counts.precision(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(matching.counts.recall(), 1.0 / 2);
    EXPECT_DOUBLE_EQ(matching.counts.f1(), 2.0 / 5);
  }
}

// The better detection lies between both truths; if it takes the nearer one, the other detection
// has none left.
TEST(Matching, OptimalFindsMoreThanGreedy) {
  const std::vector<Instance> truths{boxed({0, 0, 10, 10}), boxed({4, 0, 14, 10})};
  const std::vector<Instance> found{boxed({1, 0, 11, 10}, 0.9), boxed({-2, 0, 8, 10}, 0.8)};
  MatchOptions options = kBoxesOnly;
  EXPECT_EQ(match_instances(found, truths, options).matches.size(), 2U);
  options.assignment = Assignment::kGreedy;
  EXPECT_EQ(match_instances(found, truths, options).matches.size(), 1U);
}

TEST(Matching, GreedyGoesByScore) {
  const std::vector<Instance> truths{boxed({0, 0, 10, 10})};
  const std::vector<Instance> found{boxed({0, 0, 10, 10}, 0.6), boxed({0, 0, 10, 8}, 0.7)};
  MatchOptions options = kBoxesOnly;
  options.assignment = Assignment::kGreedy;
  EXPECT_EQ(match_instances(found, truths, options).matches.at(0).detection, 1U);
  EXPECT_EQ(match_instances(found, truths, kBoxesOnly).matches.at(0).detection, 0U);
}

TEST(Matching, OfNothingIsRight) {
  const Matching matching = match_instances({}, {});
  EXPECT_EQ(matching.counts.f1(), 1);
  EXPECT_EQ(matching.counts.precision(), 1);
  EXPECT_EQ(matching.counts.recall(), 1);
  const std::vector<Instance> one{boxed({0, 0, 1, 1})};
  EXPECT_EQ(match_instances(one, {}).counts.f1(), 0);
  EXPECT_EQ(match_instances({}, one).counts.f1(), 0);
}

class MatchingCase : public testing::TestWithParam<std::string> {};

TEST_P(MatchingCase, IsThatOfTheReference) {
  const test::EvalCase golden = test::eval_case(GetParam());
  const CocoTruth truth = test::truth_of(golden);
  const CocoResults results = test::results_of(golden, truth);
  const auto& expected = golden.expected.at("matching");
  const Evaluation optimal = evaluate(truth, results);
  EvaluationOptions options;
  options.matching.assignment = Assignment::kGreedy;
  const Evaluation greedy = evaluate(truth, results, options);
  ASSERT_EQ(expected.size(), optimal.prompts.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(optimal.prompts[i].name);
    const MatchCounts& counts = optimal.prompts[i].counts;
    EXPECT_EQ(counts.detections, expected[i]["detections"]);
    EXPECT_EQ(counts.truths, expected[i]["objects"]);
    EXPECT_EQ(counts.matches, expected[i]["matches"]);
    EXPECT_NEAR(counts.box_iou_sum, expected[i]["box_iou"].get<double>(), 1e-9);
    EXPECT_NEAR(counts.mask_iou_sum, expected[i]["mask_iou"].get<double>(), 1e-9);
    EXPECT_EQ(greedy.prompts[i].counts.matches, expected[i]["greedy"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MatchingCase, testing::ValuesIn(test::eval_cases_with("matching")),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace sam3::eval
