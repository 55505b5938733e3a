// Runs a fuzzer over files and over the files of folders, in place of libFuzzer's main().
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

bool replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  std::fprintf(stderr, "%s\n", path.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  int done = 0;
  for (int i = 1; i < count; ++i) {
    if (!fs::is_directory(arguments[i])) {
      done += replay(arguments[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(arguments[i])) done += replay(entry.path());
  }
  std::printf("%d inputs\n", done);
  return done > 0 ? 0 : 1;
}
