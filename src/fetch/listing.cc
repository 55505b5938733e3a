#include "fetch/listing.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/macros.h"
#include "base/utf8.h"

namespace sam3::fetch {

using nlohmann::json;

namespace {

constexpr std::size_t kLongestPart = 255;   // of a name in the file systems in use
constexpr std::size_t kLongestPath = 1024;  // with what it is joined to, below PATH_MAX
constexpr std::int64_t kLargestFile = std::int64_t{1} << 50;

Error bad(std::string message) { return Error{ErrorCode::kBadData, std::move(message), "", ""}; }

json parse(std::string_view text) { return json::parse(text, nullptr, false); }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// What is wrong with one part of a path; empty if nothing is.
std::string part_problem(std::string_view part) {
  if (part.empty()) return "has an empty part";
  if (part == "." || part == "..") return "has the part '" + std::string(part) + "'";
  if (part.size() > kLongestPart) return "has a part of more than 255 bytes";
  return "";
}

std::string path_problem(std::string_view path) {
  if (path.empty()) return "is empty";
  if (path.size() > kLongestPath) return "is longer than 1024 bytes";
  if (path.front() == '/') return "is absolute";
  if (path.find('\\') != std::string_view::npos) return "has a backslash";
  if (path.size() > 1 && path[1] == ':') return "starts with a drive letter";
  if (find_invalid_utf8(path)) return "is not valid UTF-8";
  const bool control = std::any_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control) return "has a control character";
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string problem = part_problem(path.substr(0, slash));
    if (!problem.empty() || slash == std::string_view::npos) return problem;
    path.remove_prefix(slash + 1);
  }
}

// The member as a string; empty if it is not there or null.
Result<std::string> text_member(const json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string())
    return bad("the \"" + std::string(key) + "\" of '" + path + "' is no string");
  return found->get<std::string>();
}

Result<std::optional<std::int64_t>> size_member(const json& object, const char* key,
                                                const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<std::int64_t>();
  const bool good = found->is_number_unsigned() &&
                    found->get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestFile);
  if (!good)
    return bad("the size of '" + path + "' is given as " +
               (found->is_number() ? found->dump() : std::string(found->type_name())));
  return std::optional(found->get<std::int64_t>());
}

Result<std::string> checked_sha256(const std::string& text, const std::string& path) {
  const std::string lower = lower_case(text);
  const bool good =
      lower.size() == 64 && lower.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!good && !lower.empty())
    return bad("the SHA-256 of '" + path + "' is given as '" + text + "'");
  return lower;
}

Result<ListedFile> hub_file(const json& entry) {
  const auto path = entry.find("path");
  if (path == entry.end() || !path->is_string()) return bad("an entry of the list has no path");
  ListedFile file;
  file.path = path->get<std::string>();
  SAM3_RETURN_IF_ERROR(check_relative_path(file.path));
  SAM3_ASSIGN_OR_RETURN(const std::string type, text_member(entry, "type", file.path));
  if (type != "file")
    return bad("'" + replace_invalid_utf8(file.path) + "' is a '" + type +
               "', not a file or folder");
  SAM3_ASSIGN_OR_RETURN(file.bytes, size_member(entry, "size", file.path));
  SAM3_ASSIGN_OR_RETURN(file.version, text_member(entry, "oid", file.path));
  const auto lfs = entry.find("lfs");
  if (lfs == entry.end() || !lfs->is_object()) return file;
  SAM3_ASSIGN_OR_RETURN(const std::string sum, text_member(*lfs, "oid", file.path));
  SAM3_ASSIGN_OR_RETURN(file.sha256, checked_sha256(sum, file.path));
  SAM3_ASSIGN_OR_RETURN(const auto bytes, size_member(*lfs, "size", file.path));
  if (bytes) file.bytes = bytes;
  if (!file.sha256.empty()) file.version = file.sha256;
  return file;
}

// {NAME: {bytes, sha256}}, or {NAME: sha256}; entries of another form say nothing that we know.
Status add_recorded(const json& files, const std::string& folder, std::vector<ListedFile>& all) {
  if (!files.is_object()) return {};
  for (const auto& [name, entry] : files.items()) {
    ListedFile file;
    file.path = folder.empty() ? name : folder + "/" + name;
    SAM3_RETURN_IF_ERROR(check_relative_path(file.path));
    std::string sum;
    if (entry.is_string()) {
      sum = entry.get<std::string>();
    } else if (entry.is_object()) {
      SAM3_ASSIGN_OR_RETURN(sum, text_member(entry, "sha256", file.path));
      SAM3_ASSIGN_OR_RETURN(file.bytes, size_member(entry, "bytes", file.path));
    } else {
      continue;
    }
    SAM3_ASSIGN_OR_RETURN(file.sha256, checked_sha256(sum, file.path));
    file.version = file.sha256;
    all.push_back(std::move(file));
  }
  return {};
}

// Whether anything is listed in the same folder; always true for files that are in none.
bool has_folder_of(std::string_view path, const Listing& listing) {
  const std::string_view folder = path.substr(0, path.rfind('/') + 1);
  return path.find('/') == std::string_view::npos ||
         std::any_of(listing.files.begin(), listing.files.end(), [&](const ListedFile& file) {
           return std::string_view(file.path).starts_with(folder);
         });
}

}  // namespace

const ListedFile* Listing::find(std::string_view path) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ListedFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

ListedFile* Listing::find(std::string_view path) {
  return const_cast<ListedFile*>(std::as_const(*this).find(path));
}

Status check_relative_path(std::string_view path) {
  const std::string problem = path_problem(path);
  if (problem.empty()) return {};
  return bad("the listed path '" + replace_invalid_utf8(path.substr(0, 200)) + "' " + problem +
             " and is refused");
}

Status check_distinct(const std::vector<ListedFile>& files) {
  std::set<std::string> seen;
  for (const ListedFile& file : files)
    if (!seen.insert(lower_case(file.path)).second)
      return bad("the path '" + file.path + "' is listed twice");
  for (const std::string& path : seen)
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      if (seen.contains(path.substr(0, slash)))
        return bad("the listed path '" + path.substr(0, slash) + "' is a file and a folder");
  return {};
}

Result<std::vector<ListedFile>> parse_hub_tree(std::string_view text) {
  const json document = parse(text);
  if (!document.is_array()) return bad("the list of files is not a JSON array");
  std::vector<ListedFile> files;
  for (const json& entry : document) {
    if (!entry.is_object()) return bad("an entry of the list of files is not an object");
    const auto type = entry.find("type");
    if (type != entry.end() && *type == "directory") continue;
    SAM3_ASSIGN_OR_RETURN(ListedFile file, hub_file(entry));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<ListedFile>> parse_record(std::string_view text) {
  const json document = parse(text);
  if (!document.is_object()) return bad("this is not a JSON object");
  std::vector<ListedFile> files;
  if (const auto graphs = document.find("graphs"); graphs != document.end() && graphs->is_object())
    for (const auto& [graph, entry] : graphs->items())
      if (entry.is_object() && entry.contains("files"))
        SAM3_RETURN_IF_ERROR(add_recorded(entry["files"], graph, files));
  if (const auto others = document.find("files"); others != document.end())
    SAM3_RETURN_IF_ERROR(add_recorded(*others, "", files));
  return files;
}

Status read_description(std::string_view text, Listing& listing) {
  const json document = parse(text);
  if (!document.is_object()) return bad("model.json is not a JSON object");
  for (const auto& [key, target] :
       {std::pair{"name", &listing.name}, std::pair{"licence", &listing.licence},
        std::pair{"license", &listing.licence}})
    if (const auto found = document.find(key); found != document.end() && found->is_string())
      *target = found->get<std::string>();
  return {};
}

void merge_record(const std::vector<ListedFile>& record, Trust trust, Listing& listing) {
  for (const ListedFile& known : record) {
    ListedFile* file = listing.find(known.path);
    if (!file) {
      if (trust == Trust::kRecord && has_folder_of(known.path, listing))
        listing.files.push_back(known);
      continue;
    }
    const bool sizes_differ = file->bytes && known.bytes && *file->bytes != *known.bytes;
    const bool sums_differ =
        !file->sha256.empty() && !known.sha256.empty() && file->sha256 != known.sha256;
    if (trust == Trust::kListing && (sizes_differ || sums_differ)) {
      listing.notes.push_back("the package's own record describes another '" + file->path +
                              "' than the one that is offered");
      continue;
    }
    if (known.bytes) file->bytes = known.bytes;
    if (!known.sha256.empty()) file->sha256 = file->version = known.sha256;
  }
}

}  // namespace sam3::fetch
