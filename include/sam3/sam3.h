// Everything of the public C++ API.
#pragma once

#include "sam3/mask.h"          // IWYU pragma: export
#include "sam3/model.h"         // IWYU pragma: export
#include "sam3/picture.h"       // IWYU pragma: export
#include "sam3/read_picture.h"  // IWYU pragma: export
#include "sam3/result.h"        // IWYU pragma: export
