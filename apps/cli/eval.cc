// sam3 eval: a model, or results that exist, against ground truth.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "commands.h"
#include "common.h"
#include "detections.h"
#include "eval/evaluation.h"
#include "eval/journal.h"
#include "formats/json.h"
#include "progress.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

struct FailedPicture {
  std::string file;
  std::string error;
};

void note_all(const std::vector<std::string>& warnings, bool quiet) {
  for (const std::string& warning : warnings)
    if (!quiet) note("sam3: " + warning);
}

// The detections of one prompt as COCO results, at most as many as are looked at.
nlohmann::json as_results(const std::vector<Detection>& detections, std::int64_t image_id,
                          std::int64_t category_id, bool with_masks) {
  nlohmann::json results = nlohmann::json::array();
  for (const Detection& detection : detections) {
    if (results.size() == eval::kMostDetections) break;
    const Box& box = detection.box;
    results.push_back({{"image_id", image_id},
                       {"category_id", category_id},
                       {"score", detection.score},
                       {"bbox", {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0}}});
    if (!with_masks) continue;
    const Mask mask = detection.mask();
    results.back()["segmentation"] = {{"size", {mask.height(), mask.width()}},
                                      {"counts", compressed_counts(mask.rle())}};
  }
  return results;
}

// Asks the model about all pictures that the journal does not have.
class Run {
 public:
  Run(const EvalOptions& options, const Model& model, const eval::CocoTruth& truth,
      eval::Journal& journal)
      : options_(options), model_(model), truth_(truth), journal_(journal) {
    for (std::size_t i = 0; i < truth.images.size(); ++i) {
      const std::string& file = truth.images[i].file_name;
      const auto [place, added] = place_.emplace(file, entries_.size());
      if (added) entries_.emplace_back();
      entries_[place->second].push_back(i);
    }
  }

  // An error ends the run; what is wrong with single pictures is in missing() and failed().
  Status go() {
    std::vector<std::vector<std::size_t>> left;
    for (const std::vector<std::size_t>& entries : entries_) {
      const std::string& file = truth_.images[entries.front()].file_name;
      if (finished(entries)) continue;
      std::error_code ignored;
      if (file.empty() || !fs::is_regular_file(fs::path(options_.images) / file, ignored))
        missing_.push_back(file);
      else
        left.push_back(entries);
    }
    for (const std::string& file : missing_)
      note("sam3: missing: " + (fs::path(options_.images) / file).string());
    if (!missing_.empty())
      note("sam3: " + std::to_string(missing_.size()) + " of " + std::to_string(entries_.size()) +
           " pictures of the truth are missing");
    Progress progress(left.size(), !options_.run.quiet);
    for (const std::vector<std::size_t>& entries : left) {
      const std::string& file = truth_.images[entries.front()].file_name;
      auto found = one(entries);
      if (found.ok()) {
        for (std::size_t i = 0; i < entries.size(); ++i)
          if (Status kept = journal_.append(truth_.images[entries[i]], std::move((*found)[i]));
              !kept)
            return kept;
      } else {
        progress.clear();
        note("sam3: " + found.error().to_string());
        failed_.push_back({file, found.error().to_string()});
      }
      progress.advance();
    }
    return {};
  }

  std::size_t files() const { return entries_.size(); }
  const std::vector<std::string>& missing() const { return missing_; }
  const std::vector<FailedPicture>& failed() const { return failed_; }

 private:
  bool finished(const std::vector<std::size_t>& entries) const {
    return std::all_of(entries.begin(), entries.end(),
                       [&](std::size_t i) { return journal_.has(truth_.images[i].id); });
  }

  // The results of all entries about one picture file.
  Result<std::vector<nlohmann::json>> one(const std::vector<std::size_t>& entries) {
    const fs::path path = fs::path(options_.images) / truth_.images[entries.front()].file_name;
    const auto loaded = read_picture(path, read_options(options_.run));
    if (!loaded.ok()) return loaded.error();
    if (!options_.run.quiet) note_warnings(path.string(), *loaded);
    const Size size = loaded->picture.size();
    for (const std::size_t i : entries) {
      const Size stated = truth_.images[i].size;
      if (stated != Size{} && stated != size)
        return Error{ErrorCode::kBadData,
                     "the picture has " + std::to_string(size.width) + "x" +
                         std::to_string(size.height) + " pixels, the truth says " +
                         std::to_string(stated.width) + "x" + std::to_string(stated.height),
                     path.string(), ""};
    }
    const auto features = model_.encode_image(loaded->picture);
    if (!features.ok()) return features.error();
    std::vector<nlohmann::json> results;
    for (const std::size_t i : entries) {
      auto found = ask(*features, truth_.images[i]);
      if (!found.ok()) return found.error();
      results.push_back(std::move(*found));
    }
    return results;
  }

  Result<nlohmann::json> ask(const ImageFeatures& features, const eval::CocoImage& image) const {
    sam3::DetectOptions detect;
    detect.threshold = options_.min_score;
    nlohmann::json all = nlohmann::json::array();
    // With a phrase, the categories have no meaning; the first one stands for all.
    const std::size_t prompts = truth_.has_phrases ? 1 : truth_.categories.size();
    for (std::size_t i = 0; i < prompts; ++i) {
      const eval::CocoCategory& category = truth_.categories[i];
      const auto found =
          model_.detect(features, truth_.has_phrases ? image.phrase : category.name, detect);
      if (!found.ok()) return found.error();
      for (nlohmann::json& result :
           as_results(*found, image.id, category.id, truth_.has_masks && image.size != Size{}))
        all.push_back(std::move(result));
    }
    return all;
  }

  const EvalOptions& options_;
  const Model& model_;
  const eval::CocoTruth& truth_;
  eval::Journal& journal_;
  std::map<std::string, std::size_t> place_;       // of a file in entries_
  std::vector<std::vector<std::size_t>> entries_;  // of the truth, by file
  std::vector<std::string> missing_;
  std::vector<FailedPicture> failed_;
};

eval::Evaluation measure(const EvalOptions& options, const eval::CocoTruth& truth,
                         const eval::CocoResults& results) {
  note_all(results.warnings, options.run.quiet);
  eval::EvaluationOptions evaluation;
  evaluation.threshold = options.threshold;
  ThreadPool pool(thread_count(options.run.threads));
  return eval::evaluate(truth, results, evaluation, pool.runner());
}

int show(const EvalOptions& options, const eval::Evaluation& evaluation,
         const nlohmann::ordered_json& head) {
  if (!options.json) return print(eval::evaluation_table(evaluation));
  nlohmann::ordered_json document = head;
  document.update(eval::evaluation_json(evaluation));
  return print(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

int score_results(const EvalOptions& options, const eval::CocoTruth& truth) {
  const auto results = eval::read_coco_results(options.results, truth);
  if (!results.ok()) return fail(results.error());
  return show(options, measure(options, truth, *results),
              {{"truth", options.truth}, {"results", options.results}});
}

// The categories, or phrases, must be something that can be asked.
Status check_prompts(const Model& model, const eval::CocoTruth& truth, bool quiet) {
  std::vector<std::string> prompts;
  if (truth.has_phrases)
    for (const eval::CocoImage& image : truth.images) prompts.push_back(image.phrase);
  else
    for (const eval::CocoCategory& category : truth.categories) prompts.push_back(category.name);
  const auto checked = checked_prompts(prompts);
  if (!checked.ok()) return checked.error();
  note_all(dropped_text(model, *checked), quiet);
  return {};
}

int run_model(const EvalOptions& options, const eval::CocoTruth& truth) {
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  if (Status good = check_prompts(*model, truth, options.run.quiet); !good)
    return fail(good.error());
  auto journal = eval::Journal::open(options.out, {model->name(), options.min_score}, truth);
  if (!journal.ok()) return fail(journal.error());
  note_all(journal->warnings(), options.run.quiet);
  const std::size_t resumed = journal->finished().size();
  if (resumed > 0 && !options.run.quiet)
    note("sam3: " + options.out + ": goes on after " + std::to_string(resumed) + " of " +
         std::to_string(truth.images.size()));
  if (Status ready = model->prepare(Workflow::kText); !ready) return fail(ready.error());
  Run run(options, *model, truth, *journal);
  if (Status done = run.go(); !done) return fail(done.error());

  if (journal->finished().empty())
    return fail({ErrorCode::kRuntime, "none of the pictures could be evaluated", "", ""});
  const eval::CocoTruth part = eval::restricted(truth, journal->finished());
  const auto results = eval::coco_results(journal->results(), part);
  if (!results.ok()) return fail(results.error());
  nlohmann::ordered_json failed = nlohmann::ordered_json::array();
  for (const FailedPicture& picture : run.failed())
    failed.push_back({{"file", picture.file}, {"error", picture.error}});
  const nlohmann::ordered_json head = {
      {"truth", options.truth}, {"model", model->name()},   {"device", model->effective_device()},
      {"files", run.files()},   {"missing", run.missing()}, {"failed", failed}};
  const int shown = show(options, measure(options, part, *results), head);
  return run.missing().empty() && run.failed().empty() ? shown : kFailed;
}

}  // namespace

int run_eval(const EvalOptions& options) {
  set_up_log(options.run);
  if (options.truth.empty()) return usage("eval needs --truth FILE, an instance file of COCO");
  if (options.images.empty() && options.results.empty())
    return usage("eval needs --images DIR to run a model on, or --results FILE to measure");
  const auto truth = eval::read_coco_truth(options.truth);
  if (!truth.ok()) return fail(truth.error());
  note_all(truth->warnings, options.run.quiet);
  if (!options.results.empty()) return score_results(options, *truth);
  std::error_code ignored;
  if (!fs::is_directory(options.images, ignored))
    return usage(options.images + ": this is no folder of pictures");
  return run_model(options, *truth);
}

}  // namespace sam3::cli
