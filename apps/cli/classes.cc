// sam3 classes: a list of classes on many pictures.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"
#include "detections.h"
#include "formats/json.h"
#include "formats/output_names.h"
#include "formats/write_json.h"
#include "picture_list.h"
#include "progress.h"
#include "result_stream.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C ends the run after the current picture, the second at once.
extern "C" void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

Result<std::vector<std::string>> class_names(const ClassesOptions& options) {
  if (options.classes.empty() == options.file.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "give the class names either by --classes A B ... -- or by --file LIST", "", ""};
  // CLI11 takes the mark that should end the list for its first name.
  if (!options.classes.empty() && options.classes.front() == "--")
    return Error{ErrorCode::kInvalidArgument, "--classes is followed by no class name", "", ""};
  if (options.file.empty()) return checked_prompts(options.classes);
  auto list = read_class_file(options.file);
  if (!list.ok()) return list.error();
  if (!options.run.quiet)
    for (const std::string& text : list->notes) note("sam3: " + text);
  return std::move(list->names);
}

// One run over all pictures.
class Run {
 public:
  // `warnings` go into every picture's document.
  Run(const ClassesOptions& options, const Model& model, std::vector<std::string> classes,
      std::vector<std::string> warnings)
      : options_(options),
        model_(model),
        classes_(std::move(classes)),
        warnings_(std::move(warnings)) {}

  int go(const std::vector<fs::path>& pictures, ResultStream& results) {
    const std::vector<std::string> names = formats::picture_names(pictures);
    Progress progress(pictures.size(), !options_.run.quiet);
    std::signal(SIGINT, on_interrupt);
    std::size_t done = 0;
    std::size_t failed = 0;
    for (; done < pictures.size() && !interrupted; ++done) {
      const std::string image = pictures[done].string();
      auto document = one(image, names[done]);
      if (!document.ok()) {
        ++failed;
        progress.clear();
        note("sam3: " + document.error().to_string());
        document = formats::failed_document(image, document.error().to_string());
      }
      Status written = results.write(*document);
      if (written.ok() && !options_.out.empty()) {
        const fs::path path = fs::path(options_.out) / (names[done] + ".json");
        written = make_folder(path.parent_path());
        if (written.ok()) written = formats::write_json(path, *document);
      }
      if (!written) return fail(written.error());
      progress.advance();
    }
    progress.clear();
    return conclude(pictures.size(), done, failed);
  }

 private:
  // The document of one picture; an error is the picture's, not the run's.
  Result<nlohmann::ordered_json> one(const std::string& image, const std::string& name) {
    Timings timings;
    auto loaded =
        timings.measure("read", [&] { return read_picture(image, read_options(options_.run)); });
    if (!loaded.ok()) return loaded.error();
    loaded->warnings.insert(loaded->warnings.end(), warnings_.begin(), warnings_.end());
    auto features = timings.measure("encode", [&] { return model_.encode_image(loaded->picture); });
    if (!features.ok()) return features.error();
    sam3::DetectOptions detect;
    detect.threshold = options_.threshold;
    auto detections =
        timings.measure("detect", [&] { return detect_all(model_, *features, classes_, detect); });
    if (!detections.ok()) return detections.error();
    auto merged = merge_classes(std::move(*detections), options_.overlap);
    if (!merged.ok()) return merged.error();

    std::vector<Detection> kept;
    std::vector<std::vector<Detection>> covered;
    split(std::move(*merged), kept, covered);
    PictureTargets targets;
    const std::string& overlays = options_.overlays.empty() ? options_.out : options_.overlays;
    if (!overlays.empty()) targets.overlay = fs::path(overlays) / (name + ".overlay.png");
    targets.masks = options_.masks.empty() ? options_.out : options_.masks;
    targets.name = name;
    targets.rle = options_.rle;
    auto entries = timings.measure(
        "write", [&] { return write_detections(loaded->picture, kept, covered, targets); });
    if (!entries.ok()) return entries.error();
    return formats::detections_document(document_head(image, *loaded, model_, timings), *entries);
  }

  // Kept detections by falling score, each with those merged into it.
  static void split(std::vector<ClassDetection> all, std::vector<Detection>& kept,
                    std::vector<std::vector<Detection>>& covered) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].merged_into < 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return all[a].detection.score > all[b].detection.score;
    });
    for (const std::size_t index : order) {
      covered.emplace_back();
      for (const ClassDetection& other : all)
        if (other.merged_into == static_cast<int>(index)) covered.back().push_back(other.detection);
      kept.push_back(all[index].detection);
    }
  }

  int conclude(std::size_t total, std::size_t done, std::size_t failed) const {
    if (total > 1 && !options_.run.quiet) {
      std::string text =
          "sam3: " + std::to_string(done - failed) + " ok, " + std::to_string(failed) + " failed";
      if (done < total) text += ", " + std::to_string(total - done) + " not started";
      note(text);
    }
    constexpr int kInterrupted = 130;  // as shells report a program ended by Ctrl-C
    if (interrupted) return kInterrupted;
    return failed > 0 ? kFailed : kDone;
  }

  const ClassesOptions& options_;
  const Model& model_;
  std::vector<std::string> classes_;
  std::vector<std::string> warnings_;
};

}  // namespace

int run_classes(const ClassesOptions& options) {
  set_up_log(options.run);
  auto classes = class_names(options);
  if (!classes.ok()) return fail(classes.error());
  const auto pictures = list_pictures(options.images);
  if (!pictures.ok()) return fail(pictures.error());
  for (const std::string& folder : {options.out, options.overlays, options.masks})
    if (!folder.empty())
      if (Status made = make_folder(folder); !made) return fail(made.error());
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  if (Status ready = model->prepare(Workflow::kText); !ready) return fail(ready.error());
  const auto dropped = dropped_text(*model, *classes);
  for (const std::string& warning : dropped)
    if (!options.run.quiet) note("sam3: " + warning);
  const auto results = ResultStream::open(options.json);
  if (!results.ok()) return fail(results.error());
  return Run(options, *model, std::move(*classes), dropped).go(*pictures, **results);
}

}  // namespace sam3::cli
