// A file that is on its way: what has come so far, its hash, and what tells whether the rest of the
// same file can be asked for. It outlives the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "checksum/sha256.h"
#include "sam3/result.h"

namespace sam3::fetch {

class PartFile {
 public:
  // Takes up FILE.part with the bytes that are there, if FILE.part.tag says that they are of
  // `version` (see ListedFile); begins an empty one otherwise, always if `version` is empty. The
  // folder must exist. Errors, here and below: kRuntime with the system's reason.
  static Result<PartFile> open(const std::filesystem::path& file, const std::string& version);

  // The version that FILE, or what there is of it, was opened with; empty if that is unknown.
  static std::string version_of(const std::filesystem::path& file);

  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile();

  std::int64_t size() const { return size_; }
  std::string sha256() const { return sum_.hex(); }
  // The server's mark of what is here, for If-Range: a strong ETag or a date; may be empty.
  const std::string& validator() const { return validator_; }

  Status set_validator(const std::string& validator);
  Status append(std::string_view bytes);
  Status restart();  // from the first byte
  Status finish();   // becomes FILE
  void discard();    // nothing is kept

 private:
  PartFile() = default;
  Status write_tag() const;
  Error failed(const char* what) const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::filesystem::path tag_;
  std::string version_;
  std::string validator_;
  std::int64_t size_ = 0;
  Sha256 sum_;
  int descriptor_ = -1;
};

}  // namespace sam3::fetch
