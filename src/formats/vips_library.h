// What the files of this layer share for using libvips.
#pragma once

#include <vips/vips.h>

#include <memory>
#include <string>

#include "sam3/result.h"

namespace sam3::formats {

struct ObjectUnref {
  void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename T>
using VipsPtr = std::unique_ptr<T, ObjectUnref>;

// Prepares libvips once for the process; later calls, from any thread, return the first answer.
// No worker pool, no caches, no loaders that libvips itself does not trust with unknown files, and
// its warnings go to log_line().
Status prepare_vips();

// The last complaint of libvips on one line, and forgets it. The text is for people only: libvips
// keeps one for all threads, so under load it may belong to another file.
std::string take_vips_error();

}  // namespace sam3::formats
