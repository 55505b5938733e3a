#include "mask/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "mask/test_masks.h"

namespace sam3::mask {
namespace {

constexpr Size kSize{100, 50};

// Candidates that own their masks.
class Scene {
 public:
  void add(std::string_view name, double score, const Mask& mask) {
    masks_.push_back(mask);
    candidates_.push_back({name, score, mask.tight_box(), &masks_.back()});
  }
  void add(std::string_view name, double score, int x0, int x1) {
    add(name, score, test::rectangle(kSize, x0, 10, x1, 20));
  }
  std::vector<MergeCandidate>& candidates() { return candidates_; }

  std::vector<MergeOutcome> merge(double overlap) const {
    return merge_across_classes(candidates_, overlap);
  }
  // Indices of what stays.
  std::vector<std::size_t> kept(double overlap) const {
    std::vector<std::size_t> result;
    const std::vector<MergeOutcome> outcomes = merge(overlap);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      if (!outcomes[i].into) result.push_back(i);
    return result;
  }

 private:
  std::deque<Mask> masks_;  // addresses stay
  std::vector<MergeCandidate> candidates_;
};

using Indices = std::vector<std::size_t>;

TEST(MergeTest, NothingToMerge) { EXPECT_TRUE(merge_across_classes({}, 0.5).empty()); }

TEST(MergeTest, KeepsTheHigherScoreAndTellsWhere) {
  Scene scene;
  scene.add("black box", 0.7, 0, 40);
  scene.add("black square", 0.9, 0, 50);
  scene.add("disc", 0.8, 60, 90);
  const auto outcomes = scene.merge(0.5);
  EXPECT_EQ(outcomes[0].into, 1U);
  EXPECT_DOUBLE_EQ(outcomes[0].iou, 0.8);
  EXPECT_FALSE(outcomes[1].into);
  EXPECT_FALSE(outcomes[2].into);
}

TEST(MergeTest, OverlapMayBeEqual) {
  Scene scene;
  scene.add("a", 0.9, 0, 30);
  scene.add("b", 0.8, 0, 15);
  EXPECT_EQ(scene.kept(0.5), Indices{0});
  EXPECT_EQ(scene.kept(0.51), (Indices{0, 1}));
}

TEST(MergeTest, SameClassStays) {
  Scene scene;
  scene.add("a", 0.9, 0, 30);
  scene.add("a", 0.8, 0, 30);
  EXPECT_EQ(scene.kept(0.5), (Indices{0, 1}));
}

TEST(MergeTest, NotOnlyNeighboursInTheList) {
  Scene scene;
  scene.add("a", 0.6, 0, 30);
  scene.add("b", 0.9, 50, 60);
  scene.add("c", 0.8, 70, 80);
  scene.add("d", 0.7, 0, 30);
  EXPECT_EQ(scene.kept(0.5), (Indices{1, 2, 3}));
}

TEST(MergeTest, SmallThingOnALargeOneStays) {
  Scene scene;
  scene.add("table", 0.9, 0, 100);
  scene.add("cup", 0.8, 20, 30);
  EXPECT_EQ(scene.kept(0.5), (Indices{0, 1}));
}

TEST(MergeTest, OnlyKeptOnesSuppress) {
  // b merges into a and so does not take c away.
  Scene scene;
  scene.add("a", 0.9, 0, 30);
  scene.add("b", 0.8, 10, 40);
  scene.add("c", 0.7, 20, 50);
  EXPECT_EQ(scene.kept(0.5), (Indices{0, 2}));
}

TEST(MergeTest, IntoTheLargestOverlap) {
  Scene scene;
  scene.add("a", 0.9, 0, 20);
  scene.add("b", 0.8, 10, 40);
  scene.add("c", 0.7, 10, 39);
  EXPECT_EQ(scene.merge(0.2)[2].into, 0U);  // b is gone: its IoU with a is 0.25
  EXPECT_EQ(scene.merge(0.3)[2].into, 1U);
  EXPECT_EQ(scene.merge(0.26)[2].into, 1U);
}

TEST(MergeTest, OverlapZeroLeavesSeparateMasks) {
  Scene scene;
  scene.add("a", 0.9, 0, 30);
  scene.add("b", 0.8, 30, 60);
  scene.add("c", 0.7, 59, 70);
  scene.add("d", 0.6, Mask(kSize));
  EXPECT_EQ(scene.kept(0), (Indices{0, 1, 3}));
}

TEST(MergeTest, OverlapOneKeepsAll) {
  Scene scene;
  scene.add("a", 0.9, 0, 30);
  scene.add("b", 0.8, 0, 30);
  EXPECT_EQ(scene.kept(1), (Indices{0, 1}));
  EXPECT_EQ(scene.kept(0.999), Indices{0});
}

TEST(MergeTest, EqualScoresGoByClassName) {
  Scene scene;
  scene.add("b", 0.9, 0, 30);
  scene.add("a", 0.9, 0, 30);
  EXPECT_EQ(scene.kept(0.5), Indices{1});
}

TEST(MergeTest, EqualScoresAndNamesGoByBox) {
  // Both "a" overlap b equally; the one that starts further left takes it.
  Scene scene;
  scene.add("b", 0.9, 10, 40);
  scene.add("a", 0.9, 20, 50);
  scene.add("a", 0.9, 0, 30);
  EXPECT_EQ(scene.merge(0.4)[0].into, 2U);
}

TEST(MergeTest, ScoreThatIsNotANumberComesLast) {
  Scene scene;
  scene.add("a", std::numeric_limits<double>::quiet_NaN(), 0, 30);
  scene.add("b", 0.1, 0, 30);
  EXPECT_EQ(scene.kept(0.5), Indices{1});
}

TEST(MergeTest, AnyOrderGivesTheSameResult) {
  std::mt19937 random(8);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const char* const names[] = {"a", "b", "c", "d"};
  int merged = 0;
  for (int round = 0; round < 50; ++round) {
    Scene scene;
    for (int i = 0; i < 12; ++i) {
      const int x0 = pick(0, 50);
      scene.add(names[pick(0, 3)], 0.1 * pick(5, 7), x0, x0 + pick(20, 45));
    }
    // What stays and what each other merged into, by score, name and box instead of by index.
    const auto describe = [&] {
      const auto name_of = [&](std::size_t i) {
        const MergeCandidate& c = scene.candidates()[i];
        return std::to_string(c.score) + std::string(c.class_name) + std::to_string(c.box.x0) +
               "-" + std::to_string(c.box.x1);
      };
      std::multiset<std::string> text;
      const auto outcomes = scene.merge(0.4);
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        merged += outcomes[i].into.has_value();
        text.insert(name_of(i) + (outcomes[i].into ? " > " + name_of(*outcomes[i].into) : ""));
      }
      return text;
    };
    const auto expected = describe();
    for (int i = 0; i < 10; ++i) {
      std::shuffle(scene.candidates().begin(), scene.candidates().end(), random);
      ASSERT_EQ(describe(), expected);
    }
  }
  EXPECT_GT(merged, 500);
}

}  // namespace
}  // namespace sam3::mask
