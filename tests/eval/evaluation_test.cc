#include "eval/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases.h"

namespace sam3::eval {
namespace {

using testing::HasSubstr;

Evaluation evaluation_of(const std::string& name) {
  const test::EvalCase golden = test::eval_case(name);
  const CocoTruth truth = test::truth_of(golden);
  return evaluate(truth, test::results_of(golden, truth));
}

TEST(Evaluation, AsksEveryCategoryOfEveryPicture) {
  const Evaluation evaluation = evaluation_of("random_1");
  EXPECT_EQ(evaluation.images, 5U);
  EXPECT_EQ(evaluation.prompts.size(), 3U);
  EXPECT_EQ(evaluation.queries, 15U);
  EXPECT_EQ(evaluation.presence.present + evaluation.presence.absent, 15);
  EXPECT_EQ(evaluation.presence.false_present, evaluation.sa_co.false_present);
  EXPECT_EQ(evaluation.presence.false_absent, evaluation.sa_co.false_absent);
  MatchCounts counts;
  for (const PromptScores& prompt : evaluation.prompts) counts += prompt.counts;
  EXPECT_EQ(counts.matches, evaluation.counts.matches);
}

TEST(Evaluation, AsksAPhraseOfItsPicture) {
  const Evaluation evaluation = evaluation_of("phrases");
  EXPECT_EQ(evaluation.images, 10U);
  EXPECT_EQ(evaluation.queries, 9U);  // one is not exhaustive
  ASSERT_EQ(evaluation.prompts.size(), 2U);
  EXPECT_EQ(evaluation.prompts[0].name, "thing 0");
  EXPECT_FALSE(evaluation.prompts[0].mask_ap);
  // The truth's boxes, which its file has as parts of the picture, are pixels.
  EXPECT_GT(evaluation.counts.matches, 0);
  EXPECT_GT(evaluation.counts.mean_box_iou(), 0.5);
}

TEST(Evaluation, WithoutMasksComparesBoxes) {
  const Evaluation evaluation = evaluation_of("boxes_only");
  EXPECT_FALSE(evaluation.has_masks);
  EXPECT_FALSE(evaluation.mask);
  EXPECT_GT(evaluation.counts.matches, 0);
  const auto document = evaluation_json(evaluation);
  EXPECT_TRUE(document["mask"].is_null());
  EXPECT_TRUE(document["matching"]["mask_iou"].is_null());
  EXPECT_EQ(document["sa_co"]["iou"], "box");
}

TEST(Evaluation, IsWrittenAsJson) {
  const Evaluation evaluation = evaluation_of("random_1");
  const auto document = evaluation_json(evaluation);
  EXPECT_EQ(document["box"]["AP"], evaluation.box[0]);
  EXPECT_EQ(document["mask"]["AR_large"], (*evaluation.mask)[11]);
  EXPECT_EQ(document["sa_co"]["cgF1"], evaluation.sa_co.mean.cgf1);
  EXPECT_EQ(document["sa_co"]["at_75"]["pmF1"], evaluation.sa_co.at_75.positive_micro_f1);
  ASSERT_EQ(document["prompts"].size(), 3U);
  EXPECT_EQ(document["prompts"][2]["prompt"], "thing 2");
  EXPECT_EQ(document["prompts"][2]["F1"], evaluation.prompts[2].counts.f1());
}

// What was to be found nowhere has no precision.
TEST(Evaluation, WritesWhatIsUnknownAsNull) {
  const CocoTruth truth =
      parse_coco_truth(
          R"({"images": [{"id": 1}], "categories": [{"id": 1, "name": "a\u001b[2Jb"}],
              "annotations": []})")
          .value();
  const Evaluation evaluation = evaluate(truth, {});
  const auto document = evaluation_json(evaluation);
  EXPECT_TRUE(document["box"]["AP"].is_null());
  EXPECT_TRUE(document["prompts"][0]["AP_box"].is_null());
  EXPECT_TRUE(document["sa_co"]["positive_macro_F1"].is_null());
  const std::string table = evaluation_table(evaluation);
  EXPECT_THAT(table, HasSubstr("a?[2Jb"));
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST(Evaluation, IsATable) {
  const std::string table = evaluation_table(evaluation_of("random_1"));
  for (const char* part : {"5 pictures, 3 prompts", "AP50", "masks", "cgF1", "IL_MCC", "thing 2"})
    EXPECT_THAT(table, HasSubstr(part));
}

}  // namespace
}  // namespace sam3::eval
