#include "eval/evaluation.h"

#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace sam3::eval {
namespace {

// One picture asked for one prompt, where there is something to find or something was found.
struct Query {
  std::size_t prompt = 0;
  std::vector<const CocoDetection*> detections;
  std::vector<const CocoAnnotation*> truths;
};

struct Answer {
  SaCoOutcome outcome;
  MatchCounts counts;
};

// The names of all prompts, how many pictures each is asked of, and which prompt an entry of the
// files belongs to.
class Prompts {
 public:
  explicit Prompts(const CocoTruth& truth) : truth_(truth) {
    for (const CocoCategory& category : truth.categories)
      if (!truth.has_phrases) names_.push_back(category.name);
    asked_.resize(names_.size());
    for (const CocoImage& image : truth.images) {
      if (truth.has_phrases) add_phrase(image);
      if (!image.exhaustive) continue;
      ++exhaustive_;
      if (truth.has_phrases) ++asked_[phrases_.at(image.phrase)];
    }
    if (!truth.has_phrases) asked_.assign(names_.size(), static_cast<std::int64_t>(exhaustive_));
  }

  const std::vector<std::string>& names() const { return names_; }
  std::int64_t asked(std::size_t prompt) const { return asked_[prompt]; }
  std::size_t queries() const {
    return truth_.has_phrases ? exhaustive_ : exhaustive_ * names_.size();
  }
  std::size_t of(const CocoImage& image, std::int64_t category) const {
    return truth_.has_phrases ? phrases_.at(image.phrase) : truth_.category_index.at(category);
  }

 private:
  void add_phrase(const CocoImage& image) {
    if (!phrases_.emplace(image.phrase, names_.size()).second) return;
    names_.push_back(image.phrase);
    asked_.push_back(0);
  }

  const CocoTruth& truth_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> asked_;
  std::unordered_map<std::string, std::size_t> phrases_;
  std::size_t exhaustive_ = 0;
};

std::vector<Query> queries_of(const CocoTruth& truth, const CocoResults& results,
                              const Prompts& prompts, double threshold) {
  std::map<std::pair<std::size_t, std::size_t>, Query> queries;  // by picture and prompt
  const auto query = [&](std::int64_t image_id, std::int64_t category) -> Query* {
    const std::size_t at = truth.image_index.at(image_id);
    if (!truth.images[at].exhaustive) return nullptr;
    const std::size_t prompt = prompts.of(truth.images[at], category);
    Query& entry = queries[{at, prompt}];
    entry.prompt = prompt;
    return &entry;
  };
  for (const CocoAnnotation& annotation : truth.annotations) {
    if (annotation.crowd) continue;
    if (Query* entry = query(annotation.image_id, annotation.category_id))
      entry->truths.push_back(&annotation);
  }
  for (const CocoDetection& detection : results.detections) {
    if (detection.score < threshold) continue;
    if (Query* entry = query(detection.image_id, detection.category_id))
      entry->detections.push_back(&detection);
  }
  std::vector<Query> list;
  for (auto& [place, entry] : queries) list.push_back(std::move(entry));
  return list;
}

Answer answer_of(const Query& query, const MatchOptions& matching, bool with_masks) {
  Overlaps overlaps;
  overlaps.box = coco_overlaps(query.detections, query.truths, IouKind::kBox);
  overlaps.mask = with_masks ? coco_overlaps(query.detections, query.truths, IouKind::kMask)
                             : Matrix(query.detections.size(), query.truths.size());
  for (const CocoDetection* detection : query.detections)
    overlaps.scores.push_back(detection->score);
  return {sa_co_outcome(with_masks ? overlaps.mask : overlaps.box),
          match_overlaps(overlaps, matching).counts};
}

void add_presence(const SaCoOutcome& outcome, PresenceCounts& presence) {
  if (outcome.truths > 0) {
    ++presence.present;
    if (outcome.detections == 0) ++presence.false_absent;
  } else {
    ++presence.false_present;
  }
}

std::optional<double> measured(double value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

// The precision of every category; phrases have none.
void add_precision(const CocoTruth& truth, const CocoScores& scores,
                   std::optional<double> PromptScores::*member, Evaluation& evaluation) {
  for (std::size_t i = 0; !truth.has_phrases && i < evaluation.prompts.size(); ++i)
    evaluation.prompts[i].*member = measured(scores.categories[i][0]);
}

}  // namespace

Evaluation evaluate(const CocoTruth& truth, const CocoResults& results,
                    const EvaluationOptions& options, const ParallelFor& run) {
  const Prompts prompts(truth);
  Evaluation evaluation;
  evaluation.options = options;
  evaluation.images = truth.images.size();
  evaluation.queries = prompts.queries();
  evaluation.has_phrases = truth.has_phrases;
  evaluation.has_masks = truth.has_masks && results.has_masks;
  if (!evaluation.has_masks) evaluation.options.matching.mask_iou = 0;
  const std::vector<Query> queries = queries_of(truth, results, prompts, options.threshold);
  std::vector<Answer> answers(queries.size());
  run(static_cast<std::int64_t>(queries.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    answers[at] = answer_of(queries[at], evaluation.options.matching, evaluation.has_masks);
  });

  for (const std::string& name : prompts.names()) {
    evaluation.prompts.emplace_back();
    evaluation.prompts.back().name = name;
  }
  std::vector<SaCoOutcome> outcomes;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    PromptScores& prompt = evaluation.prompts[queries[i].prompt];
    prompt.counts += answers[i].counts;
    evaluation.counts += answers[i].counts;
    add_presence(answers[i].outcome, prompt.presence);
    outcomes.push_back(answers[i].outcome);
  }
  for (std::size_t i = 0; i < evaluation.prompts.size(); ++i) {
    PresenceCounts& presence = evaluation.prompts[i].presence;
    presence.absent = prompts.asked(i) - presence.present;
    evaluation.presence.present += presence.present;
    evaluation.presence.absent += presence.absent;
    evaluation.presence.false_present += presence.false_present;
    evaluation.presence.false_absent += presence.false_absent;
  }
  evaluation.sa_co =
      sa_co_scores(outcomes, static_cast<std::int64_t>(evaluation.queries - queries.size()));

  const CocoScores box = coco_scores(truth, results, IouKind::kBox, run);
  evaluation.box = box.numbers;
  add_precision(truth, box, &PromptScores::box_ap, evaluation);
  if (evaluation.has_masks) {
    const CocoScores mask = coco_scores(truth, results, IouKind::kMask, run);
    evaluation.mask = mask.numbers;
    add_precision(truth, mask, &PromptScores::mask_ap, evaluation);
  }
  return evaluation;
}

}  // namespace sam3::eval
