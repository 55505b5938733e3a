#include "formats/write_json.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/macros.h"
#include "formats/atomic_file.h"
#include "formats/json.h"

namespace sam3::formats {
namespace {

Error write_error(const std::filesystem::path& path, ErrorCode code) {
  return {code,
          "the file cannot be written (" + std::generic_category().message(errno) + ")",
          path.string(),
          {}};
}

}  // namespace

Status write_json(const std::filesystem::path& path, const nlohmann::ordered_json& document) {
  SAM3_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  SAM3_RETURN_IF_ERROR(file.write(dump_json(document, 2) + "\n"));
  return file.commit();
}

Result<JsonLinesFile> JsonLinesFile::create(const std::filesystem::path& path) {
  JsonLinesFile file;
  file.path_ = path;
  file.stream_.reset(std::fopen(path.c_str(), "wb"));
  if (!file.stream_) return write_error(path, ErrorCode::kNotFound);
  return file;
}

Status JsonLinesFile::write(const nlohmann::ordered_json& document) {
  const std::string line = dump_json(document) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), stream_.get()) != line.size() ||
      std::fflush(stream_.get()) != 0)
    return write_error(path_, ErrorCode::kRuntime);
  return {};
}

}  // namespace sam3::formats
