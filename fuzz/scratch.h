// What the fuzzers share: the input as text, and files for parsers that read files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "support/files.h"

namespace sam3::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What stands before and after the first zero byte.
inline std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return {text, {}};
  return {text.substr(0, zero), text.substr(zero + 1)};
}

// Ends the program, as a finding, unless `holds`.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// A folder that goes when the program ends.
class Scratch {
 public:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    test::write_file(path(name), std::string(content));
    return path(name);
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace sam3::fuzz
