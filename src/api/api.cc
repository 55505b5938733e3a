// The library's functions live in the layers; this file keeps the facade a target of its own and
// proves that the public headers are enough to compile against.
#include "sam3/sam3.h"
