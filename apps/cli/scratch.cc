#include "scratch.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

// Those that end the process; one that is ignored, as under nohup, stays so.
sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&signals, signal);
  }
  return signals;
}

}  // namespace

Result<std::unique_ptr<Scratch>> Scratch::create(const std::string& name) {
  std::error_code code;
  std::string pattern = (fs::temp_directory_path(code) / (name + "-XXXXXX")).string();
  if (code || !mkdtemp(pattern.data()))
    return Error{ErrorCode::kRuntime, "no temporary folder can be made", pattern, ""};
  return std::unique_ptr<Scratch>(new Scratch(pattern));
}

Scratch::Scratch(fs::path path) : path_(std::move(path)), signals_(ending_signals()) {
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // inherited by the threads that follow
  watcher_ = std::thread([this] { wait_for_signal(); });
}

void Scratch::wait_for_signal() {
  const timespec patience{.tv_sec = 0, .tv_nsec = 50'000'000};
  int signal = -1;
  while (!done_ && signal < 0) signal = sigtimedwait(&signals_, nullptr, &patience);
  if (signal < 0) return;
  // The other threads may still write: what they are at may stay, but the process ends here.
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  raise(signal);
}

Scratch::~Scratch() {
  done_ = true;
  watcher_.join();
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Scratch::operator/(const std::string& name) const {
  std::error_code ignored;
  fs::create_directories(path_ / name, ignored);
  return path_ / name;
}

}  // namespace sam3::cli
