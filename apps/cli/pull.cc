// sam3 pull: a model package from a hub, a web server or a folder.
#include "fetch/pull.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "commands.h"
#include "common.h"
#include "progress.h"

namespace sam3::cli {
namespace {

constexpr const char* kDefaultHub = "https://huggingface.co";

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

// Files that hold a token mostly end with a line end.
std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

// A token that is meant for the hub goes to no other server unless the user says so.
Result<std::string> token_for(const PullOptions& options, fetch::SourceKind kind) {
  if (options.token_env.empty())
    return kind == fetch::SourceKind::kHub ? without_line_end(variable("HF_TOKEN")) : std::string();
  std::string token = without_line_end(variable(options.token_env));
  if (token.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "the variable '" + options.token_env + "' of --token-env is not set or empty", "",
                 ""};
  return token;
}

Result<fetch::PullOptions> fetch_options(const PullOptions& options) {
  fetch::PullOptions result;
  result.source = options.source;
  result.destination = options.out;
  if (options.only == "text") result.only = Workflow::kText;
  if (options.only == "point") result.only = Workflow::kPoint;
  if (!options.only.empty() && !result.only)
    return Error{ErrorCode::kInvalidArgument, "--only is text or point, not '" + options.only + "'",
                 "", ""};
  const auto kind = fetch::source_kind(options.source);
  if (!kind.ok()) return kind.error();
  auto token = token_for(options, *kind);
  if (!token.ok()) return token.error();
  result.token = *std::move(token);
  result.endpoint = !options.endpoint.empty() ? options.endpoint : variable("HF_ENDPOINT");
  if (result.endpoint.empty()) result.endpoint = kDefaultHub;
  result.revision = options.revision;
  result.accept_licence = options.accept_license;
  result.retries = static_cast<int>(options.retries);
  result.retry_pause = options.retry_wait;
  result.stall_seconds = options.stall_timeout;
  result.user_agent = "sam3/" + version();
  return result;
}

std::string summary(const fetch::PullReport& report) {
  std::string text = report.fetched == 0
                         ? "all " + std::to_string(report.files) + " files are there already"
                         : "fetched " + std::to_string(report.fetched) + " of " +
                               std::to_string(report.files) + " files";
  if (!report.name.empty()) text = report.name + ": " + text;
  return text + (report.licence.empty() ? "; the package names no licence"
                                        : "; licence: " + report.licence);
}

}  // namespace

int run_pull(const PullOptions& options) {
  auto pull = fetch_options(options);
  if (!pull.ok()) return fail(pull.error());
  TransferProgress progress(!options.quiet);
  if (!options.quiet)
    set_log_hook([&progress](LogLevel level, std::string_view message) {
      if (level < LogLevel::kWarning) return;
      progress.clear();
      note("sam3: " + std::string(message));
    });
  pull->progress = [&progress](const fetch::PullProgress& now) {
    progress.update(now.file, now.bytes, now.total);
  };
  const auto report = fetch::pull(*pull);
  set_log_hook({});
  progress.clear();
  if (!report.ok()) return fail(report.error());
  if (!options.quiet) {
    for (const std::string& text : report->notes) note("sam3: " + text);
    note("sam3: " + summary(*report));
  }
  return print(report->folder.string() + "\n");
}

}  // namespace sam3::cli
