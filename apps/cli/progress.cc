#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace sam3::cli {

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

}  // namespace sam3::cli
