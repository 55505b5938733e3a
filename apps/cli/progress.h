// Progress on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// Shows "FILE  12.3/456.7 MB  8.9 MB/s": on a terminal as a line that changes, elsewhere as a line
// every ten seconds.
class TransferProgress {
 public:
  explicit TransferProgress(bool wanted);
  ~TransferProgress();
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;

  // `total` is 0 if it is unknown.
  void update(const std::string& file, std::int64_t bytes, std::int64_t total);
  // As for Progress.
  void clear() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool wanted_;
  bool terminal_;
  bool begun_ = false;
  std::int64_t first_bytes_ = 0;  // that were there before
  Clock::time_point start_;
  Clock::time_point shown_;
};

}  // namespace sam3::cli
