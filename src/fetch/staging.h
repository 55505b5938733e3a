// The place beside a model's folder where files arrive, and the way from there into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fetch/listing.h"
#include "sam3/result.h"

namespace sam3::fetch {

// Files come to STAGING/files/PATH. STAGING is FOLDER.partial, or FOLDER/.partial where the
// folder's parent is another file system or cannot be written to. One process at a time holds it.
class Staging {
 public:
  // Makes and locks the staging place of `folder`. kUnavailable if another process holds it;
  // kInvalidArgument if `folder` is a file; kRuntime if the place cannot be made.
  static Result<Staging> open(const std::filesystem::path& folder);

  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  // Leaves what has arrived, if anything has, for the next time.
  ~Staging();

  const std::filesystem::path& folder() const { return folder_; }

  // The file's place here; makes its folders. An error if a link stands in the way.
  Result<std::filesystem::path> place(const std::string& path) const;
  // Whether the file has arrived here and is what is listed.
  bool holds(const ListedFile& file) const;
  // The bytes of the file that are here already, whole or in part.
  std::int64_t bytes_of(const ListedFile& file) const;

  // Free bytes for this process where files arrive.
  Result<std::int64_t> free_bytes() const;

  // Moves `arrived` into the folder and removes the staging place. A new folder appears as a whole,
  // with one rename. In one that is there, graphs that change go first and come last, so that at no
  // moment old and new parts look like a model.
  Status install(const std::vector<ListedFile>& arrived);

 private:
  Staging() = default;
  Status lock();
  void remove_others(const std::vector<ListedFile>& arrived) const;
  Status withdraw_graphs(std::vector<std::string>& paths) const;
  Status install_one(const std::string& path) const;

  std::filesystem::path folder_;
  std::filesystem::path staging_;
  std::filesystem::path files_;
  int lock_ = -1;
};

// Whether `folder`/`file.path` is what is listed: by SHA-256 where that is known; else by content
// where that has been read; else by size, and then only for files of a megabyte or more.
bool is_in_place(const std::filesystem::path& folder, const ListedFile& file);

}  // namespace sam3::fetch
