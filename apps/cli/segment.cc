// sam3 segment and sam3 detect: phrases on one picture.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"
#include "detections.h"
#include "formats/json.h"
#include "formats/output_names.h"
#include "formats/output_paths.h"
#include "formats/write_json.h"

namespace sam3::cli {
namespace {

// What both commands ask for.
struct Question {
  std::string image;
  std::vector<std::string> prompts;
  sam3::DetectOptions detect;
};

Result<Question> make_question(const std::string& image, const std::vector<std::string>& prompts,
                               const TextOptions& text) {
  Question question;
  question.image = image;
  auto checked = checked_prompts(prompts);
  if (!checked.ok()) return checked.error();
  question.prompts = std::move(*checked);
  auto exemplar = parse_exemplar(text.box, text.negative_box);
  if (!exemplar.ok()) return exemplar.error();
  question.detect.exemplar = *exemplar;
  question.detect.threshold = text.threshold;
  if (question.prompts.empty() && !question.detect.exemplar)
    return Error{ErrorCode::kInvalidArgument,
                 "no prompt is given; name what to find, e.g. \"red circle\"", "", ""};
  return question;
}

// A picture with everything that was found on it.
struct Answer {
  LoadedPicture loaded;
  std::vector<Detection> detections;
  Timings timings;
};

Result<Answer> ask(const Model& model, const Question& question, const RunOptions& options) {
  Answer answer;
  auto loaded = answer.timings.measure(
      "read", [&] { return read_picture(question.image, read_options(options)); });
  if (!loaded.ok()) return loaded.error();
  answer.loaded = std::move(*loaded);
  if (!options.quiet) note_warnings(question.image, answer.loaded);
  Status ready = answer.timings.measure("load", [&] { return model.prepare(Workflow::kText); });
  if (!ready) return ready.error();
  const auto dropped = dropped_text(model, question.prompts);
  for (const std::string& warning : dropped)
    if (!options.quiet) note("sam3: " + warning);
  answer.loaded.warnings.insert(answer.loaded.warnings.end(), dropped.begin(), dropped.end());
  auto features =
      answer.timings.measure("encode", [&] { return model.encode_image(answer.loaded.picture); });
  if (!features.ok()) return features.error();
  auto detections = answer.timings.measure(
      "detect", [&] { return detect_all(model, *features, question.prompts, question.detect); });
  if (!detections.ok()) return detections.error();
  answer.detections = std::move(*detections);
  return answer;
}

std::string summary(const Question& question, const Answer& answer) {
  std::string text = question.image + ": " + std::to_string(answer.detections.size()) +
                     (answer.detections.size() == 1 ? " detection\n" : " detections\n");
  for (const Detection& detection : answer.detections) {
    char line[128];
    std::snprintf(line, sizeof line, "  %3d %%  %5d,%-5d to %5d,%-5d  ",
                  static_cast<int>(std::lround(detection.score * 100)),
                  static_cast<int>(std::lround(detection.box.x0)),
                  static_cast<int>(std::lround(detection.box.y0)),
                  static_cast<int>(std::lround(detection.box.x1)),
                  static_cast<int>(std::lround(detection.box.y1)));
    text += line + detection.prompt + "\n";
  }
  return text;
}

Status check_targets(const SegmentOptions& options) {
  for (const std::string& output : {options.out, options.json})
    if (Status good = check_not_input(output, options.image); !good) return good;
  if (!options.masks.empty())
    if (Status made = make_folder(options.masks); !made) return made;
  if (!options.out.empty())
    if (Status good = formats::check_output_path(options.out, formats::kPictureEndings); !good)
      return good;
  if (!options.json.empty() && options.json != "-")
    if (Status good = formats::check_output_path(options.json, formats::kJsonEndings); !good)
      return good;
  return {};
}

}  // namespace

int run_segment(const SegmentOptions& options) {
  set_up_log(options.run);
  const auto question = make_question(options.image, options.prompts, options.text);
  if (!question.ok()) return fail(question.error());
  if (Status good = check_targets(options); !good) return fail(good.error());
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  auto answer = ask(*model, *question, options.run);
  if (!answer.ok()) return fail(answer.error());

  PictureTargets targets;
  targets.overlay = options.out;
  targets.masks = options.masks;
  targets.name = formats::picture_names(std::vector<std::filesystem::path>{options.image}).front();
  targets.rle = options.rle;
  const auto entries = answer->timings.measure("write", [&] {
    return write_detections(answer->loaded.picture, answer->detections, {}, targets);
  });
  if (!entries.ok()) return fail(entries.error());
  const auto document = formats::detections_document(
      document_head(options.image, answer->loaded, *model, answer->timings), *entries);
  if (options.json == "-") return print(formats::dump_json(document) + "\n");
  if (!options.json.empty())
    if (Status written = formats::write_json(options.json, document); !written)
      return fail(written.error());
  return print(summary(*question, *answer));
}

int run_detect(const DetectOptions& options) {
  set_up_log(options.run);
  auto question = make_question(options.image, options.prompts, options.text);
  if (!question.ok()) return fail(question.error());
  question->detect.masks = false;
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  const auto answer = ask(*model, *question, options.run);
  if (!answer.ok()) return fail(answer.error());
  PictureTargets targets;
  targets.areas = false;
  const auto entries = write_detections(answer->loaded.picture, answer->detections, {}, targets);
  if (!entries.ok()) return fail(entries.error());
  const auto document = formats::detections_document(
      document_head(options.image, answer->loaded, *model, answer->timings), *entries);
  return print(formats::dump_json(document) + "\n");
}

}  // namespace sam3::cli
