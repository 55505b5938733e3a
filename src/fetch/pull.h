// Fetching a model package: from a hub, a web server or a folder, file by file, into a folder that
// is a whole model or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sam3/model.h"
#include "sam3/result.h"

namespace sam3::fetch {

struct PullProgress {
  std::string file;    // the one on its way
  std::int64_t bytes;  // of all files that have to be fetched, with what was there before
  std::int64_t total;  // likewise; 0 if a size is unknown
};

struct PullOptions {
  // An existing folder; an http or https address of a folder with a package; or OWNER/MODEL, a
  // repository of the hub. The first that fits.
  std::string source;
  std::filesystem::path destination;  // empty: the source's last name, in the current folder
  std::optional<Workflow> only;       // its graphs and what belongs to them; nothing: all
  std::string endpoint;               // of the hub
  std::string revision = "main";      // branch, tag or commit on the hub
  std::string token;                  // sent to the source's own server only
  bool accept_licence = false;
  int retries = 5;            // in a row without progress
  double retry_pause = 1;     // seconds before the first one; doubled each time
  double stall_seconds = 30;  // without progress
  std::string user_agent = "sam3";
  std::function<void(const PullProgress&)> progress;  // may be empty
};

struct PullReport {
  std::filesystem::path folder;
  std::string name;         // as the package says; may be empty
  std::string licence;      // likewise
  std::size_t files = 0;    // of the package, or of the part that was asked for
  std::size_t fetched = 0;  // the others were there already
  std::vector<std::string> notes;
};

// What the source of a pull will be taken for.
enum class SourceKind { kFolder, kWeb, kHub };
// kInvalidArgument for what is none of the three.
Result<SourceKind> source_kind(const std::string& source);

// Brings the package to the destination. A destination that is there is completed and brought up to
// date: what differs is fetched, other files are left alone. What arrives is checked against all
// that is known of it: size, SHA-256, whether it is a web page or a Git LFS pointer instead. After
// an error, what has arrived waits beside the destination for the next call. Errors:
// kInvalidArgument for a source, destination, endpoint or token that is none; kUnavailable for a
// licence that has to be accepted first (the message says where to read it), refused access, a
// second pull into the same folder, a connection that keeps failing; kNotFound for what is not
// there; kBadData for answers that are not what was listed, and for paths that would leave the
// folder; kLimit if the disk is too full; kRuntime for the rest. Retries are told to the log.
Result<PullReport> pull(const PullOptions& options);

}  // namespace sam3::fetch
