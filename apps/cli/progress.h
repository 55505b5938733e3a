// A progress line on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace sam3::cli {

// Shows "  12/400  3.1 pictures/s  2 min 5 s left" on standard error, only if that is a terminal,
// it is wanted, and there is more than one picture.
class Progress {
 public:
  Progress(std::size_t total, bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance();
  // Removes the line, so that something else can be written; the next advance() shows it again.
  void clear() const;

 private:
  bool shown_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sam3::cli
