// From arguments to picture files, and from a file to class names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sam3/result.h"

namespace sam3::cli {

// A name that exists is that file or folder; only then it is tried as a pattern (*, ?, [ ]). Of a
// folder, all files with a picture's ending, also in folders below, in natural order (img2 before
// img10); hidden files are left out. A name that is neither stays in the list, so that its picture
// fails by name. kInvalidArgument if nothing is left.
Result<std::vector<std::filesystem::path>> list_pictures(const std::vector<std::string>& arguments);

struct ClassList {
  std::vector<std::string> names;
  std::vector<std::string> notes;  // e.g. of names that stand twice
};

// One name per line: a byte order mark, carriage returns and blanks around names are dropped, blank
// lines are skipped, repetitions merged with a note. kInvalidArgument for a line that is no valid
// UTF-8 (with its number) and for a file without names, kNotFound for a missing file.
Result<ClassList> read_class_file(const std::filesystem::path& path);

}  // namespace sam3::cli
