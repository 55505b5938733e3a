// Files that appear whole or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "sam3/result.h"

namespace sam3::formats {

// A file under a temporary name in the folder of its target, moved there by commit(). Without
// commit() the target stays as it was and the temporary file goes away. A link as the target is
// followed; what is not a regular file (a device, a pipe) is written to directly.
class AtomicFile {
 public:
  // Errors: kNotFound when the folder does not exist or nothing can be written there; Error::file
  // is the target, here and below.
  static Result<AtomicFile> create(const std::filesystem::path& target);

  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // For writing with functions that take a stream or, after fflush(), its descriptor.
  std::FILE* stream() const { return stream_.get(); }
  Status write(std::string_view bytes);
  Status commit();

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  AtomicFile(std::filesystem::path target, std::filesystem::path temporary, std::FILE* stream)
      : target_(std::move(target)), temporary_(std::move(temporary)), stream_(stream) {}
  Error failed(const char* what) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty when written to directly
  std::unique_ptr<std::FILE, Close> stream_;
};

}  // namespace sam3::formats
