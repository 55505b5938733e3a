// Where packages come from: a hub, a folder of a plain web server, a folder on this machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "fetch/listing.h"
#include "fetch/transfer.h"
#include "sam3/model.h"
#include "sam3/result.h"

namespace sam3::fetch {

struct SourceOptions {
  HttpOptions http;  // token_origin is set by the source
  RetryOptions retry;
  std::string endpoint;          // of the hub
  std::string revision;          // of a repository on the hub
  std::optional<Workflow> only;  // spares a plain server questions about the other's files
};

class Source {
 public:
  virtual ~Source() = default;

  // What is there. Files that this had to read have their content; quantization.json is merged in
  // by the caller. Paths are checked.
  virtual Result<Listing> list() = 0;
  // A short file of the listing.
  virtual Result<std::string> text(const ListedFile& file) = 0;
  // A file of the listing, checked, at `target`, whose folder exists.
  virtual Status get(const ListedFile& file, const std::filesystem::path& target,
                     const ByteCounter& counter) = 0;
  // The listing is only what was seen, and the record in the package is what should be there.
  virtual Trust trust() const { return Trust::kListing; }
  // Whether files that no model needs may be among the listed.
  virtual bool holds_other_files() const { return true; }
  virtual bool is_local() const { return false; }
};

// Texts above this are no lists or licences.
inline constexpr std::int64_t kMostTextBytes = 32 << 20;

// `name` is OWNER/MODEL; kInvalidArgument for names and endpoints that are none.
Result<std::unique_ptr<Source>> hub_source(const std::string& name, const SourceOptions& options);
// `address` names a folder, or the model.json or quantization.json in it.
Result<std::unique_ptr<Source>> web_source(const std::string& address,
                                           const SourceOptions& options);
std::unique_ptr<Source> folder_source(const std::filesystem::path& folder);

// Letters, digits and -._, as hubs allow; one slash.
bool is_hub_name(const std::string& text);

}  // namespace sam3::fetch
