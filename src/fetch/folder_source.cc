// A package on this machine.
#include <algorithm>
#include <fstream>
#include <vector>

#include "base/macros.h"
#include "fetch/source.h"

namespace sam3::fetch {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFiles = 10'000;  // a folder with more is no package

class FolderSource : public Source {
 public:
  explicit FolderSource(fs::path folder) : folder_(std::move(folder)) {}

  // Links to files are followed, as in download caches; links to folders are not.
  Result<Listing> list() override {
    Listing listing;
    std::error_code error;
    fs::recursive_directory_iterator at(folder_, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string name = at->path().filename().string();
      std::error_code ignored;
      const bool is_folder = at->is_directory(ignored);
      if (name.starts_with('.') || (is_folder && at.depth() > 0)) at.disable_recursion_pending();
      if (name.starts_with('.') || is_folder || !at->is_regular_file(ignored)) continue;
      ListedFile file;
      file.path = at->path().lexically_relative(folder_).generic_string();
      SAM3_RETURN_IF_ERROR(check_relative_path(file.path));
      file.bytes = static_cast<std::int64_t>(at->file_size(ignored));
      listing.files.push_back(std::move(file));
      if (listing.files.size() > kMostFiles)
        return Error{ErrorCode::kLimit, "a folder with so many files is no model package",
                     folder_.string(), ""};
    }
    if (error)
      return Error{ErrorCode::kNotFound, "this folder cannot be read (" + error.message() + ")",
                   folder_.string(), ""};
    std::sort(listing.files.begin(), listing.files.end(),
              [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
    return listing;
  }

  Result<std::string> text(const ListedFile& file) override {
    const fs::path path = folder_ / file.path;
    if (file.bytes.value_or(0) > kMostTextBytes)
      return Error{ErrorCode::kLimit, "this file is too large for what it should be", path.string(),
                   ""};
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
      return Error{ErrorCode::kNotFound, "this file cannot be opened", path.string(), ""};
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }

  Status get(const ListedFile& file, const fs::path& target, const ByteCounter& counter) override {
    const fs::path path = folder_ / file.path;
    const auto refused = [&](const std::string& what) {
      return Error{ErrorCode::kBadData, what, path.string(), ""};
    };
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
      return Error{ErrorCode::kNotFound, "this file cannot be opened", path.string(), ""};
    SAM3_ASSIGN_OR_RETURN(PartFile part, PartFile::open(target, ""));
    std::vector<char> block(1 << 20);
    while (stream) {
      stream.read(block.data(), static_cast<std::streamsize>(block.size()));
      const std::string_view bytes(block.data(), static_cast<std::size_t>(stream.gcount()));
      if (part.size() == 0)
        if (const auto what = impostor(file.path, bytes)) return refused("this is " + *what);
      SAM3_RETURN_IF_ERROR(part.append(bytes));
      if (counter) counter(part.size());
    }
    if (stream.bad()) return refused("reading this file failed");
    if (file.bytes && part.size() != *file.bytes)
      return refused("this file has " + std::to_string(part.size()) + " bytes instead of the " +
                     std::to_string(*file.bytes) + " that are recorded");
    const std::string sum = part.sha256();
    if (!file.sha256.empty() && sum != file.sha256)
      return refused("this file has the SHA-256 " + sum + " instead of " + file.sha256);
    return part.finish();
  }

  Trust trust() const override { return Trust::kRecord; }
  bool is_local() const override { return true; }

 private:
  fs::path folder_;
};

}  // namespace

std::unique_ptr<Source> folder_source(const fs::path& folder) {
  return std::make_unique<FolderSource>(folder);
}

}  // namespace sam3::fetch
