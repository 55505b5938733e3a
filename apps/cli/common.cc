#include "common.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/log.h"
#include "base/parallel.h"
#include "base/utf8.h"

namespace sam3::cli {

namespace fs = std::filesystem;

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : replace_invalid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F)
      line += c;
    else
      line += "\\x" + std::string(1, "0123456789abcdef"[byte >> 4]) + "0123456789abcdef"[byte & 15];
  }
  return line;
}

void note(std::string_view text) {
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    std::cerr << one_line(text.substr(0, end)) << '\n';
  std::cerr << one_line(text) << '\n';
}

int fail(const Error& error) {
  // Messages of the library break lines for the items of a list only; what else breaks one came
  // with a name.
  constexpr std::string_view kItem = "\n  - ";
  const std::string text = error.to_string();
  std::string shown = "sam3: ";
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(kItem, begin), text.size());
    shown += one_line(std::string_view(text).substr(begin, end - begin));
    if (end == text.size()) break;
    shown += kItem;
    begin = end + kItem.size();
  }
  note(shown);
  return error.code == ErrorCode::kInvalidArgument ? kUsage : kFailed;
}

int usage(const std::string& text) {
  note("sam3: " + text);
  return kUsage;
}

int print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return kDone;
      note(std::string("sam3: standard output: ") + std::strerror(errno));
      return kFailed;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return kDone;
}

void set_up_log(const RunOptions& options) {
  if (options.quiet) return;
  const LogLevel least = options.verbose ? LogLevel::kDebug : LogLevel::kWarning;
  set_log_hook([least](LogLevel level, std::string_view message) {
    if (level >= least) note("sam3: " + std::string(message));
  });
}

namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

fs::path demo_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = program.parent_path().parent_path();
  const fs::path installed = prefix / "share" / "sam3" / "models" / "demo";
  if (fs::exists(installed, error)) return installed;
  return prefix.parent_path() / "models" / "demo";
}

fs::path model_folder(const RunOptions& options) {
  if (!options.model.empty()) return options.model;
  if (const char* folder = environment("SAM3_MODEL")) return folder;
  if (!options.quiet)
    note(
        "sam3: using the demo model, which knows drawn shapes and colours only; --model DIR or "
        "SAM3_MODEL names another one");
  return demo_folder();
}

ModelOptions model_options(const RunOptions& options) {
  ModelOptions model;
  model.device = options.device;
  model.threads = static_cast<int>(options.threads);
  model.low_memory = options.low_memory;
  model.rewrite = options.rewrite;
  if (const char* library = environment("SAM3_ONNXRUNTIME_LIBRARY")) model.onnxruntime = library;
  return model;
}

Result<Model> open_model(const RunOptions& options) {
  // Hundreds of threads on a few processors only wait for each other.
  constexpr long long kMostPerProcessor = 8;
  const long long most = kMostPerProcessor * available_processors();
  if (options.threads > most)
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(options.threads) + " threads are more than the " +
                     std::to_string(most) + " that make sense on the processors of this process",
                 "", ""};
  Result<Model> model = Model::open(model_folder(options), model_options(options));
  if (model.ok() && options.verbose)
    note("sam3: model " + model->name() + " on " + model->effective_device() + " with " +
         std::to_string(model->threads()) + " threads");
  return model;
}

ModelOptions model_options(const WorkOptions& options, const std::string& device) {
  RunOptions run;
  run.device = device;
  run.threads = options.threads;
  return model_options(run);
}

int thread_count(long long threads) {
  return threads > 0 ? static_cast<int>(threads) : available_processors();
}

std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

ReadOptions read_options(const RunOptions& options) {
  ReadOptions read;
  read.max_pixels = options.max_pixels;
  read.allow_truncated = options.allow_truncated;
  return read;
}

namespace {

// Exactly `count` numbers separated by commas; from_chars knows no locale.
bool parse_numbers(const std::string& text, double* numbers, int count) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (int i = 0; i < count; ++i) {
    const auto [after, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{}) return false;
    at = after;
    if (i + 1 < count) {
      if (at == end || *at != ',') return false;
      ++at;
    }
  }
  return at == end;
}

Error bad_value(const std::string& text, const char* form) {
  return Error{ErrorCode::kInvalidArgument, "'" + text + "' is not " + form, "", ""};
}

}  // namespace

Result<Point> parse_point(const std::string& text) {
  double numbers[2];
  if (!parse_numbers(text, numbers, 2)) return bad_value(text, "a position x,y in pixels");
  return Point{numbers[0], numbers[1]};
}

Result<Box> parse_box(const std::string& text) {
  double numbers[4];
  if (!parse_numbers(text, numbers, 4)) return bad_value(text, "a box x0,y0,x1,y1 in pixels");
  return Box{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Status check_not_input(const std::string& output, const std::string& image) {
  std::error_code error;
  if (output.empty() || !fs::equivalent(output, image, error)) return {};
  return Error{ErrorCode::kInvalidArgument, "this output would overwrite the picture that is read",
               output, ""};
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return {};
  return Error{ErrorCode::kInvalidArgument,
               "this folder cannot be made" + (error ? ": " + error.message() : std::string()),
               folder.string(), ""};
}

Result<std::vector<std::string>> checked_prompts(const std::vector<std::string>& prompts) {
  std::vector<std::string> result;
  for (const std::string& prompt : prompts) {
    if (find_invalid_utf8(prompt))
      return Error{ErrorCode::kInvalidArgument,
                   "the prompt '" + replace_invalid_utf8(prompt) + "' is not valid UTF-8", "", ""};
    if (is_blank_prompt(prompt))
      return Error{ErrorCode::kInvalidArgument, "a prompt is empty or blank", "", ""};
    if (std::find(result.begin(), result.end(), prompt) == result.end()) result.push_back(prompt);
  }
  return result;
}

void Timings::add(const char* stage, double seconds) {
  for (auto& [name, sum] : stages_) {
    if (name != stage) continue;
    sum += seconds;
    return;
  }
  stages_.emplace_back(stage, seconds);
}

}  // namespace sam3::cli
