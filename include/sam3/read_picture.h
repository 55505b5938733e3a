// Reading picture files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "sam3/export.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3 {

struct ReadOptions {
  // A picture of more pixels is refused before anything is decoded. A file with less than one byte
  // for every thousand pixels may claim only a tenth of it, since such files are mostly made to
  // exhaust memory: a picture of 600 megapixels passes as an ordinary JPEG file, but not from
  // 400 kilobytes. The program's option is --max-pixels.
  std::int64_t max_pixels = 1'000'000'000;
  // Take a picture whose data ends early or is damaged in places, with a warning; what is missing
  // is grey. Files without any picture data are refused all the same.
  bool allow_truncated = false;
};

// Reads a JPEG, PNG, WebP, TIFF, GIF, HEIC or AVIF picture; the content decides, not the name.
//
// The result is what a viewer shows: upright by its EXIF orientation (values outside 1 to 8 and
// broken EXIF blocks count as 1), converted from its colour profile to sRGB, 16 bits scaled down to
// 8 by v >> 8, transparent parts flattened on white. CMYK without a profile becomes
// (255 - C) * (255 - K) / 255. Of several pages or frames the first is taken, with a warning.
// Another warning names the highest value of a 16-bit picture that uses only 12 bits or less (not
// looked for in pictures with a colour profile other than sRGB).
//
// Memory: the pixels of the result, and what the decoder needs for a band of rows (for a
// progressive or interlaced file, and for HEIC, AVIF and WebP: for the whole picture).
// Starts no threads (the codecs of HEIC, AVIF and WebP may); may be called from several threads at
// once.
//
// Errors, with Error::file set: kNotFound (missing, or not readable), kInvalidArgument (a folder),
// kBadData (empty, not a picture, damaged or cut off), kUnsupported (a format or sample type that
// is not read; the message names it and a way to convert), kLimit (too many pixels, or not enough
// memory).
SAM3_API Result<LoadedPicture> read_picture(const std::filesystem::path& path,
                                            const ReadOptions& options = {});

// The same from the bytes of a file; Error::file is empty.
SAM3_API Result<LoadedPicture> read_picture_bytes(std::span<const std::uint8_t> bytes,
                                                  const ReadOptions& options = {});

}  // namespace sam3
