#include "base/staged_folder.h"

#include <system_error>
#include <utility>

namespace sam3 {

namespace fs = std::filesystem;

namespace {

Error failed(const fs::path& path, const std::string& what, const std::error_code& code) {
  return Error{ErrorCode::kRuntime, what + ": " + code.message(), path.string(), ""};
}

}  // namespace

Result<StagedFolder> StagedFolder::create(const fs::path& target) {
  // "out/" and "out" are the same place.
  fs::path place = target.lexically_normal();
  if (place.filename().empty()) place = place.parent_path();
  std::error_code code;
  if (fs::exists(fs::symlink_status(place, code)) &&
      !(fs::is_directory(place, code) && fs::is_empty(place, code)))
    return Error{ErrorCode::kInvalidArgument,
                 "it is there already; name a folder that does not exist, or an empty one",
                 place.string(), ""};
  const fs::path staging = place.string() + ".partial";
  fs::remove_all(staging, code);
  fs::create_directories(staging, code);
  if (code) return failed(staging, "the folder cannot be made", code);
  return StagedFolder(std::move(place), staging);
}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : target_(std::move(other.target_)), staging_(std::exchange(other.staging_, fs::path())) {}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

Status StagedFolder::commit() {
  std::error_code code;
  fs::remove(target_, code);  // an empty folder
  fs::rename(staging_, target_, code);
  if (code) return failed(target_, "the finished folder cannot be moved here", code);
  staging_.clear();
  return {};
}

}  // namespace sam3
