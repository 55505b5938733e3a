#include "formats/vips_library.h"

#include <algorithm>

#include "base/log.h"

namespace sam3::formats {
namespace {

void forward_log(const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer) {
  // A damaged picture is reported by its error; what the decoder says on the way is detail.
  const LogLevel ours = (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0
                            ? LogLevel::kError
                            : LogLevel::kDebug;
  log_line(ours, std::string(domain ? domain : "glib") + ": " + (message ? message : ""));
}

Status start_vips() {
  // Before the start, which may already complain. Other domains belong to the host program.
  for (const char* domain : {"VIPS", "Pango", "PangoFT2"})
    g_log_set_handler(
        domain,
        static_cast<GLogLevelFlags>(G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION),
        forward_log, nullptr);
  if (vips_init("sam3") != 0)
    return Error{ErrorCode::kUnavailable, "libvips does not start: " + take_vips_error(), {}, {}};
  vips_concurrency_set(1);
  vips_cache_set_max(0);
  vips_cache_set_max_mem(0);
  vips_cache_set_max_files(0);
  vips_block_untrusted_set(TRUE);
  return {};
}

}  // namespace

Status prepare_vips() {
  static const Status status = start_vips();
  return status;
}

std::string take_vips_error() {
  const std::unique_ptr<char, decltype(&g_free)> buffer(vips_error_buffer_copy(), g_free);
  std::string text(buffer ? buffer.get() : "");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t last = text.rfind('\n');
  if (last != std::string::npos) text.erase(0, last + 1);
  // A file whose inner structure no trusted loader recognises ends up at one of the others.
  if (text.ends_with("operation is blocked")) return "its structure cannot be read";
  return text.empty() ? "no reason given" : text;
}

}  // namespace sam3::formats
