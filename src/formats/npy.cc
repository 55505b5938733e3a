#include "formats/npy.h"

#include <bit>
#include <string>
#include <string_view>

#include "base/macros.h"
#include "formats/atomic_file.h"

namespace sam3::formats {
namespace {

// NEP 1: magic, version, length of the header, and a Python dictionary filled up with blanks so
// that the data starts at a multiple of 64.
std::string make_header(std::string_view type, std::span<const std::int64_t> shape) {
  std::string dictionary =
      "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    dictionary += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  dictionary += shape.size() == 1 ? ",), }" : "), }";
  std::string header("\x93NUMPY\x01\x00", 8);
  const std::size_t unpadded = header.size() + 2 + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');
  dictionary += '\n';
  header += static_cast<char>(dictionary.size() & 255);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

template <typename T>
Status write(const std::filesystem::path& path, std::string_view type,
             std::span<const std::int64_t> shape, std::span<const T> values) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  if (count != static_cast<std::int64_t>(values.size()))
    return Error{ErrorCode::kInvalidArgument,
                 "a shape of " + std::to_string(count) + " values does not fit " +
                     std::to_string(values.size()),
                 path.string(),
                 {}};
  SAM3_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  SAM3_RETURN_IF_ERROR(file.write(make_header(type, shape)));
  SAM3_RETURN_IF_ERROR(
      file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()}));
  return file.commit();
}

}  // namespace

Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                 std::span<const float> values) {
  return write(path, std::endian::native == std::endian::little ? "<f4" : ">f4", shape, values);
}

Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                 std::span<const std::uint8_t> values) {
  return write(path, "|u1", shape, values);
}

}  // namespace sam3::formats
