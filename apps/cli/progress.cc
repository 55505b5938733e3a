#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common.h"

namespace sam3::cli {
namespace {

// With one digit behind the point, whatever the locale.
std::string tenths(double value) {
  const auto rounded = static_cast<long long>(value * 10 + 0.5);
  return std::to_string(rounded / 10) + "." + std::to_string(rounded % 10);
}

}  // namespace

Progress::Progress(std::size_t total, bool wanted)
    : shown_(wanted && total > 1 && isatty(STDERR_FILENO) == 1), total_(total) {}

Progress::~Progress() { clear(); }

void Progress::clear() const {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance() {
  ++done_;
  if (!shown_) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = static_cast<double>(done_) / (seconds > 0 ? seconds : 1e-9);
  const auto left = static_cast<long>(static_cast<double>(total_ - done_) / rate + 0.5);
  std::fprintf(stderr, "\r\x1b[K%zu/%zu  %.1f pictures/s  ", done_, total_, rate);
  if (left >= 3600)
    std::fprintf(stderr, "%ld h %ld min left", left / 3600, left % 3600 / 60);
  else if (left >= 60)
    std::fprintf(stderr, "%ld min %ld s left", left / 60, left % 60);
  else
    std::fprintf(stderr, "%ld s left", left);
  std::fflush(stderr);
}

TransferProgress::TransferProgress(bool wanted)
    : wanted_(wanted), terminal_(isatty(STDERR_FILENO) == 1) {}

TransferProgress::~TransferProgress() { clear(); }

void TransferProgress::clear() const {
  if (wanted_ && terminal_ && begun_) std::fputs("\r\x1b[K", stderr);
}

void TransferProgress::update(const std::string& file, std::int64_t bytes, std::int64_t total) {
  if (!wanted_) return;
  const Clock::time_point now = Clock::now();
  if (!begun_) {
    begun_ = true;
    first_bytes_ = bytes;
    start_ = shown_ = now;
  }
  const double pause = terminal_ ? 0.2 : 10;
  if (std::chrono::duration<double>(now - shown_).count() < pause) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double megabyte = 1e6;
  clear();
  std::string line = file + "  " + tenths(static_cast<double>(bytes) / megabyte);
  if (total > 0) line += "/" + tenths(static_cast<double>(total) / megabyte);
  const auto come = static_cast<double>(std::max<std::int64_t>(0, bytes - first_bytes_));
  line += " MB  " + tenths(come / megabyte / seconds) + " MB/s";
  if (terminal_) {
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  } else {
    note("sam3: " + line);
  }
}

}  // namespace sam3::cli
