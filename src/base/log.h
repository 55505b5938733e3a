// Log lines of the library and of the engine go to a hook that the caller sets; without one they
// are dropped. The library itself never prints.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sam3 {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// May be called from any thread, by one thread at a time.
using LogHook = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the process-wide hook; an empty one drops all lines.
void set_log_hook(LogHook hook);
void log_line(LogLevel level, std::string_view message);

}  // namespace sam3
