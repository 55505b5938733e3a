// SAM3_API marks what the shared library shows; everything else is hidden.
#pragma once

#if defined(_WIN32)
#define SAM3_API
#else
#define SAM3_API __attribute__((visibility("default")))
#endif
