// JSON documents into files.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "sam3/result.h"

namespace sam3::formats {

// Writes one document, indented, with a newline at its end. The file appears only when it is whole.
Status write_json(const std::filesystem::path& path, const nlohmann::ordered_json& document);

// JSON Lines: one document a line. Every line is handed to the system as soon as it is written, so
// that an interrupted run keeps what it has done.
class JsonLinesFile {
 public:
  // Replaces an existing file. kNotFound when the folder does not exist.
  static Result<JsonLinesFile> create(const std::filesystem::path& path);

  Status write(const nlohmann::ordered_json& document);

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> stream_;
};

}  // namespace sam3::formats
