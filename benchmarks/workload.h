// Made-up pictures and masks of realistic size, and the program's way from a file to its results
// without the graphs in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/json.h"
#include "mask/upsample.h"
#include "sam3/mask.h"
#include "sam3/picture.h"

namespace sam3::bench {

// Sizes of the published text graphs: the vision encoder's input and the detector's masks.
constexpr int kInputSide = 1008;
constexpr int kMaskSide = 288;

// A folder for temporary files that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A picture that packs like a photo: smooth shades, texture at several scales, objects with sharp
// edges where the first masks are, and grain. The same on every machine.
Picture make_photo(Size size);

// The detector's output for `count` objects of 2 to 8 % of the picture each, packed with the
// leftmost column in the highest bit.
class PackedMasks {
 public:
  explicit PackedMasks(int count);

  int count() const { return count_; }
  mask::BitPlane plane(int index) const;

 private:
  int count_;
  std::vector<std::uint8_t> bits_;
};

// The mask logits of one such object, rows of kMaskSide values.
std::vector<float> make_logits(int index);

// What the vision encoder takes: [3, side, side], normalised. In the calling thread.
std::vector<float> preprocess(const Picture& picture, int side);

// The entry of the document for a detection with this mask: area, box and run lengths.
formats::DetectionEntry describe(const Mask& mask, int index);

// Writes the document of a picture with these detections.
void write_document(const std::filesystem::path& path, Size picture,
                    const std::vector<formats::DetectionEntry>& entries);

// What `sam3 segment --masks --json --rle` does around the graphs, in the calling thread: reads the
// picture, makes the encoder's input, then, one mask at a time, enlarges it, describes it and
// writes it as PNG, and writes the JSON document. Throws BadResult when something fails.
void run_path(const std::filesystem::path& picture, const PackedMasks& masks,
              const TemporaryFolder& results);

}  // namespace sam3::bench
