// What an embedded ICC profile says about itself.
#pragma once

#include <cstdint>
#include <span>

namespace sam3::formats {

// Whether the profile describes itself as sRGB for RGB pictures, so that no conversion is needed.
// Such a conversion would only add rounding. False for anything malformed.
bool is_srgb_profile(std::span<const std::uint8_t> profile);

}  // namespace sam3::formats
