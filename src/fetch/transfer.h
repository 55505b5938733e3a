// One file or one short text from a server, with all that can go wrong on the way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "fetch/http.h"
#include "fetch/listing.h"
#include "fetch/part_file.h"
#include "fetch/retry.h"
#include "sam3/result.h"

namespace sam3::fetch {

// The text at `url`, of at most `most` bytes. With `response` also what came with it.
Result<std::string> get_text(HttpClient& client, const Url& url, const RetryOptions& retry,
                             std::int64_t most, HttpResponse* response = nullptr);

// Size and mark of the file at `url`, without its content; nothing if there is none (404, 410).
struct Probe {
  std::optional<std::int64_t> bytes;
  std::string validator;
};
Result<std::optional<Probe>> probe(HttpClient& client, const Url& url, const RetryOptions& retry);

// Called with the number of bytes of the file that are there.
using ByteCounter = std::function<void(std::int64_t)>;

struct FileRequest {
  Url url;
  ListedFile file;
  std::filesystem::path target;
  ByteCounter counter;  // may be empty
};

// Brings a file to its target, by way of a PartFile beside it: takes up what is there,
// tries again when the connection drops, and checks size and SHA-256, as far as they are listed.
// Errors: kBadData for another size or hash, a web page or a Git LFS pointer in the file's place;
// those of HttpClient; refused_attempt's. What has come stays for the next call, except when its
// hash is wrong.
Status get_file(HttpClient& client, const FileRequest& request, const RetryOptions& retry);

// If what begins with `head` is plainly not the file `path`: what it is instead.
std::optional<std::string> impostor(std::string_view path, std::string_view head);

}  // namespace sam3::fetch
