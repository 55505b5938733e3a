// COCO's JSON files: true objects of pictures, and results.
//
// Formats: cocodataset.org/#format-data (instances) and #format-results; the additions of SA-Co are
// described in scripts/eval/gold/README.md of facebookresearch/sam3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sam3/mask.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3::eval {

// As COCO writes boxes; overlaps are computed from these numbers, as pycocotools does.
struct CocoBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  Box box() const { return {x, y, x + width, y + height}; }
};

struct CocoImage {
  std::int64_t id = 0;
  std::string file_name;
  Size size;           // zeros where the file does not say
  std::string phrase;  // "text_input" of SA-Co: the entry stands for this picture and this phrase
  bool exhaustive = true;  // "is_instance_exhaustive" of SA-Co
};

struct CocoCategory {
  std::int64_t id = 0;
  std::string name;
};

struct CocoAnnotation {
  std::int64_t id = 0;
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  CocoBox box;
  double area = 0;
  bool crowd = false;
  std::optional<Rle> mask;
};

struct CocoTruth {
  std::vector<CocoImage> images;
  std::vector<CocoCategory> categories;
  std::vector<CocoAnnotation> annotations;
  bool has_masks = false;    // every annotation has one
  bool has_phrases = false;  // every picture has one: a file of SA-Co
  std::vector<std::string> warnings;

  std::unordered_map<std::int64_t, std::size_t> image_index;  // of an id
  std::unordered_map<std::int64_t, std::size_t> category_index;
};

struct CocoDetection {
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  double score = 0;
  CocoBox box;
  double area = 0;
  std::optional<Rle> mask;
};

struct CocoResults {
  std::vector<CocoDetection> detections;
  bool has_masks = false;  // every detection has one
  std::vector<std::string> warnings;
};

// Reads an instance file. Masks may be polygons, run lengths as numbers, or compressed run lengths.
// What pycocotools asks for but is missing is filled in: iscrowd with 0, bbox and area from the
// mask. In a file with phrases, boxes always come from the masks, since SA-Co's are no pixels.
// Errors: kNotFound; kBadData for what is no JSON, lacks a member, has a member of the wrong kind,
// repeats an id, or points to a picture or category that is not listed; kLimit for a mask that
// would take more than half a gigabyte. The message says where, for example "annotations[3].bbox".
Result<CocoTruth> read_coco_truth(const std::filesystem::path& path);
Result<CocoTruth> parse_coco_truth(std::string_view text);

// Reads a result file: a list of {"image_id", "category_id", "score", "bbox" and/or
// "segmentation"}. As in pycocotools, the first result decides for all where areas come from: the
// box if it has one, else the mask. Results of categories that `truth` does not list are left out,
// with a warning. Errors as above; a picture that `truth` does not list is one.
Result<CocoResults> read_coco_results(const std::filesystem::path& path, const CocoTruth& truth);
Result<CocoResults> parse_coco_results(std::string_view text, const CocoTruth& truth);
Result<CocoResults> coco_results(const nlohmann::json& list, const CocoTruth& truth);

// The truth about some of its pictures only.
CocoTruth restricted(const CocoTruth& truth, const std::unordered_set<std::int64_t>& image_ids);

// The whole text of a file; kNotFound.
Result<std::string> read_text(const std::filesystem::path& path);

}  // namespace sam3::eval
