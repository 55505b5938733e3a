// A folder that is filled under another name beside its place and then moved there, so that nobody
// ever sees half of it.
#pragma once

#include <filesystem>

#include "sam3/result.h"

namespace sam3 {

class StagedFolder {
 public:
  // Makes `target`.partial, anew if a stopped run left one behind; it knows its own by a file in
  // them. kInvalidArgument if `target` is there already and is not an empty folder, or a folder
  // that cannot be replaced, and if something else is called `target`.partial.
  static Result<StagedFolder> create(const std::filesystem::path& target);
  ~StagedFolder();  // removes what was not committed
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;

  const std::filesystem::path& path() const { return staging_; }
  // Moves the folder to its place.
  Status commit();

 private:
  StagedFolder(std::filesystem::path target, std::filesystem::path staging)
      : target_(std::move(target)), staging_(std::move(staging)) {}

  std::filesystem::path target_;
  std::filesystem::path staging_;  // empty once it is gone
};

}  // namespace sam3
