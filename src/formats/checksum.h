// SHA-256 of files.
#pragma once

#include <filesystem>
#include <string>

#include "sam3/result.h"

namespace sam3::formats {

// 64 lower-case hexadecimal digits. kNotFound when the file cannot be opened, kBadData when reading
// fails.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace sam3::formats
