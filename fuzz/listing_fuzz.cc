// What a hub or a package says it consists of. Behind a zero byte: the package's own record.
#include "fetch/listing.h"
#include "scratch.h"

namespace {

using namespace sam3;

// Nothing that is downloaded may leave the folder that it goes to.
void check_paths(const std::vector<fetch::ListedFile>& files) {
  for (const auto& file : files) {
    const std::filesystem::path path(file.path);
    fuzz::require(fetch::check_relative_path(file.path).ok() && path.is_relative() &&
                  path == path.lexically_normal() && *path.begin() != "..");
    fuzz::require(!file.bytes || *file.bytes >= 0);
    fuzz::require(file.sha256.empty() || file.sha256.size() == 64);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [list_text, record_text] = fuzz::halves(fuzz::text_of(data, size));
  fetch::Listing listing;
  static_cast<void>(fetch::read_description(record_text, listing));
  static_cast<void>(fetch::is_permissive(listing.licence));
  if (auto files = fetch::parse_hub_tree(list_text); files.ok()) listing.files = std::move(*files);
  const auto record = fetch::parse_record(record_text);
  if (record.ok())
    for (const auto trust : {fetch::Trust::kListing, fetch::Trust::kRecord})
      fetch::merge_record(*record, trust, listing);
  check_paths(listing.files);
  static_cast<void>(fetch::check_distinct(listing.files));
  if (fetch::select_files(std::nullopt, true, listing).ok()) check_paths(listing.files);
  return 0;
}
