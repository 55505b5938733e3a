#include <png.h>
#include <zlib.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <new>
#include <vector>

#include "base/macros.h"
#include "formats/atomic_file.h"
#include "formats/output_paths.h"
#include "formats/write_picture.h"

namespace sam3::formats {
namespace {

// The eight bytes of eight mask bits, first pixel in the lowest bit.
using ByteTable = std::array<std::array<std::uint8_t, 8>, 256>;

constexpr ByteTable make_table() {
  ByteTable table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits)
    for (std::size_t i = 0; i < 8; ++i) table[bits][i] = (bits >> i & 1) != 0 ? 255 : 0;
  return table;
}
constexpr ByteTable kTable = make_table();

void expand_row(std::span<const std::uint64_t> words, std::vector<std::uint8_t>& row) {
  std::uint8_t* out = row.data();
  for (const std::uint64_t word : words)
    for (int shift = 0; shift < 64; shift += 8, out += 8)
      std::memcpy(out, kTable[word >> shift & 255].data(), 8);
}

// Masks are long runs of two values: run lengths alone pack them well and fast.
void set_up(png_structp png, png_infop info, const Mask& mask, std::FILE* stream) {
  png_init_io(png, stream);
  png_set_compression_level(png, Z_BEST_SPEED);
  png_set_compression_strategy(png, Z_RLE);
  png_set_compression_buffer_size(png, std::size_t{1} << 16);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(png, info, static_cast<png_uint_32>(mask.width()),
               static_cast<png_uint_32>(mask.height()), 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
}

// libpng reports errors by a jump back into this function, so it holds nothing with a destructor.
bool write_png(png_structp png, png_infop info, const Mask& mask, std::FILE* stream,
               std::vector<std::uint8_t>& row) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  set_up(png, info, mask, stream);
  png_write_info(png, info);
  for (int y = 0; y < mask.height(); ++y) {
    expand_row(mask.row(y), row);
    png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  return true;
}

void ignore_warning(png_structp, png_const_charp) {}

[[noreturn]] void jump_back(png_structp png, png_const_charp) { png_longjmp(png, 1); }

}  // namespace

Status write_mask_png(const std::filesystem::path& path, const Mask& mask) {
  SAM3_RETURN_IF_ERROR(check_output_path(path, kMaskEndings));
  if (mask.width() < 1 || mask.height() < 1)
    return Error{ErrorCode::kInvalidArgument, "an empty mask cannot be written", path.string(), {}};
  try {
    std::vector<std::uint8_t> row(mask.words_per_row() * 64);
    SAM3_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, jump_back, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    const bool written = info && write_png(png, info, mask, file.stream(), row);
    png_destroy_write_struct(&png, &info);
    if (!written)
      return Error{ErrorCode::kRuntime, "the mask cannot be written", path.string(), {}};
    return file.commit();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, "not enough memory to write a mask", path.string(), {}};
  }
}

}  // namespace sam3::formats
