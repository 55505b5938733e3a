#include "fetch/pull.h"

#include <algorithm>
#include <memory>

#include "base/macros.h"
#include "base/utf8.h"
#include "fetch/part_file.h"
#include "fetch/source.h"
#include "fetch/staging.h"

namespace sam3::fetch {

namespace fs = std::filesystem;

namespace {

// Below this the disk is as good as full: other files need room too.
constexpr std::int64_t kSpareBytes = 16 << 20;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

Result<std::unique_ptr<Source>> open_source(const PullOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const SourceKind kind, source_kind(options.source));
  if (kind == SourceKind::kFolder) return folder_source(options.source);
  SourceOptions own;
  own.http.token = options.token;
  own.http.user_agent = options.user_agent;
  own.http.stall_seconds = options.stall_seconds;
  own.retry.retries = options.retries;
  own.retry.first_pause = options.retry_pause;
  own.endpoint = options.endpoint;
  own.revision = options.revision;
  own.only = options.only;
  return kind == SourceKind::kWeb ? web_source(options.source, own)
                                  : hub_source(options.source, own);
}

Result<fs::path> destination_of(const PullOptions& options) {
  if (!options.destination.empty()) return options.destination;
  std::string text = options.source.substr(0, options.source.find_first_of("?#"));
  while (text.ends_with('/')) text.pop_back();
  for (const std::string_view name : {"/quantization.json", "/model.json"})
    if (text.ends_with(name)) text.resize(text.size() - name.size());
  const std::string name = text.substr(text.rfind('/') + 1);
  const bool usable = check_relative_path(name).ok() && name.find(':') == std::string::npos;
  // The host alone is no name for a model.
  const bool only_host = text.find("://") != std::string::npos &&
                         text.find('/', text.find("://") + 3) == std::string::npos;
  if (!usable || only_host)
    return invalid("'" + options.source + "' gives no name for a folder; name one");
  return fs::path(name);
}

std::string first_line(const std::string& text) {
  constexpr std::size_t kMost = 100;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return replace_invalid_utf8(
      text.substr(first, std::min(text.find_first_of("\r\n", first) - first, kMost)));
}

// What the package says about itself in a few short files, which need not be read again.
Status read_package_texts(Source& source, Listing& listing) {
  for (const char* name : {"quantization.json", "model.json", "LICENSE"}) {
    ListedFile* file = listing.find(name);
    const bool needed = std::string_view(name) != "LICENSE" || listing.licence.empty();
    if (!file || !needed) continue;
    if (!file->content) {
      SAM3_ASSIGN_OR_RETURN(std::string text, source.text(*file));
      file->content = std::move(text);
    }
    const std::string text = *file->content;
    if (const auto what = impostor(name, text))
      return Error{ErrorCode::kBadData, "instead of the file there is " + *what, name, ""};
    if (std::string_view(name) == "LICENSE") {
      listing.licence = first_line(text);
      continue;
    }
    if (std::string_view(name) == "model.json")
      SAM3_RETURN_IF_ERROR(read_description(text, listing));
    Result<std::vector<ListedFile>> record = parse_record(text);
    if (!record.ok()) return Error{record.error().code, record.error().message, name, ""};
    merge_record(*record, source.trust(), listing);
  }
  listing.licence = first_line(listing.licence);
  return {};
}

Status check_licence(const PullOptions& options, const Source& source, const Listing& listing) {
  if (source.is_local() || options.accept_licence || listing.licence.empty() ||
      is_permissive(listing.licence))
    return {};
  std::string message = "this model comes under the licence '" + listing.licence +
                        "', which has to be accepted (--accept-license) before it is fetched";
  if (!listing.licence_page.empty()) message += "; read it at " + listing.licence_page;
  return Error{ErrorCode::kUnavailable, message, options.source, ""};
}

// Brings files to the staging place.
class Fetcher {
 public:
  Fetcher(Source& source, const Staging& staging, const PullOptions& options)
      : source_(source), staging_(staging), options_(options) {}

  Status check_space(const std::vector<ListedFile>& files) const {
    SAM3_ASSIGN_OR_RETURN(const std::int64_t available, staging_.free_bytes());
    std::int64_t needed = 0;
    for (const ListedFile& file : files)
      needed += std::max<std::int64_t>(0, file.bytes.value_or(0) - staging_.bytes_of(file));
    if (needed + kSpareBytes <= available) return {};
    return Error{ErrorCode::kLimit,
                 "the disk has room for " + std::to_string(available) + " bytes, and " +
                     std::to_string(needed) + " are to be fetched",
                 staging_.folder().string(), ""};
  }

  Status fetch(const std::vector<ListedFile>& files) {
    for (const ListedFile& file : files) total_ += file.bytes.value_or(0);
    if (std::any_of(files.begin(), files.end(), [](const auto& file) { return !file.bytes; }))
      total_ = 0;
    for (const ListedFile& file : files) {
      std::int64_t size = 0;
      SAM3_RETURN_IF_ERROR(fetch_one(file, size));
      done_ += size;
    }
    return {};
  }

 private:
  Status fetch_one(const ListedFile& file, std::int64_t& size) {
    const auto report = [&](std::int64_t bytes) {
      size = bytes;
      if (options_.progress) options_.progress({file.path, done_ + bytes, total_});
    };
    SAM3_ASSIGN_OR_RETURN(const fs::path target, staging_.place(file.path));
    if (staging_.holds(file)) {
      report(staging_.bytes_of(file));
      return {};
    }
    if (!file.content) return source_.get(file, target, report);
    const auto refused = [&](const std::string& what) {
      return Error{ErrorCode::kBadData, what, file.path, ""};
    };
    SAM3_ASSIGN_OR_RETURN(PartFile part, PartFile::open(target, ""));
    SAM3_RETURN_IF_ERROR(part.append(*file.content));
    report(part.size());
    if (file.bytes && *file.bytes != part.size())
      return refused("the file has " + std::to_string(part.size()) + " bytes instead of the " +
                     std::to_string(*file.bytes) + " that are listed");
    if (!file.sha256.empty() && part.sha256() != file.sha256)
      return refused("the file has the SHA-256 " + part.sha256() + " instead of " + file.sha256);
    return part.finish();
  }

  Source& source_;
  const Staging& staging_;
  const PullOptions& options_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

// A folder must not be copied into itself.
Status check_apart(const PullOptions& options, const fs::path& destination) {
  std::error_code error;
  const fs::path from = fs::weakly_canonical(options.source, error);
  const fs::path to = fs::weakly_canonical(fs::absolute(destination, error), error);
  const fs::path way = to.lexically_relative(from);
  const fs::path back = from.lexically_relative(to);
  if ((!way.empty() && *way.begin() != "..") || (!back.empty() && *back.begin() != ".."))
    return invalid("the folder '" + destination.string() + "' and the source '" + options.source +
                   "' lie in each other");
  return {};
}

}  // namespace

Result<SourceKind> source_kind(const std::string& source) {
  if (source.find("://") != std::string::npos) {
    if (const auto url = parse_url(source); !url.ok()) return url.error();
    return SourceKind::kWeb;
  }
  std::error_code error;
  if (fs::is_directory(source, error)) return SourceKind::kFolder;
  if (is_hub_name(source)) return SourceKind::kHub;
  return invalid("'" + source + "' is no folder, no http address and no name OWNER/MODEL");
}

Result<PullReport> pull(const PullOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open_source(options));
  SAM3_ASSIGN_OR_RETURN(const fs::path destination, destination_of(options));
  if (source->is_local()) SAM3_RETURN_IF_ERROR(check_apart(options, destination));
  SAM3_ASSIGN_OR_RETURN(Listing listing, source->list());
  SAM3_RETURN_IF_ERROR(read_package_texts(*source, listing));
  Status selected = select_files(options.only, source->holds_other_files(), listing);
  if (!selected) return Error{selected.error().code, selected.error().message, options.source, ""};
  SAM3_RETURN_IF_ERROR(check_distinct(listing.files));
  SAM3_RETURN_IF_ERROR(check_licence(options, *source, listing));

  SAM3_ASSIGN_OR_RETURN(Staging staging, Staging::open(destination));
  PullReport report{staging.folder(), listing.name, listing.licence, listing.files.size(), 0,
                    listing.notes};
  std::erase_if(listing.files,
                [&](const ListedFile& file) { return is_in_place(staging.folder(), file); });
  report.fetched = listing.files.size();
  if (report.fetched == 0) return report;
  Fetcher fetcher(*source, staging, options);
  SAM3_RETURN_IF_ERROR(fetcher.check_space(listing.files));
  SAM3_RETURN_IF_ERROR(fetcher.fetch(listing.files));
  SAM3_RETURN_IF_ERROR(staging.install(listing.files));
  return report;
}

}  // namespace sam3::fetch
