// Short ways to the picture files of the tests.
#pragma once

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "sam3/picture.h"

namespace sam3::test {

// Files that other tools were seen to stumble over; the base scene of most is 640x480, white, with
// a black square at 120,60,280,220 and a red disc of radius 60 at 480,340.
inline std::filesystem::path trouble(const std::string& name) {
  return std::filesystem::path(SAM3_TEST_DATA) / "pictures" / name;
}

// Further files of this layer; most show the base scene at a quarter of the size.
inline std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(SAM3_TEST_DATA) / "formats" / name;
}

using Rgb = std::array<int, 3>;

inline Rgb pixel(const Picture& picture, int x, int y) {
  const std::uint8_t* p = picture.row(y) + 3 * static_cast<std::ptrdiff_t>(x);
  return {p[0], p[1], p[2]};
}

inline bool is_near(const Rgb& a, const Rgb& b, int tolerance) {
  for (std::size_t c = 0; c < 3; ++c)
    if (a[c] > b[c] + tolerance || a[c] < b[c] - tolerance) return false;
  return true;
}

inline std::vector<std::uint8_t> file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A folder of its own for a test, gone afterwards.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("sam3-formats-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  // Number of entries, temporary files included.
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(path_),
                         std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sam3::test
