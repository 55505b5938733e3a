#include "formats/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace sam3::formats {
namespace {

Error write_error(const std::filesystem::path& target, const std::string& what, int code) {
  return {code == ENOENT || code == EACCES ? ErrorCode::kNotFound : ErrorCode::kRuntime,
          what + " (" + std::generic_category().message(code) + ")",
          target.string(),
          {}};
}

// Short, since the name of the target may already be as long as names can be.
std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() /
         (".sam3-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".tmp");
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target) {
  std::error_code code;
  std::filesystem::path place = target;
  if (std::filesystem::is_symlink(target, code)) {
    place = std::filesystem::weakly_canonical(target, code);
    if (code) return write_error(target, "the link leads nowhere", code.value());
  }
  const auto status = std::filesystem::status(place, code);
  if (std::filesystem::is_directory(status))
    return Error{ErrorCode::kInvalidArgument, "this is a folder, not a file", target.string(), {}};
  const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  std::filesystem::path temporary = direct ? std::filesystem::path() : temporary_name(place);
  const int descriptor =
      direct ? open(place.c_str(), O_WRONLY | O_CLOEXEC)
             : open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return write_error(target, "the file cannot be written", errno);
  std::FILE* stream = fdopen(descriptor, "wb");
  if (!stream) {
    const int reason = errno;
    close(descriptor);
    if (!direct) unlink(temporary.c_str());
    return write_error(target, "the file cannot be written", reason);
  }
  return AtomicFile(std::move(place), std::move(temporary), stream);
}

AtomicFile::~AtomicFile() {
  if (!stream_) return;  // committed, or moved from
  stream_.reset();
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Error AtomicFile::failed(const char* what) const { return write_error(target_, what, errno); }

Status AtomicFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_.get()) != bytes.size())
    return failed("the file cannot be written");
  return {};
}

Status AtomicFile::commit() {
  if (std::fflush(stream_.get()) != 0) return failed("the file cannot be written");
  if (temporary_.empty()) {
    stream_.reset();
    return {};
  }
  // The stream stays open until the file is in place, so that the destructor still cleans up.
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
    return failed("the file cannot be put into place");
  if (std::fclose(stream_.release()) != 0) return failed("the file cannot be closed");
  return {};
}

}  // namespace sam3::formats
