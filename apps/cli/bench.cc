// sam3 bench: how long the steps of both workflows take and how much memory they need, alone or
// beside plain ONNX Runtime.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "commands.h"
#include "common.h"
#include "formats/write_json.h"
#include "formats/write_picture.h"
#include "made_up_picture.h"
#include "scratch.h"

extern char** environ;

namespace sam3::cli {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

constexpr const char* kPlain = "plain";  // --rewrite of the baseline
constexpr std::size_t kObjects = 10;     // of a phrase
constexpr int kClasses = 20;

// The steps, in the order of the table. Names stand in the JSON.
struct Step {
  const char* name;
  const char* ratio;  // "" for none
  const char* what;
};
constexpr Step kSteps[] = {
    {"load", "", "opening all graphs"},
    {"encode", "encode", "a picture for phrases"},
    {"first_prompt", "", "the first phrase, masks of 10 objects"},
    {"next_prompt", "next_prompt", "another phrase, masks of 10 objects"},
    {"next_boxes", "next_boxes", "another phrase, boxes only"},
    {"classes_20", "classes_20", "encoding and 20 phrases, boxes and masks"},
    {"embed", "", "a picture for clicks"},
    {"click", "click", "another click"},
};

using Times = std::map<std::string, std::vector<double>>;  // milliseconds of each run

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// One side of the comparison: a model and what its steps took.
class Side {
 public:
  Side(RunOptions run, std::string rewrite) : run_(std::move(run)) {
    run_.rewrite = std::move(rewrite);
    run_.quiet = true;
  }

  // Profiles go into the folder, unless its name is empty.
  Status load(const std::string& profile = {}) {
    return timed("load", [&]() -> Status {
      ModelOptions options = model_options(run_);
      options.profile = profile;
      SAM3_ASSIGN_OR_RETURN(model_, Model::open(run_.model, options));
      SAM3_RETURN_IF_ERROR(model_.prepare(Workflow::kText));
      return model_.prepare(Workflow::kPoint);
    });
  }

  // An untimed question, so that nothing of the first round is there for the first time.
  Status warm_up(const Picture& picture) {
    SAM3_ASSIGN_OR_RETURN(const ImageFeatures features, model_.encode_image(picture));
    return detect(features, "white star", true);
  }

  Status run(const Picture& picture, int round) {
    ImageFeatures features;
    const auto encode = [&]() -> Status {
      SAM3_ASSIGN_OR_RETURN(features, model_.encode_image(picture));
      return {};
    };
    SAM3_RETURN_IF_ERROR(timed("encode", encode));
    const std::string number = std::to_string(round);
    SAM3_RETURN_IF_ERROR(ask("first_prompt", features, "red square " + number, true));
    SAM3_RETURN_IF_ERROR(ask("next_prompt", features, "green circle " + number, true));
    SAM3_RETURN_IF_ERROR(ask("next_boxes", features, "blue star " + number, false));
    const auto classes = [&]() -> Status {
      SAM3_ASSIGN_OR_RETURN(features, model_.encode_image(picture));
      for (int i = 0; i < kClasses; ++i)
        SAM3_RETURN_IF_ERROR(
            detect(features, "class " + std::to_string(i) + " of " + number, true));
      return {};
    };
    SAM3_RETURN_IF_ERROR(timed("classes_20", classes));
    return clicks(picture);
  }

  const Model& model() const { return model_; }
  const RunOptions& options() const { return run_; }
  double of(const char* step) const {
    const auto found = times_.find(step);
    return found == times_.end() ? 0 : median(found->second);
  }
  const Times& times() const { return times_; }

 private:
  Status timed(const char* step, const std::function<Status()>& work) {
    const auto start = std::chrono::steady_clock::now();
    Status status = work();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    if (status.ok()) times_[step].push_back(taken.count());
    return status;
  }

  // The ten objects with the highest scores, however low: a model may be untrained.
  Status detect(const ImageFeatures& features, const std::string& phrase, bool masks) {
    sam3::DetectOptions options;
    options.threshold = 0;
    options.limit = kObjects;
    options.masks = masks;
    SAM3_ASSIGN_OR_RETURN(const std::vector<Detection> found,
                          model_.detect(features, phrase, options));
    if (found.size() != kObjects)
      return Error{ErrorCode::kUnsupported,
                   "the model finds " + std::to_string(found.size()) + " objects, not " +
                       std::to_string(kObjects) + ", whatever their scores",
                   "", ""};
    for (const Detection& one : found)
      if (masks && one.mask().size() == Size{})
        return Error{ErrorCode::kRuntime, "a detection has no mask", "", ""};
    return {};
  }

  Status ask(const char* step, const ImageFeatures& features, const std::string& phrase,
             bool masks) {
    return timed(step, [&] { return detect(features, phrase, masks); });
  }

  Status clicks(const Picture& picture) {
    ImageEmbeddings embeddings;
    const auto embed = [&]() -> Status {
      SAM3_ASSIGN_OR_RETURN(embeddings, model_.embed_image(picture));
      return {};
    };
    SAM3_RETURN_IF_ERROR(timed("embed", embed));
    PointPrompt prompt;
    prompt.positive = {{picture.size().width / 2.0, picture.size().height / 2.0}};
    SAM3_ASSIGN_OR_RETURN(const Selection first, model_.segment(embeddings, prompt));
    prompt.negative = {{1, 1}};
    return timed("click", [&]() -> Status {
      SAM3_ASSIGN_OR_RETURN(const Selection selection, model_.segment(embeddings, prompt));
      return selection.mask().size() == picture.size()
                 ? Status()
                 : Status(Error{ErrorCode::kRuntime, "a click has no mask", "", ""});
    });
  }

  RunOptions run_;
  Model model_;
  Times times_;
};

// Peak resident memory of `sam3 segment` on the picture, from start to result, in bytes.
Result<std::uint64_t> peak_of_segment(const RunOptions& run, const std::string& image) {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  std::vector<std::string> words{program.string(), "segment", image,       kMadeUpPrompt, "--model",
                                 run.model,        "--quiet", "--rewrite", run.rewrite};
  if (run.threads > 0) words.insert(words.end(), {"--threads", std::to_string(run.threads)});
  if (run.low_memory) words.emplace_back("--low-memory");
  if (run.allow_truncated) words.emplace_back("--allow-truncated");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // Scratch has blocked signals here, which a new program inherits.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  int status = 1;
  rusage usage{};
  if (failed != 0 || wait4(child, &status, 0, &usage) != child || status != 0)
    return Error{ErrorCode::kRuntime, "sam3 segment failed, so that its memory is not known", "",
                 ""};
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

struct Report {
  ordered_json document;
  std::string text;
};

std::string cell(double value, const char* form) {
  char text[32];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

ordered_json times_of(const Side& side) {
  ordered_json times;
  for (const Step& step : kSteps) {
    const auto found = side.times().find(step.name);
    if (found != side.times().end())
      times[step.name] = {{"median_ms", median(found->second)}, {"runs_ms", found->second}};
  }
  return times;
}

void add_row(std::string& text, const std::string& name, const std::vector<std::string>& cells,
             const std::string& what) {
  text += name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ');
  for (const std::string& one : cells)
    text += std::string(one.size() < 11 ? 11 - one.size() : 1, ' ') + one;
  text += "   " + what + "\n";
}

Report report(const std::vector<Side>& sides, const std::vector<std::uint64_t>& peaks,
              const BenchOptions& options) {
  Report made;
  const Model& model = sides[0].model();
  made.document = {{"version", version()},       {"processor", processor()},
                   {"threads", model.threads()}, {"device", model.effective_device()},
                   {"model", model.name()},      {"rewrite", sides[0].options().rewrite},
                   {"runs", options.runs}};
  if (const auto runtime = runtime_info(); runtime.ok())
    made.document["onnxruntime"] = runtime->version;
  made.text = "sam3 " + version() + ", " + processor() + ", " + std::to_string(model.threads()) +
              " threads, model " + model.name() + "\n\n";
  std::vector<std::string> heads{"sam3"};
  if (sides.size() > 1) heads.insert(heads.end(), {"plain", "ratio"});
  add_row(made.text, "", heads, "");
  for (const Step& step : kSteps) {
    const double ours = sides[0].of(step.name);
    std::vector<std::string> cells{cell(ours, "%.1f ms")};
    if (sides.size() > 1) {
      const double plain = sides[1].of(step.name);
      cells.insert(cells.end(), {cell(plain, "%.1f ms"), cell(plain / ours, "%.2f")});
      if (*step.ratio) made.document["ratios"][step.ratio] = plain / ours;
    }
    add_row(made.text, step.name, cells, step.what);
  }
  made.document["sam3"] = times_of(sides[0]);
  made.document["sam3"]["peak_bytes"] = peaks[0];
  std::vector<std::string> cells{cell(static_cast<double>(peaks[0]) / 1e6, "%.0f MB")};
  if (sides.size() > 1) {
    const double ratio = static_cast<double>(peaks[1]) / static_cast<double>(peaks[0]);
    cells.insert(cells.end(),
                 {cell(static_cast<double>(peaks[1]) / 1e6, "%.0f MB"), cell(ratio, "%.2f")});
    made.document["ratios"]["memory"] = ratio;
    made.document["plain"] = times_of(sides[1]);
    made.document["plain"]["peak_bytes"] = peaks[1];
  }
  add_row(made.text, "memory", cells, "peak of `sam3 segment`, from file to result");
  return made;
}

// What one graph spent on each operator, in milliseconds.
using Operators = std::map<std::string, double>;

// Of a file NAME_2026-11-30_12-00-00_123.json.
std::string graph_of(const std::string& file) {
  const auto is_date = [&](std::size_t at) {
    return at + 5 < file.size() && file[at + 5] == '-' &&
           std::all_of(file.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       file.begin() + static_cast<std::ptrdiff_t>(at) + 5,
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  std::size_t at = file.find('_');
  while (at != std::string::npos && !is_date(at)) at = file.find('_', at + 1);
  return file.substr(0, at);
}

// Reads ONNX Runtime's profiles in a folder: events with their durations in
// microseconds; nodes have the category "Node".
std::map<std::string, Operators> read_profiles(const fs::path& folder) {
  std::map<std::string, Operators> graphs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const auto events = nlohmann::json::parse(file, nullptr, false);
    if (!events.is_array()) continue;
    const std::string name = graph_of(entry.path().filename().string());
    for (const auto& event : events)
      if (event.value("cat", "") == "Node" && event.value("name", "").ends_with("_kernel_time"))
        graphs[name][event["args"].value("op_name", "?")] += event.value("dur", 0.0) / 1000;
  }
  return graphs;
}

Status add_profile(const fs::path& folder, RunOptions run, const Picture& picture, Report& made) {
  {
    Side side(run, run.rewrite);
    SAM3_RETURN_IF_ERROR(side.load(folder.string()));
    SAM3_RETURN_IF_ERROR(side.warm_up(picture));
    SAM3_RETURN_IF_ERROR(side.run(picture, 0));
  }
  constexpr double kLeastShare = 0.005;
  for (const auto& [graph, operators] : read_profiles(folder)) {
    double total = 0;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [name, time] : operators) {
      total += time;
      order.emplace_back(time, name);
    }
    std::sort(order.rbegin(), order.rend());
    made.text += "\n" + graph + ": " + cell(total, "%.0f ms in all runs") + "\n";
    ordered_json& document = made.document["profile"][graph];
    for (const auto& [time, name] : order) {
      document[name] = time;
      if (time >= kLeastShare * total)
        made.text +=
            "  " + cell(100 * time / total, "%5.1f %%") + cell(time, "%10.1f ms  ") + name + "\n";
    }
  }
  return {};
}

Result<Report> measure(const BenchOptions& options) {
  RunOptions run = options.run;
  run.model = model_folder(options.run).string();
  Picture picture = made_up_picture();
  std::string image = options.image;
  if (!image.empty()) {
    SAM3_ASSIGN_OR_RETURN(LoadedPicture loaded, read_picture(image, read_options(run)));
    picture = std::move(loaded.picture);
  }
  std::vector<Side> sides{Side(run, run.rewrite)};
  if (options.baseline) sides.emplace_back(run, kPlain);
  SAM3_ASSIGN_OR_RETURN(const std::unique_ptr<Scratch> scratch, Scratch::create("sam3-bench"));
  if (image.empty()) {
    image = (*scratch / "picture" / "made_up.png").string();
    SAM3_RETURN_IF_ERROR(formats::write_picture(image, picture));
  }
  // What is wrong with the options or the package is said before anything takes time.
  for (const Side& side : sides)
    if (const auto model = open_model(side.options()); !model.ok()) return model.error();
  std::vector<std::uint64_t> peaks(sides.size(), 0);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    SAM3_ASSIGN_OR_RETURN(peaks[i], peak_of_segment(sides[i].options(), image));
  }
  for (Side& side : sides) {
    SAM3_RETURN_IF_ERROR(side.load());
    SAM3_RETURN_IF_ERROR(side.warm_up(picture));
  }
  for (int round = 0; round < options.runs; ++round)
    for (Side& side : sides) {
      SAM3_RETURN_IF_ERROR(side.run(picture, round));
      if (!options.run.quiet)
        note("sam3: run " + std::to_string(round + 1) + " of " + std::to_string(options.runs) +
             (side.options().rewrite == kPlain ? ", plain" : "") + " done");
    }
  Report made = report(sides, peaks, options);
  if (options.profile) {
    sides.clear();
    SAM3_RETURN_IF_ERROR(add_profile(*scratch / "profiles", run, picture, made));
  }
  return made;
}

}  // namespace

int run_bench(const BenchOptions& options) {
  set_up_log(options.run);
  if (options.baseline && options.run.rewrite == kPlain)
    return usage("--baseline compares with --rewrite plain; leave one of them out");
  const auto made = measure(options);
  if (!made.ok()) return fail(made.error());
  if (options.json == "-") return print(made->document.dump(1) + "\n");
  if (!options.json.empty())
    if (Status written = formats::write_json(options.json, made->document); !written)
      return fail(written.error());
  return print(made->text);
}

}  // namespace sam3::cli
