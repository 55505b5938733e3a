// What the commands share: notes and errors on standard error, results on standard output, the
// model.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "sam3/sam3.h"

namespace sam3::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// The text with control characters, line ends too, as escapes.
std::string one_line(std::string_view text);
// Lines on standard error, never formatted as a pattern; other control characters are shown as
// escapes.
void note(std::string_view text);
// "sam3: TEXT" for an error that ends the command; returns the exit code that fits.
int fail(const Error& error);
int usage(const std::string& text);

// Writes all of `text` to standard output; returns the exit code. A reader who has closed the pipe
// has seen enough, so that is no failure.
int print(std::string_view text);

// Sends the library's log lines to standard error, as --quiet and --verbose say.
void set_up_log(const RunOptions& options);

// models/demo of an installed tree or of the source tree that this program was built in.
std::filesystem::path demo_folder();
// The model folder that applies, with a note when it is the demo model.
std::filesystem::path model_folder(const RunOptions& options);
ModelOptions model_options(const RunOptions& options);
Result<Model> open_model(const RunOptions& options);

// For commands that work on models as files: the engine on a device, with their threads.
ModelOptions model_options(const WorkOptions& options, const std::string& device);
// What --threads says; without it, the processors this process may use.
int thread_count(long long threads);

ReadOptions read_options(const RunOptions& options);

// The parts of "a,b,c"; none of an empty text.
std::vector<std::string> parse_list(const std::string& text);

// "x,y" and "x0,y0,x1,y1"; kInvalidArgument with the text otherwise. Independent of the locale.
Result<Point> parse_point(const std::string& text);
Result<Box> parse_box(const std::string& text);

// kInvalidArgument if an output would overwrite the picture that is read.
Status check_not_input(const std::string& output, const std::string& image);

// Makes a folder for results, with those above it; kInvalidArgument if it cannot be.
Status make_folder(const std::filesystem::path& folder);

// Prompts without repetitions, in their order; kInvalidArgument for a blank one or bad UTF-8.
Result<std::vector<std::string>> checked_prompts(const std::vector<std::string>& prompts);

// Seconds that the stages of a run took.
class Timings {
 public:
  // Runs `work` and adds its duration to the stage.
  template <typename Work>
  auto measure(const char* stage, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    add(stage, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return result;
  }
  void add(const char* stage, double seconds);
  const std::vector<std::pair<std::string, double>>& stages() const { return stages_; }

 private:
  std::vector<std::pair<std::string, double>> stages_;
};

}  // namespace sam3::cli
