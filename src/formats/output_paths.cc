#include "formats/output_paths.h"

#include <algorithm>
#include <string>
#include <system_error>

namespace sam3::formats {

std::string lower_ending(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending;
}

Status check_output_path(const std::filesystem::path& path,
                         std::span<const std::string_view> kinds) {
  const std::string ending = lower_ending(path);
  if (std::find(kinds.begin(), kinds.end(), ending) == kinds.end()) {
    std::string known;
    for (const std::string_view kind : kinds) {
      if (!known.empty()) known += kind == kinds.back() ? " or " : ", ";
      known += kind;
    }
    return Error{ErrorCode::kInvalidArgument,
                 "cannot write a file with the ending \"" + ending + "\"; it must end in " + known,
                 path.string(),
                 {}};
  }
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return Error{ErrorCode::kInvalidArgument, "this is a folder, not a file", path.string(), {}};
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, code))
    return Error{ErrorCode::kNotFound,
                 "the folder " + folder.string() + " does not exist",
                 path.string(),
                 {}};
  return {};
}

}  // namespace sam3::formats
