#include "formats/output_names.h"

#include <glib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "base/utf8.h"

namespace sam3::formats {
namespace {

constexpr std::size_t kMostBytes = 160;  // of the 255 that file systems allow

// Equal for names that some file system takes for the same.
std::string folded(const std::string& name) {
  using Text = std::unique_ptr<char, decltype(&g_free)>;
  const Text composed(
      g_utf8_normalize(name.data(), static_cast<gssize>(name.size()), G_NORMALIZE_NFKC), g_free);
  if (!composed) return name;
  const Text lower(g_utf8_casefold(composed.get(), -1), g_free);
  return lower ? std::string(lower.get()) : name;
}

// Hands out each name once.
class UniqueNames {
 public:
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; !taken_.insert(folded(name)).second; ++number)
      name = wanted + "-" + std::to_string(number);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

std::string shortened(std::string text) {
  if (text.size() <= kMostBytes) return text;
  std::size_t end = kMostBytes;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

// `keep(code point)` says what stays; the rest becomes "_".
template <typename Keep>
std::string replaced(std::string_view bytes, const Keep& keep) {
  std::string text;
  std::size_t position = 0;
  while (position < bytes.size()) {
    const auto code = decode_utf8(bytes, position);
    append_utf8(code && keep(*code) ? *code : U'_', text);
  }
  return text;
}

bool is_control(char32_t code) {
  // Also the controls of writing direction, which can make a name read as another.
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string safe_part(std::string_view bytes) {
  std::string part = shortened(replaced(bytes, [](char32_t code) {
    return !is_control(code) &&
           std::u32string_view(U"/\\:*?\"<>|").find(code) == std::u32string_view::npos;
  }));
  if (part.empty() || part.front() == '-' || part == "." || part == "..") part.insert(0, "_");
  // Some systems drop dots and blanks at the end.
  if (part.back() == '.' || part.back() == ' ') part.back() = '_';
  return part;
}

std::string prompt_part(const std::string& prompt) {
  std::string part = replaced(prompt, [](char32_t code) {
    if (code < 0x80) return g_ascii_isalnum(static_cast<gchar>(code)) || code == '-' || code == '.';
    return g_unichar_isalnum(code) || g_unichar_ismark(code);
  });
  const std::size_t first = part.find_first_not_of("_.-");
  part.erase(0, std::min(first, part.size()));
  while (!part.empty() && std::string_view("_.-").find(part.back()) != std::string_view::npos)
    part.pop_back();
  return part.empty() ? "prompt" : shortened(part);
}

std::filesystem::path plain(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(path, code);
  return (code ? path : whole).lexically_normal();
}

using Parts = std::vector<std::string>;

Parts parts_of(const std::filesystem::path& path) {
  Parts parts;
  for (const auto& part : plain(path)) parts.push_back(part.string());
  return parts;
}

// How many leading folders all paths share; their last parts are file names and do not count.
std::size_t shared_folders(const std::vector<Parts>& paths) {
  std::size_t shared = paths.empty() || paths.front().empty() ? 0 : paths.front().size() - 1;
  for (const Parts& parts : paths) {
    shared = std::min(shared, parts.empty() ? 0 : parts.size() - 1);
    for (std::size_t i = 0; i < shared; ++i)
      if (parts[i] != paths.front()[i]) shared = i;
  }
  return shared;
}

}  // namespace

std::vector<std::string> picture_names(std::span<const std::filesystem::path> pictures) {
  std::vector<Parts> paths;
  for (const auto& picture : pictures) paths.push_back(parts_of(picture));
  const std::size_t shared = shared_folders(paths);
  UniqueNames unique;
  std::vector<std::string> names;
  for (const Parts& parts : paths) {
    std::string name;
    for (std::size_t i = shared; i < parts.size(); ++i) {
      if (!name.empty()) name += '/';
      name += safe_part(parts[i]);
    }
    names.push_back(unique.take(name.empty() ? "picture" : name));
  }
  return names;
}

std::vector<std::string> prompt_names(std::span<const std::string> prompts) {
  UniqueNames unique;
  std::map<std::string, std::string> known;
  std::vector<std::string> names;
  for (const std::string& prompt : prompts) {
    const auto [entry, added] = known.try_emplace(prompt);
    if (added) entry->second = unique.take(prompt_part(prompt));
    names.push_back(entry->second);
  }
  return names;
}

}  // namespace sam3::formats
