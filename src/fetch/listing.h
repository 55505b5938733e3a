// What a package consists of, from the lists that hubs and packages keep: untrusted text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/model.h"
#include "sam3/result.h"

namespace sam3::fetch {

struct ListedFile {
  std::string path;  // relative, with /; checked by check_relative_path
  std::optional<std::int64_t> bytes;
  std::string sha256;  // lower case; empty if unknown
  // Changes when the content does: the SHA-256, another hash, or the server's own mark. Empty if
  // nothing of the kind is known.
  std::string version;
  std::optional<std::string> content;  // if it had to be read already
};

struct Listing {
  std::string name;          // of the model; empty if unknown
  std::string licence;       // as the package names it; empty if it does not
  std::string licence_page;  // where to read it; may be empty
  std::vector<ListedFile> files;
  std::vector<std::string> notes;  // what a user should be told, a sentence each

  const ListedFile* find(std::string_view path) const;
  ListedFile* find(std::string_view path);
};

// A path that stays inside the folder it is joined to, and that every file system takes: refuses
// absolute ones, drive letters, backslashes, empty parts, "." and "..", control characters,
// malformed UTF-8 and parts of more than 255 bytes. kBadData names the path and what is wrong.
Status check_relative_path(std::string_view path);

// No path twice, also if letters differ in case only, and none that is a folder of another.
Status check_distinct(const std::vector<ListedFile>& files);

// One page of a hub's answer to .../tree/REVISION?recursive=true: an array of
// {type, path, size, oid, lfs: {oid, size}}. Folders are left out. kBadData for what is not such a
// list, a path that check_relative_path refuses, a link, or a size that is none.
Result<std::vector<ListedFile>> parse_hub_tree(std::string_view json);

// The files that a package's quantization.json or model.json records: {"graphs": {GRAPH: {"files":
// {NAME: {"bytes", "sha256"}}}}, "files": {PATH: {"bytes", "sha256"}}}, all of it optional.
// kBadData for what is no JSON object, and for a path, size or hash that is none.
Result<std::vector<ListedFile>> parse_record(std::string_view json);

// Takes name and licence of model.json, where they are strings.
Status read_description(std::string_view json, Listing& listing);

// Whose word counts where a listing and the package's own record differ.
enum class Trust { kListing, kRecord };

// Adds the hashes and sizes that the record knows. Where it contradicts the listing, the one that
// is trusted stays; if that is the listing, a note says so. If it is the record, files that only
// it knows are added, but not to folders of which nothing is listed: a package may hold one
// workflow only.
void merge_record(const std::vector<ListedFile>& record, Trust trust, Listing& listing);

// The licences that let everyone use what they cover without agreeing to anything first: Apache,
// MIT, BSD, public domain. Names are compared without regard to case.
bool is_permissive(std::string_view licence);

// Leaves the files that belong to a model: of both workflows, or of one with what it shares (text:
// tokenizer; both: JSON files, licence). `strict` also drops files in places that no model has.
// kNotFound if no graph of what is asked for is left.
Status select_files(std::optional<Workflow> only, bool strict, Listing& listing);

}  // namespace sam3::fetch
