#include "mask/point_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "mask/test_masks.h"
#include "support/safetensors.h"

namespace sam3::mask {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kPixels = 100;

// Masks of equal logits, one for each value.
std::vector<float> constant_planes(const std::vector<float>& values) {
  std::vector<float> logits;
  for (const float value : values) logits.insert(logits.end(), kPixels, value);
  return logits;
}

// `sure` logits of 1, then `unsure` of 0, the rest -1.
std::vector<float> first_plane(std::size_t sure, std::size_t unsure) {
  std::vector<float> logits = constant_planes({-1, 1, 1, 1});
  std::fill_n(logits.begin(), sure + unsure, 0.0F);
  std::fill_n(logits.begin(), sure, 1.0F);
  return logits;
}

int choose(const std::vector<float>& logits, const std::vector<float>& ious, ChoiceRule rule) {
  return choose_mask(logits, ious, rule).token;
}

TEST(ChoiceRuleTest, OnlyOnePositiveClickAloneAsksForTheBest) {
  const auto rule = [](const std::vector<std::int64_t>& labels) { return choice_rule(labels); };
  EXPECT_EQ(rule({1}), ChoiceRule::kBestIou);
  EXPECT_EQ(rule({1, -1}), ChoiceRule::kBestIou);
  EXPECT_EQ(rule({0}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({1, 1}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({1, 0}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({2, 3}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({2, 3, 1}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({-1}), ChoiceRule::kStableFirst);
  EXPECT_EQ(rule({}), ChoiceRule::kStableFirst);
}

TEST(StabilityTest, CountsOnBothSidesOfTheOffset) {
  EXPECT_EQ(stability(std::vector<float>{0.06F, 0.05F, 0, -0.04F, -0.05F, -1}), 0.25);
  EXPECT_EQ(stability(std::vector<float>{1, 2, 3}), 1);
  EXPECT_EQ(stability(std::vector<float>{0}), 0);
  EXPECT_EQ(stability(std::vector<float>{-1, -2}), 1);
  EXPECT_EQ(stability(std::vector<float>{}), 1);
  EXPECT_EQ(stability(std::vector<float>{kNan, 1, kNan, 0}), 0.5);
}

TEST(ChooseMaskTest, OneClickTakesTheBestOfTheOthersEvenIfTokenZeroIsBetter) {
  const std::vector<float> logits = constant_planes({1, 1, 1, 1});
  const PointChoice choice =
      choose_mask(logits, std::vector<float>{0.99F, 0.2F, 0.8F, 0.5F}, ChoiceRule::kBestIou);
  EXPECT_EQ(choice.token, 2);
  EXPECT_EQ(choice.iou, 0.8F);
  EXPECT_EQ(choice.stability, 1);
}

TEST(ChooseMaskTest, StableTokenZeroWinsAgainstBetterIous) {
  const PointChoice choice = choose_mask(
      first_plane(49, 1), std::vector<float>{0.1F, 0.2F, 0.8F, 0.5F}, ChoiceRule::kStableFirst);
  EXPECT_EQ(choice.token, 0);
  EXPECT_EQ(choice.iou, 0.1F);
  EXPECT_EQ(choice.stability, 0.98);
}

TEST(ChooseMaskTest, UnstableTokenZeroLosesEvenWithTheBestIou) {
  const PointChoice choice = choose_mask(
      first_plane(48, 1), std::vector<float>{0.9F, 0.2F, 0.3F, 0.5F}, ChoiceRule::kStableFirst);
  EXPECT_EQ(choice.token, 3);
  EXPECT_EQ(choice.iou, 0.5F);
  EXPECT_LT(choice.stability, 0.98);
}

TEST(ChooseMaskTest, EmptyTokenZeroIsStable) {
  const PointChoice choice =
      choose_mask(constant_planes({-1, 1, 1, 1}), std::vector<float>{0.1F, 0.2F, 0.3F, 0.5F},
                  ChoiceRule::kStableFirst);
  EXPECT_EQ(choice.token, 0);
  EXPECT_EQ(choice.stability, 1);
}

TEST(ChooseMaskTest, FirstOfEqualIous) {
  const std::vector<float> logits = constant_planes({0, 1, 1, 1});
  EXPECT_EQ(choose(logits, {0.9F, 0.5F, 0.5F, 0.5F}, ChoiceRule::kBestIou), 1);
  EXPECT_EQ(choose(logits, {0.9F, 0.1F, 0.5F, 0.5F}, ChoiceRule::kStableFirst), 2);
}

TEST(ChooseMaskTest, IousThatAreNotNumbersLose) {
  const std::vector<float> logits = constant_planes({0, 1, 1, 1});
  EXPECT_EQ(choose(logits, {0.9F, kNan, 0.0F, -0.5F}, ChoiceRule::kBestIou), 2);
  EXPECT_EQ(choose(logits, {0.9F, 0.2F, kNan, 0.5F}, ChoiceRule::kBestIou), 3);
  EXPECT_EQ(choose(logits, {0.9F, kNan, kNan, kNan}, ChoiceRule::kBestIou), 1);
}

TEST(ChooseMaskTest, AnyNumberOfTokens) {
  EXPECT_EQ(choose(constant_planes({0}), {0.3F}, ChoiceRule::kBestIou), 0);
  EXPECT_EQ(choose(constant_planes({0, 1}), {0.3F, 0.1F}, ChoiceRule::kBestIou), 1);
  EXPECT_EQ(choose(constant_planes({0, 1, 1, 1, 1, 1}), {0.3F, 0.1F, 0.2F, 0.2F, 0.1F, 0.4F},
                   ChoiceRule::kStableFirst),
            5);
}

TEST(ChooseMaskTest, ChoosesAsTheReference) {
  const test::Safetensors file(test::data_path("reference_masks.safetensors"));
  const auto info = nlohmann::json::parse(file.metadata().at("info"));
  int prompts = 0;
  for (const auto& prompt : info.at("points")) {
    const std::string name = prompt.at("name");
    const auto ious = file[name + ".ious"].values<float>();
    // The masks of the other tokens play no part.
    std::vector<float> logits = file[name + ".token_0"].values<float>();
    logits.resize(logits.size() * ious.size());
    // The five-graph family has no mask input; the reference counts one as more than a click.
    const ChoiceRule rule = prompt.at("mask_input").get<bool>()
                                ? ChoiceRule::kStableFirst
                                : choice_rule(prompt.at("labels").get<std::vector<std::int64_t>>());
    const PointChoice choice = choose_mask(logits, ious, rule);
    EXPECT_EQ(choice.token, prompt.at("token").get<int>()) << name;
    EXPECT_EQ(choice.iou, prompt.at("iou").get<float>()) << name;
    EXPECT_DOUBLE_EQ(choice.stability, prompt.at("stability").get<double>()) << name;
    ++prompts;
  }
  EXPECT_EQ(prompts, 11);
}

}  // namespace
}  // namespace sam3::mask
