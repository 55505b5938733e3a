#include "picture_list.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

#include "base/utf8.h"
#include "formats/output_paths.h"
#include "sam3/model.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 16> kPictureEndings{
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png",  ".webp", ".tif", ".tiff",
    ".gif", ".bmp",  ".jxl", ".heic", ".heif", ".avif", ".jp2", ".ppm"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Compares runs of digits by value, everything else by byte.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
      continue;
    }
    const auto number_end = [](const std::string& text, std::size_t from) {
      while (from < text.size() && is_digit(text[from])) ++from;
      return from;
    };
    const auto without_zeros = [](const std::string& text, std::size_t from, std::size_t end) {
      while (from + 1 < end && text[from] == '0') ++from;
      return text.substr(from, end - from);
    };
    const std::size_t a_end = number_end(a, i);
    const std::size_t b_end = number_end(b, j);
    const std::string x = without_zeros(a, i, a_end);
    const std::string y = without_zeros(b, j, b_end);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    i = a_end, j = b_end;
  }
  return a.size() - i < b.size() - j;
}

void add_folder(const fs::path& folder, std::vector<fs::path>& pictures) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) {
      std::error_code ignored;
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
      continue;
    }
    const std::string ending = formats::lower_ending(entry->path());
    const bool picture =
        std::find(kPictureEndings.begin(), kPictureEndings.end(), ending) != kPictureEndings.end();
    std::error_code ignored;
    if (picture && entry->is_regular_file(ignored)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.string(), b.string());
  });
  pictures.insert(pictures.end(), found.begin(), found.end());
}

// False if nothing matches.
bool add_matches(const std::string& pattern, std::vector<fs::path>& pictures) {
  glob_t matches{};
  const bool found = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches) == 0;
  std::vector<std::string> names;
  for (std::size_t i = 0; found && i < matches.gl_pathc; ++i)
    names.emplace_back(matches.gl_pathv[i]);
  globfree(&matches);
  std::sort(names.begin(), names.end(), natural_less);
  pictures.insert(pictures.end(), names.begin(), names.end());
  return !names.empty();
}

std::string trimmed(std::string text) {
  const auto blank = [](char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
  };
  while (!text.empty() && blank(text.back())) text.pop_back();
  const auto first = std::find_if_not(text.begin(), text.end(), blank);
  text.erase(text.begin(), first);
  return text;
}

}  // namespace

Result<std::vector<fs::path>> list_pictures(const std::vector<std::string>& arguments) {
  std::vector<fs::path> pictures;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (fs::is_directory(argument, error))
      add_folder(argument, pictures);
    else if (fs::exists(fs::symlink_status(argument, error)) || !add_matches(argument, pictures))
      pictures.emplace_back(argument);
  }
  if (pictures.empty())
    return Error{ErrorCode::kInvalidArgument, "there is no picture in what was given", "", ""};
  return pictures;
}

Result<ClassList> read_class_file(const fs::path& path) {
  const auto error = [&](ErrorCode code, std::string message) {
    return Error{code, std::move(message), path.string(), ""};
  };
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !fs::is_regular_file(path, ignored))
    return error(ErrorCode::kNotFound, "this class list cannot be read");
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  ClassList list;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (find_invalid_utf8(line))
      return error(ErrorCode::kInvalidArgument,
                   "line " + std::to_string(number) + " is not valid UTF-8: '" +
                       replace_invalid_utf8(line) + "'; save the list as UTF-8");
    line = trimmed(line);
    if (is_blank_prompt(line)) continue;
    if (std::find(list.names.begin(), list.names.end(), line) != list.names.end())
      list.notes.push_back("the class '" + line + "' stands more than once in " + path.string() +
                           "; it is asked once");
    else
      list.names.push_back(line);
  }
  if (list.names.empty())
    return error(ErrorCode::kInvalidArgument, "this class list holds no name");
  return list;
}

}  // namespace sam3::cli
