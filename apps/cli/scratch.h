// A temporary folder that goes with the command, also when a signal ends it.
#pragma once

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "sam3/result.h"

namespace sam3::cli {

class Scratch {
 public:
  // One at a time: a new folder in the system's folder for temporary files. To be called before the
  // process has other threads: from then on SIGINT, SIGTERM and SIGHUP go to a thread that removes
  // the folder and ends the process by the signal.
  static Result<std::unique_ptr<Scratch>> create(const std::string& name);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // A folder inside, made if it is not there.
  std::filesystem::path operator/(const std::string& name) const;

 private:
  explicit Scratch(std::filesystem::path path);
  void wait_for_signal();

  std::filesystem::path path_;
  sigset_t signals_;
  std::atomic<bool> done_ = false;
  std::thread watcher_;
};

}  // namespace sam3::cli
