#include "fetch/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/macros.h"

namespace sam3::fetch {

namespace fs = std::filesystem;

namespace {

fs::path with_ending(const fs::path& file, const char* ending) {
  fs::path longer = file;
  longer += ending;
  return longer;
}

// The two lines of a tag; nothing of a damaged one.
std::pair<std::string, std::string> read_tag(const fs::path& tag) {
  std::ifstream stream(tag, std::ios::binary);
  std::string version;
  std::string validator;
  if (!std::getline(stream, version) || !std::getline(stream, validator)) return {};
  return {version, validator};
}

}  // namespace

Result<PartFile> PartFile::open(const fs::path& file, const std::string& version) {
  PartFile part;
  part.file_ = file;
  part.part_ = with_ending(file, ".part");
  part.tag_ = with_ending(file, ".part.tag");
  part.version_ = version;
  const auto [known, validator] = read_tag(part.tag_);
  const bool same = !version.empty() && known == version;
  part.descriptor_ = ::open(part.part_.c_str(),
                            O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (same ? 0 : O_TRUNC), 0666);
  if (part.descriptor_ < 0) return part.failed("the file cannot be written");
  if (!same) {
    SAM3_RETURN_IF_ERROR(part.write_tag());
    return part;
  }
  part.validator_ = validator;
  std::vector<char> block(1 << 20);
  while (true) {
    const ssize_t count = ::read(part.descriptor_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return part.failed("what is there already cannot be read");
    if (count == 0) return part;
    part.sum_.update({block.data(), static_cast<std::size_t>(count)});
    part.size_ += count;
  }
}

std::string PartFile::version_of(const fs::path& file) {
  return read_tag(with_ending(file, ".part.tag")).first;
}

PartFile::PartFile(PartFile&& other) noexcept
    : file_(std::move(other.file_)),
      part_(std::move(other.part_)),
      tag_(std::move(other.tag_)),
      version_(std::move(other.version_)),
      validator_(std::move(other.validator_)),
      size_(other.size_),
      sum_(std::move(other.sum_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PartFile::~PartFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Error PartFile::failed(const char* what) const {
  return {ErrorCode::kRuntime,
          std::string(what) + " (" + std::generic_category().message(errno) + ")",
          part_.string(),
          {}};
}

Status PartFile::write_tag() const {
  std::ofstream stream(tag_, std::ios::binary);
  stream << version_ << '\n' << validator_ << '\n';
  stream.close();
  if (stream) return {};
  return Error{ErrorCode::kRuntime, "this file cannot be written", tag_.string(), ""};
}

Status PartFile::set_validator(const std::string& validator) {
  if (validator == validator_) return {};
  validator_ = validator;
  return write_tag();
}

Status PartFile::append(std::string_view bytes) {
  sum_.update(bytes);
  size_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("the file cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status PartFile::restart() {
  if (ftruncate(descriptor_, 0) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0)
    return failed("the file cannot be begun anew");
  size_ = 0;
  sum_ = {};
  return set_validator("");
}

Status PartFile::finish() {
  // On the disk before it has its name: after a power cut it is whole or not there.
  if (fsync(descriptor_) != 0) return failed("the file cannot be written");
  if (close(std::exchange(descriptor_, -1)) != 0) return failed("the file cannot be closed");
  if (std::rename(part_.c_str(), file_.c_str()) != 0)
    return failed("the file cannot be put into place");
  return {};
}

void PartFile::discard() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  unlink(part_.c_str());
  unlink(tag_.c_str());
}

}  // namespace sam3::fetch
