// What `segment`, `detect` and `classes` do with a picture and its detections.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common.h"
#include "formats/json.h"
#include "sam3/sam3.h"

namespace sam3::cli {

// Where the results of one picture go; what is empty is left out.
struct PictureTargets {
  std::filesystem::path overlay;
  std::filesystem::path masks;  // folder
  std::string name;             // of the picture, for the names of its masks
  bool areas = true;            // false: no mask is made at all
  bool rle = false;
};

// An example box from --box or --negative-box; at most one of them.
Result<std::optional<Exemplar>> parse_exemplar(const std::string& box, const std::string& negative);

// Asks every prompt; detections in the order of the prompts, then by falling score. The threshold
// and the example are `options`'. Without prompts the example alone is asked.
Result<std::vector<Detection>> detect_all(const Model& model, const ImageFeatures& features,
                                          const std::vector<std::string>& prompts,
                                          const sam3::DetectOptions& options);

// Writes overlay and masks and describes the detections, one mask at a time. `merged` may be empty
// or holds, for every detection, the others that it stands for.
Result<std::vector<formats::DetectionEntry>> write_detections(
    const Picture& picture, const std::vector<Detection>& detections,
    const std::vector<std::vector<Detection>>& merged, const PictureTargets& targets);

// The head of a picture's JSON document.
formats::DocumentHead document_head(const std::string& image, const LoadedPicture& loaded,
                                    const Model& model, const Timings& timings);

// A warning for each prompt whose end does not fit into the model.
std::vector<std::string> dropped_text(const Model& model, const std::vector<std::string>& prompts);

// Notes of the picture reader.
void note_warnings(const std::string& image, const LoadedPicture& loaded);

}  // namespace sam3::cli
