// A small picture for trying out a model: a red square on a smooth ground.
#pragma once

#include "sam3/picture.h"

namespace sam3::cli {

inline constexpr const char* kMadeUpPrompt = "red square";
// A position inside the square, in pixels.
inline constexpr Point kMadeUpPoint{168, 128};

Picture made_up_picture();

}  // namespace sam3::cli
