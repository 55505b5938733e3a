// Names for result files that neither collide nor leave their folder.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sam3::formats {

// One name for each picture, to which callers add a suffix such as ".json": its path below the
// deepest folder that all pictures share, with its ending, so that a.jpg, a.png and sub/a.jpg give
// three names. Parts are separated by "/"; a name may need its folders to be made.
//
// Names are valid UTF-8, made of parts that are safe on common systems: control characters,
// malformed bytes and the signs \ : * ? " < > | become "_", so does a "-" at the start, and parts
// are cut to a length that leaves room for suffixes. No two are equal, even where upper and lower
// case or composed and decomposed letters count as the same: later ones get "-2", "-3", ...
std::vector<std::string> picture_names(std::span<const std::filesystem::path> pictures);

// One name without folders for each prompt, in the same way: everything but letters, digits, "-"
// and "." inside becomes "_". Prompts that are equal share a name.
std::vector<std::string> prompt_names(std::span<const std::string> prompts);

}  // namespace sam3::formats
