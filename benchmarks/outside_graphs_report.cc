// outside_graphs_report [--memory] [--runs=N]: time and memory of everything around the graphs,
// against what the project promises. Exits with 1 when a promise is broken and with 2 when nothing
// could be measured.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "formats/write_picture.h"
#include "workload.h"

namespace sam3::bench {
namespace {

constexpr double kMegabyte = 1e6;
constexpr double kNoPromise = std::numeric_limits<double>::infinity();

struct Case {
  const char* name;
  Size picture;
  int masks;
  double most_seconds;
  double most_megabytes;
};

constexpr Case kPhoto{"12 megapixels, 10 masks", {4000, 3000}, 10, 0.6, 120};
constexpr Case kCrowd{"48 megapixels, 200 masks", {8000, 6000}, 200, kNoPromise, 500};

struct Options {
  bool memory = false;  // judge memory alone
  int runs = 5;
};

struct Measured {
  double seconds = 0;
  double processor_seconds = 0;
  double megabytes = 0;  // most memory in use, above what the process had at its start
};

// A line of the kernel's account of this process, in kB.
double status_megabytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::stod(line.substr(name.size() + 1)) * 1024 / kMegabyte;
  throw std::runtime_error("the system does not tell the peak of this process's memory");
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Measured measure(const std::function<void()>& work) {
  Measured measured;
  const double memory = status_megabytes("VmRSS:");
  const double processor = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  measured.seconds = passed.count();
  measured.processor_seconds = processor_seconds() - processor;
  measured.megabytes = status_megabytes("VmHWM:") - memory;
  return measured;
}

// Measures `work` in a process of its own, so that one run does not find the memory, or the started
// libraries, of another.
Measured measure_alone(const std::function<void()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be started");
  if (child == 0) {
    try {
      const Measured measured = measure(work);
      _exit(write(ends[1], &measured, sizeof measured) == sizeof measured ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "outside_graphs_report: %s\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Measured measured;
  const ssize_t bytes = read(ends[0], &measured, sizeof measured);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (bytes != sizeof measured || status != 0) throw std::runtime_error("a run has failed");
  return measured;
}

// The shortest time and the highest memory of `runs` runs.
Measured measure_case(const Case& what, int runs) {
  const TemporaryFolder folder;
  const std::filesystem::path picture = folder / "photo.jpg";
  measure_alone([&] { formats::write_picture(picture, make_photo(what.picture)).value(); });
  const PackedMasks masks(what.masks);
  Measured all{kNoPromise, kNoPromise, 0};
  for (int i = 0; i < runs; ++i) {
    const Measured one = measure_alone([&] { run_path(picture, masks, folder); });
    all.seconds = std::min(all.seconds, one.seconds);
    all.processor_seconds = std::min(all.processor_seconds, one.processor_seconds);
    all.megabytes = std::max(all.megabytes, one.megabytes);
  }
  return all;
}

// Prints a case and tells whether its promises are kept.
bool report(const Case& what, const Options& options, int runs) {
  const Measured measured = measure_case(what, runs);
  const bool slow = !options.memory && measured.processor_seconds > what.most_seconds;
  const bool large = measured.megabytes > what.most_megabytes;
  std::printf("%s (%s)\n", what.name,
              runs == 1 ? "one run" : ("best of " + std::to_string(runs) + " runs").c_str());
  std::printf("  time    %7.3f s of the processor, %.3f s by the clock", measured.processor_seconds,
              measured.seconds);
  if (what.most_seconds < kNoPromise && !options.memory)
    std::printf("; promised %.1f s: %s", what.most_seconds, slow ? "BROKEN" : "kept");
  std::printf("\n  memory  %7.1f MB; promised %.0f MB: %s\n", measured.megabytes,
              what.most_megabytes, large ? "BROKEN" : "kept");
  std::fflush(stdout);
  return !slow && !large;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    constexpr std::string_view kRuns = "--runs=";
    const char* end = argument.data() + argument.size();
    if (argument == "--memory")
      options.memory = true;
    else if (!argument.starts_with(kRuns) ||
             std::from_chars(argument.data() + kRuns.size(), end, options.runs).ptr != end ||
             options.runs < 1)
      throw std::runtime_error("'" + std::string(argument) +
                               "' is neither --memory nor --runs=N with N from 1");
  }
  return options;
}

int run(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const bool photo = report(kPhoto, options, options.memory ? 1 : options.runs);
  const bool crowd = report(kCrowd, options, 1);
  return photo && crowd ? 0 : 1;
}

}  // namespace
}  // namespace sam3::bench

int main(int count, char** arguments) {
  try {
    return sam3::bench::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outside_graphs_report: %s\n", error.what());
    return 2;
  }
}
