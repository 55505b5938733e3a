#include "formats/checksum.h"

#include <glib.h>

#include <fstream>
#include <memory>
#include <vector>

namespace sam3::formats {

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{ErrorCode::kNotFound, "this file cannot be opened", path.string(), ""};
  const std::unique_ptr<GChecksum, decltype(&g_checksum_free)> sum(
      g_checksum_new(G_CHECKSUM_SHA256), g_checksum_free);
  std::vector<char> block(1 << 20);
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    g_checksum_update(sum.get(), reinterpret_cast<const guchar*>(block.data()),
                      static_cast<gssize>(stream.gcount()));
  }
  if (stream.bad())
    return Error{ErrorCode::kBadData, "reading this file failed", path.string(), ""};
  return std::string(g_checksum_get_string(sum.get()));
}

}  // namespace sam3::formats
