#include "base/log.h"

#include <mutex>
#include <utility>

namespace sam3 {
namespace {

struct HookState {
  std::mutex mutex;
  LogHook hook;
};

// Never destroyed: the engine may log while the process ends.
HookState& state() {
  static auto* const state = new HookState;
  return *state;
}

}  // namespace

void set_log_hook(LogHook hook) {
  std::lock_guard lock(state().mutex);
  state().hook = std::move(hook);
}

void log_line(LogLevel level, std::string_view message) {
  std::lock_guard lock(state().mutex);
  if (state().hook) state().hook(level, message);
}

}  // namespace sam3
