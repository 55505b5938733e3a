#include "fetch/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/macros.h"
#include "checksum/sha256.h"
#include "fetch/part_file.h"

namespace sam3::fetch {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kCheapToFetch = 1 << 20;  // bytes
constexpr const char* kLock = "lock";

Error failed(const std::string& what, const fs::path& path, const std::error_code& error) {
  return {ErrorCode::kRuntime, what + " (" + error.message() + ")", path.string(), ""};
}

std::error_code last_error() { return {errno, std::generic_category()}; }

bool on_another_device(const fs::path& a, const fs::path& b) {
  struct stat first {};
  struct stat second {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev != second.st_dev;
}

fs::path staging_of(const fs::path& folder) {
  fs::path beside = folder;
  beside += ".partial";
  std::error_code error;
  const fs::path parent = folder.parent_path();
  if (!fs::is_directory(folder, error)) return beside;
  const bool inside = on_another_device(folder, parent) || access(parent.c_str(), W_OK) != 0;
  return inside ? folder / ".partial" : beside;
}

// Neither absent nor empty nor what an earlier call left behind, which has a lock in it.
bool is_foreign(const fs::path& staging) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(staging, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_directory(status)) return true;
  return !fs::is_empty(staging, error) &&
         !fs::is_regular_file(fs::symlink_status(staging / kLock, error));
}

// The folders of root/path, made where they are missing; refuses to go through links.
Status make_folders(const fs::path& root, const fs::path& path) {
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return failed("this folder cannot be made", root, error);
  fs::path folder = root;
  for (const fs::path& part : path.parent_path()) {
    folder /= part;
    const fs::file_status status = fs::symlink_status(folder, error);
    if (fs::is_directory(status)) continue;
    if (fs::exists(status))
      return Error{ErrorCode::kRuntime, "a folder is wanted here, and this is a link or a file",
                   folder.string(), ""};
    fs::create_directory(folder, error);
    if (error) return failed("this folder cannot be made", folder, error);
  }
  return {};
}

bool is_graph(const std::string& path) { return path.ends_with(".onnx"); }

std::optional<std::string> content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

fs::path with_ending(const fs::path& path, const char* ending) {
  fs::path longer = path;
  longer += ending;
  return longer;
}

}  // namespace

bool is_in_place(const fs::path& folder, const ListedFile& file) {
  const fs::path path = folder / file.path;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (error || (file.bytes && bytes != *file.bytes)) return false;
  if (!file.sha256.empty()) {
    const auto sum = sha256_of_file(path);
    return sum.ok() && *sum == file.sha256;
  }
  if (file.content) return content_of(path) == file.content;
  return file.bytes && bytes >= kCheapToFetch;
}

Result<Staging> Staging::open(const fs::path& folder) {
  std::error_code error;
  Staging staging;
  staging.folder_ = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error) return failed("this folder cannot be reached", folder, error);
  // A trailing slash leaves an empty last part.
  if (!staging.folder_.has_filename()) staging.folder_ = staging.folder_.parent_path();
  const fs::file_status status = fs::status(staging.folder_, error);
  if (fs::exists(status) && !fs::is_directory(status))
    return Error{ErrorCode::kInvalidArgument, "the model goes into a folder, and this is a file",
                 folder.string(), ""};
  staging.staging_ = staging_of(staging.folder_);
  staging.files_ = staging.staging_ / "files";
  if (is_foreign(staging.staging_))
    return Error{ErrorCode::kInvalidArgument,
                 "something else has the name that what arrives would have; move it away, or name "
                 "another place for the model",
                 staging.staging_.string(), ""};
  fs::create_directories(staging.staging_, error);
  if (error) return failed("this folder cannot be made", staging.staging_, error);
  SAM3_RETURN_IF_ERROR(staging.lock());
  return staging;
}

Status Staging::lock() {
  const fs::path path = staging_ / kLock;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return failed("this file cannot be made", path, last_error());
  struct stat opened {};
  struct stat named {};
  // The process that held it may just have removed the file.
  const bool held = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &opened) == 0 &&
                    stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
  if (held) {
    lock_ = descriptor;
    return {};
  }
  close(descriptor);
  return Error{ErrorCode::kUnavailable, "another process is fetching into this folder",
               folder_.string(), ""};
}

Staging::Staging(Staging&& other) noexcept
    : folder_(std::move(other.folder_)),
      staging_(std::move(other.staging_)),
      files_(std::move(other.files_)),
      lock_(std::exchange(other.lock_, -1)) {}

Staging::~Staging() {
  if (lock_ < 0) return;
  std::error_code error;
  bool arrived = false;
  for (fs::recursive_directory_iterator at(files_, error), end; !error && at != end;
       at.increment(error))
    arrived = arrived || !at->is_directory(error);
  if (!arrived) fs::remove_all(staging_, error);
  close(lock_);
}

Result<fs::path> Staging::place(const std::string& path) const {
  SAM3_RETURN_IF_ERROR(make_folders(files_, path));
  return files_ / path;
}

bool Staging::holds(const ListedFile& file) const {
  const fs::path path = files_ / file.path;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
  if (!file.sha256.empty() || file.content) return is_in_place(files_, file);
  return !file.version.empty() && PartFile::version_of(path) == file.version &&
         (!file.bytes || static_cast<std::int64_t>(fs::file_size(path, error)) == *file.bytes);
}

std::int64_t Staging::bytes_of(const ListedFile& file) const {
  std::error_code error;
  for (const fs::path& path : {files_ / file.path, with_ending(files_ / file.path, ".part")})
    if (const auto bytes = fs::file_size(path, error); !error)
      return static_cast<std::int64_t>(bytes);
  return 0;
}

Result<std::int64_t> Staging::free_bytes() const {
  std::error_code error;
  const fs::space_info space = fs::space(staging_, error);
  if (error) return failed("the free space cannot be found out", staging_, error);
  constexpr auto kMost = std::uintmax_t{1} << 62;
  return static_cast<std::int64_t>(std::min(space.available, kMost));
}

void Staging::remove_others(const std::vector<ListedFile>& arrived) const {
  std::set<fs::path> wanted;
  for (const ListedFile& file : arrived) wanted.insert(files_ / file.path);
  std::vector<fs::path> others;
  std::error_code error;
  for (fs::recursive_directory_iterator at(files_, error), end; !error && at != end;
       at.increment(error))
    if (!wanted.contains(at->path())) others.push_back(at->path());
  // Folders that hold a wanted file are not empty, and so stay.
  for (auto other = others.rbegin(); other != others.rend(); ++other) fs::remove(*other, error);
}

// Takes the graphs out of every folder of the model that something of `paths` goes to; those that
// do not change are added to `paths`, to come back with the others.
Status Staging::withdraw_graphs(std::vector<std::string>& paths) const {
  std::set<fs::path> folders;
  for (const std::string& path : paths) folders.insert(fs::path(path).parent_path());
  const std::set<std::string> arrived(paths.begin(), paths.end());
  std::error_code error;
  for (const fs::path& folder : folders) {
    for (fs::directory_iterator at(folder_ / folder, error), end; !error && at != end;
         at.increment(error)) {
      const std::string path = (folder / at->path().filename()).generic_string();
      if (!is_graph(path)) continue;
      std::error_code moved;
      if (arrived.contains(path)) {
        fs::remove(at->path(), moved);
      } else {
        fs::rename(at->path(), files_ / path, moved);
        paths.push_back(path);
      }
      if (moved) return failed("the old graph cannot be taken away", at->path(), moved);
    }
  }
  return {};
}

Status Staging::install_one(const std::string& path) const {
  const fs::path target = folder_ / path;
  SAM3_RETURN_IF_ERROR(make_folders(folder_, path));
  std::error_code error;
  fs::rename(files_ / path, target, error);
  if (error) return failed("the file cannot be put into place", target, error);
  return {};
}

Status Staging::install(const std::vector<ListedFile>& arrived) {
  std::error_code error;
  remove_others(arrived);
  // An empty folder may be replaced, but not one that someone stands in.
  const bool replaceable = staging_.parent_path() != folder_ &&
                           fs::current_path(error) != folder_ && fs::is_empty(folder_, error);
  const bool is_new = !fs::exists(folder_, error) || replaceable;
  if (is_new) {
    fs::rename(files_, folder_, error);
    if (error) return failed("the model cannot be put into place", folder_, error);
  } else {
    std::vector<std::string> paths;
    for (const ListedFile& file : arrived) paths.push_back(file.path);
    SAM3_RETURN_IF_ERROR(withdraw_graphs(paths));
    for (const bool graphs : {false, true})
      for (const std::string& path : paths)
        if (is_graph(path) == graphs) SAM3_RETURN_IF_ERROR(install_one(path));
  }
  fs::remove_all(staging_, error);
  close(std::exchange(lock_, -1));
  return {};
}

}  // namespace sam3::fetch
