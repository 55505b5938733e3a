// NumPy's array files, for looking at tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "sam3/result.h"

namespace sam3::formats {

// Writes `values`, row-major of `shape`, as a .npy file (format 1.0). The file appears only when it
// is whole. kInvalidArgument when the shape does not hold as many values.
Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                 std::span<const float> values);
Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                 std::span<const std::uint8_t> values);

}  // namespace sam3::formats
