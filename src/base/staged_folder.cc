#include "base/staged_folder.h"

#include <sys/stat.h>

#include <fstream>
#include <system_error>
#include <utility>

namespace sam3 {

namespace fs = std::filesystem;

namespace {

Error failed(const fs::path& path, const std::string& what, const std::error_code& code) {
  return Error{ErrorCode::kRuntime, what + ": " + code.message(), path.string(), ""};
}

Error refused(const fs::path& path, std::string why) {
  return Error{ErrorCode::kInvalidArgument, std::move(why), path.string(), ""};
}

// What tells an unfinished folder from anything else of that name.
constexpr const char* kMark = ".unfinished";

bool is_mount_point(const fs::path& folder) {
  struct stat own {};
  struct stat above {};
  return stat(folder.c_str(), &own) == 0 && stat(folder.parent_path().c_str(), &above) == 0 &&
         own.st_dev != above.st_dev;
}

}  // namespace

Result<StagedFolder> StagedFolder::create(const fs::path& target) {
  // "out/" and "out" are the same place, and so is what a link leads to.
  std::error_code code;
  fs::path place = fs::weakly_canonical(fs::absolute(target, code), code);
  if (code) return failed(target, "this place cannot be found", code);
  if (place.filename().empty()) place = place.parent_path();
  const bool there = fs::exists(fs::symlink_status(place, code));
  if (there && !(fs::is_directory(place, code) && fs::is_empty(place, code)))
    return refused(place,
                   "it is there already; name a folder that does not exist, or an empty one");
  if (there && (fs::equivalent(place, fs::current_path(code), code) || is_mount_point(place)))
    return refused(place, "this folder is in use and cannot be replaced; name one inside it");
  const fs::path staging = place.string() + ".partial";
  if (fs::exists(fs::symlink_status(staging, code))) {
    if (!fs::is_regular_file(staging / kMark, code))
      return refused(staging,
                     "something else has the name that the work would have until it is "
                     "done; move it away, or name another place for the result");
    fs::remove_all(staging, code);
  }
  fs::create_directories(staging, code);
  if (code) return failed(staging, "the folder cannot be made", code);
  std::ofstream(staging / kMark) << "Unfinished work of sam3; may be removed.\n";
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
  fs::remove(staging_ / kMark, code);
  fs::remove(target_, code);  // an empty folder
  fs::rename(staging_, target_, code);
  if (code) return failed(target_, "the finished folder cannot be moved here", code);
  staging_.clear();
  return {};
}

}  // namespace sam3
