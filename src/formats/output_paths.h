// Checks of output paths before any work is done.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "sam3/result.h"

namespace sam3::formats {

// Endings, with the dot and in lower case.
inline constexpr std::string_view kPictureEndings[] = {".png", ".jpg", ".jpeg", ".webp"};
inline constexpr std::string_view kMaskEndings[] = {".png"};
inline constexpr std::string_view kJsonEndings[] = {".json"};
inline constexpr std::string_view kJsonLinesEndings[] = {".jsonl", ".ndjson"};

// The ending of `path` in lower case (ASCII), with its dot.
std::string lower_ending(const std::filesystem::path& path);

// Whether a file can be written at `path` in one of the formats that `kinds` lists by ending.
// Errors: kInvalidArgument for another ending (the message lists those known) or when `path` is a
// folder, kNotFound when its folder does not exist.
Status check_output_path(const std::filesystem::path& path,
                         std::span<const std::string_view> kinds);

}  // namespace sam3::formats
