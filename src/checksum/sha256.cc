#include "checksum/sha256.h"

#include <glib.h>

#include <fstream>
#include <vector>

namespace sam3 {

namespace {

template <typename State>
GChecksum* library(State* state) {
  return reinterpret_cast<GChecksum*>(state);
}

}  // namespace

void Sha256::Free::operator()(State* state) const { g_checksum_free(library(state)); }

Sha256::Sha256() : state_(reinterpret_cast<State*>(g_checksum_new(G_CHECKSUM_SHA256))) {}

void Sha256::update(std::string_view bytes) {
  g_checksum_update(library(state_.get()), reinterpret_cast<const guchar*>(bytes.data()),
                    static_cast<gssize>(bytes.size()));
}

std::string Sha256::hex() const {
  // Asking for the digits ends a sum, so a copy is asked.
  GChecksum* copy = g_checksum_copy(library(state_.get()));
  std::string digits = g_checksum_get_string(copy);
  g_checksum_free(copy);
  return digits;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{ErrorCode::kNotFound, "this file cannot be opened", path.string(), ""};
  Sha256 sum;
  std::vector<char> block(1 << 20);
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    sum.update({block.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (stream.bad())
    return Error{ErrorCode::kBadData, "reading this file failed", path.string(), ""};
  return sum.hex();
}

}  // namespace sam3
