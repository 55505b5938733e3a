#include "eval/coco_data.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/json_text.h"
#include "base/macros.h"
#include "eval/json_fields.h"
#include "eval/polygon.h"
#include "mask/rle.h"

namespace sam3::eval {
namespace {

using nlohmann::json;

std::string at(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

// Adds the place to the error of a part that does not know it.
Error placed(Error error, const std::string& where) {
  error.message = where + ": " + error.message;
  return error;
}

Result<CocoBox> box_of(const json& value, const std::string& where) {
  SAM3_ASSIGN_OR_RETURN(const std::vector<double> parts, numbers(value, where));
  if (parts.size() != 4)
    return bad_json(where,
                    std::to_string(parts.size()) + " numbers instead of x, y, width, height");
  if (parts[2] < 0 || parts[3] < 0) return bad_json(where, "the width or height is below zero");
  return CocoBox{parts[0], parts[1], parts[2], parts[3]};
}

CocoBox tight_box(const Rle& rle) {
  const auto mask = mask::mask_from_rle(rle);
  if (!mask.ok()) return {};
  const Box box = mask->tight_box();
  return {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0};
}

double area_of(const Rle& rle) {
  std::int64_t area = 0;
  for (std::size_t i = 1; i < rle.counts.size(); i += 2) area += rle.counts[i];
  return static_cast<double>(area);
}

Result<Rle> polygons_of(const json& value, Size size, const std::string& where) {
  std::vector<std::vector<double>> polygons;
  for (std::size_t i = 0; i < value.size(); ++i) {
    SAM3_ASSIGN_OR_RETURN(auto polygon, numbers(value[i], where + "[" + std::to_string(i) + "]"));
    polygons.push_back(std::move(polygon));
  }
  auto rle = rle_from_polygons(polygons, size);
  if (!rle.ok()) return placed(rle.error(), where);
  return rle;
}

Result<Rle> run_lengths_of(const json& value, Size size, const std::string& where) {
  SAM3_ASSIGN_OR_RETURN(const Fields fields, Fields::of(value, where));
  SAM3_ASSIGN_OR_RETURN(const json* shape, fields.list("size"));
  SAM3_ASSIGN_OR_RETURN(const std::vector<double> sides, numbers(*shape, where + ".size"));
  if (sides != std::vector<double>{double(size.height), double(size.width)})
    return bad_json(where + ".size",
                    shown_json(*shape) + " is not [height, width] of the picture, [" +
                        std::to_string(size.height) + "," + std::to_string(size.width) + "]");
  const json* counts = fields.find("counts");
  if (!counts) return fields.error("counts", "missing");
  if (counts->is_string()) {
    auto rle = mask::parse_counts(counts->get_ref<const std::string&>(), size);
    if (!rle.ok()) return placed(rle.error(), where);
    return rle;
  }
  SAM3_ASSIGN_OR_RETURN(const std::vector<double> lengths, numbers(*counts, where + ".counts"));
  Rle rle{size, {}};
  for (const double length : lengths) {
    if (!(length >= 0 && length <= std::numeric_limits<std::uint32_t>::max()))
      return bad_json(where + ".counts", std::to_string(length) + " is no run length");
    rle.counts.push_back(static_cast<std::uint32_t>(length));
  }
  if (auto mask = mask::mask_from_rle(rle); !mask.ok()) return placed(mask.error(), where);
  return rle;
}

// Rows of a mask begin at a 64-bit word, so a narrow picture needs far more than its pixels.
bool is_too_large(Size size) {
  constexpr std::int64_t kMostWords = std::int64_t{1} << 26;  // half a gigabyte
  return (std::int64_t{size.width} + 63) / 64 * size.height > kMostWords;
}

// The mask of an annotation or result; nothing where there is none. Detection data sets have empty
// lists.
Result<std::optional<Rle>> mask_of(const Fields& fields, const CocoImage& image,
                                   const std::string& where) {
  const json* value = fields.find("segmentation");
  if (!value || (value->is_array() && value->empty())) return std::optional<Rle>();
  if (image.size.width <= 0 || image.size.height <= 0)
    return fields.error("segmentation",
                        "the picture " + std::to_string(image.id) + " has no width and height");
  if (is_too_large(image.size))
    return Error{ErrorCode::kLimit,
                 where + ": a mask of " + std::to_string(image.size.width) + "x" +
                     std::to_string(image.size.height) + " pixels is too large",
                 "", ""};
  const std::string place = where + ".segmentation";
  auto rle = value->is_array() ? polygons_of(*value, image.size, place)
                               : run_lengths_of(*value, image.size, place);
  if (!rle.ok()) return rle.error();
  return std::optional<Rle>(std::move(*rle));
}

// Adds `value` under its id; kBadData if the id stands twice.
template <typename Value>
Status add(Value value, const std::string& where, std::vector<Value>& list,
           std::unordered_map<std::int64_t, std::size_t>& index) {
  if (!index.emplace(value.id, list.size()).second)
    return bad_json(where + ".id", std::to_string(value.id) + " stands twice");
  list.push_back(std::move(value));
  return {};
}

Result<CocoImage> image_of(const json& value, const std::string& where) {
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  SAM3_ASSIGN_OR_RETURN(const Fields fields, Fields::of(value, where));
  CocoImage image;
  SAM3_ASSIGN_OR_RETURN(image.id, fields.integer("id"));
  SAM3_ASSIGN_OR_RETURN(image.file_name, fields.text_or("file_name", ""));
  SAM3_ASSIGN_OR_RETURN(image.phrase, fields.text_or("text_input", ""));
  SAM3_ASSIGN_OR_RETURN(image.exhaustive, fields.flag_or("is_instance_exhaustive", true));
  for (const auto& [key, side] :
       {std::pair{"width", &image.size.width}, std::pair{"height", &image.size.height}}) {
    SAM3_ASSIGN_OR_RETURN(const std::int64_t pixels, fields.integer_or(key, 0));
    if (pixels < 0 || pixels > kLongest)
      return fields.error(key, std::to_string(pixels) + " is out of range");
    *side = static_cast<int>(pixels);
  }
  return image;
}

Result<CocoAnnotation> annotation_of(const json& value, const std::string& where,
                                     const CocoTruth& truth) {
  SAM3_ASSIGN_OR_RETURN(const Fields fields, Fields::of(value, where));
  CocoAnnotation annotation;
  SAM3_ASSIGN_OR_RETURN(annotation.id, fields.integer("id"));
  SAM3_ASSIGN_OR_RETURN(annotation.image_id, fields.integer("image_id"));
  SAM3_ASSIGN_OR_RETURN(annotation.category_id, fields.integer("category_id"));
  SAM3_ASSIGN_OR_RETURN(annotation.crowd, fields.flag_or("iscrowd", false));
  const auto image = truth.image_index.find(annotation.image_id);
  if (image == truth.image_index.end())
    return fields.error("image_id",
                        std::to_string(annotation.image_id) + " is not among the images");
  if (!truth.category_index.contains(annotation.category_id))
    return fields.error("category_id",
                        std::to_string(annotation.category_id) + " is not among the categories");
  SAM3_ASSIGN_OR_RETURN(annotation.mask, mask_of(fields, truth.images[image->second], where));
  const json* box = fields.find("bbox");
  if (annotation.mask && (!box || truth.has_phrases)) {
    annotation.box = tight_box(*annotation.mask);
  } else {
    if (!box) return fields.error("bbox", "missing, and there is no segmentation");
    SAM3_ASSIGN_OR_RETURN(annotation.box, box_of(*box, where + ".bbox"));
  }
  if (fields.find("area")) {
    SAM3_ASSIGN_OR_RETURN(annotation.area, fields.number("area"));
  } else {
    annotation.area =
        annotation.mask ? area_of(*annotation.mask) : annotation.box.width * annotation.box.height;
  }
  return annotation;
}

Status read_lists(const Fields& fields, CocoTruth& truth) {
  SAM3_ASSIGN_OR_RETURN(const json* images, fields.list("images"));
  for (std::size_t i = 0; i < images->size(); ++i) {
    const std::string where = at("images", i);
    SAM3_ASSIGN_OR_RETURN(CocoImage image, image_of((*images)[i], where));
    SAM3_RETURN_IF_ERROR(add(std::move(image), where, truth.images, truth.image_index));
  }
  SAM3_ASSIGN_OR_RETURN(const json* categories, fields.list("categories"));
  for (std::size_t i = 0; i < categories->size(); ++i) {
    const std::string where = at("categories", i);
    SAM3_ASSIGN_OR_RETURN(const Fields entry, Fields::of((*categories)[i], where));
    CocoCategory category;
    SAM3_ASSIGN_OR_RETURN(category.id, entry.integer("id"));
    SAM3_ASSIGN_OR_RETURN(category.name, entry.text_or("name", std::to_string(category.id)));
    SAM3_RETURN_IF_ERROR(add(std::move(category), where, truth.categories, truth.category_index));
  }
  return {};
}

Status read_annotations(const Fields& fields, CocoTruth& truth) {
  SAM3_ASSIGN_OR_RETURN(const json* annotations, fields.list("annotations"));
  std::unordered_map<std::int64_t, std::size_t> ids;
  truth.annotations.reserve(annotations->size());
  for (std::size_t i = 0; i < annotations->size(); ++i) {
    const std::string where = at("annotations", i);
    SAM3_ASSIGN_OR_RETURN(CocoAnnotation annotation,
                          annotation_of((*annotations)[i], where, truth));
    truth.has_masks = truth.has_masks && annotation.mask.has_value();
    SAM3_RETURN_IF_ERROR(add(std::move(annotation), where, truth.annotations, ids));
  }
  if (ids.contains(0))
    truth.warnings.emplace_back(
        "an annotation has the id 0, whose match pycocotools counts as a miss; average precision "
        "here does the same");
  return {};
}

// The box as a polygon: what pycocotools takes for the mask of a result without one.
Result<std::optional<Rle>> box_mask(const CocoBox& box, const CocoImage& image) {
  if (image.size.width <= 0 || image.size.height <= 0 || is_too_large(image.size))
    return std::optional<Rle>();
  const double x1 = box.x + box.width;
  const double y1 = box.y + box.height;
  const std::vector<double> polygon{box.x, box.y, box.x, y1, x1, y1, x1, box.y};
  auto rle = rle_from_polygons(std::span(&polygon, 1), image.size);
  if (!rle.ok()) return rle.error();
  return std::optional<Rle>(std::move(*rle));
}

bool has_box(const json& result) {
  if (!result.is_object()) return false;
  const auto box = result.find("bbox");
  return box != result.end() && !box->is_null() && !box->empty();
}

// One result. `areas_of_boxes` says where its area comes from; nothing for an unknown category.
Result<std::optional<CocoDetection>> detection_of(const json& value, const std::string& where,
                                                  const CocoTruth& truth, bool areas_of_boxes) {
  SAM3_ASSIGN_OR_RETURN(const Fields fields, Fields::of(value, where));
  CocoDetection detection;
  SAM3_ASSIGN_OR_RETURN(detection.image_id, fields.integer("image_id"));
  SAM3_ASSIGN_OR_RETURN(detection.category_id, fields.integer("category_id"));
  SAM3_ASSIGN_OR_RETURN(detection.score, fields.number("score"));
  const auto found = truth.image_index.find(detection.image_id);
  if (found == truth.image_index.end())
    return fields.error(
        "image_id", std::to_string(detection.image_id) + " is not among the images of the truth");
  if (!truth.category_index.contains(detection.category_id)) return std::optional<CocoDetection>();
  const CocoImage& image = truth.images[found->second];
  SAM3_ASSIGN_OR_RETURN(detection.mask, mask_of(fields, image, where));
  if (has_box(value)) {
    SAM3_ASSIGN_OR_RETURN(detection.box, box_of(*fields.find("bbox"), where + ".bbox"));
  } else if (areas_of_boxes || !detection.mask) {
    return fields.error("bbox", "missing");
  } else {
    detection.box = tight_box(*detection.mask);
  }
  if (!areas_of_boxes && !detection.mask) return fields.error("segmentation", "missing");
  detection.area =
      areas_of_boxes ? detection.box.width * detection.box.height : area_of(*detection.mask);
  return std::optional<CocoDetection>(std::move(detection));
}

template <typename Value>
Result<Value> with_file(Result<Value> result, const std::filesystem::path& path) {
  if (result.ok()) return result;
  Error error = result.error();
  error.file = path.string();
  return error;
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, ignored))
    return Error{ErrorCode::kNotFound, "this file cannot be read", path.string(), ""};
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

Result<CocoTruth> parse_coco_truth(std::string_view text) {
  SAM3_ASSIGN_OR_RETURN(const json document, parse_json(text));
  const std::string root;
  SAM3_ASSIGN_OR_RETURN(const Fields fields, Fields::of(document, root));
  CocoTruth truth;
  SAM3_RETURN_IF_ERROR(read_lists(fields, truth));
  const auto with_phrase = [](const CocoImage& image) { return !image.phrase.empty(); };
  truth.has_phrases = std::any_of(truth.images.begin(), truth.images.end(), with_phrase);
  for (std::size_t i = 0; truth.has_phrases && i < truth.images.size(); ++i)
    if (!with_phrase(truth.images[i])) return bad_json(at("images", i) + ".text_input", "missing");
  if (truth.categories.empty()) return bad_json("categories", "the list is empty");
  truth.has_masks = true;
  SAM3_RETURN_IF_ERROR(read_annotations(fields, truth));
  return truth;
}

Result<CocoTruth> read_coco_truth(const std::filesystem::path& path) {
  SAM3_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  return with_file(parse_coco_truth(text), path);
}

Result<CocoResults> coco_results(const json& list, const CocoTruth& truth) {
  if (!list.is_array()) return bad_json("", "results are a list, and this is none");
  CocoResults results;
  results.has_masks = true;
  const bool areas_of_boxes = !list.empty() && has_box(list.front());
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string where = at("results", i);
    SAM3_ASSIGN_OR_RETURN(auto detection, detection_of(list[i], where, truth, areas_of_boxes));
    if (!detection) {
      ++unknown;
      continue;
    }
    if (!detection->mask) {
      results.has_masks = false;
      const CocoImage& image = truth.images[truth.image_index.at(detection->image_id)];
      auto mask = box_mask(detection->box, image);
      if (!mask.ok()) return placed(mask.error(), where + ".bbox");
      detection->mask = std::move(*mask);
    }
    results.detections.push_back(std::move(*detection));
  }
  if (unknown > 0)
    results.warnings.push_back(std::to_string(unknown) + " of " + std::to_string(list.size()) +
                               " results are of a category that the truth does not list; they are "
                               "left out");
  return results;
}

CocoTruth restricted(const CocoTruth& truth, const std::unordered_set<std::int64_t>& image_ids) {
  CocoTruth part;
  part.categories = truth.categories;
  part.category_index = truth.category_index;
  part.has_masks = truth.has_masks;
  part.has_phrases = truth.has_phrases;
  part.warnings = truth.warnings;
  for (const CocoImage& image : truth.images) {
    if (!image_ids.contains(image.id)) continue;
    part.image_index.emplace(image.id, part.images.size());
    part.images.push_back(image);
  }
  for (const CocoAnnotation& annotation : truth.annotations)
    if (image_ids.contains(annotation.image_id)) part.annotations.push_back(annotation);
  return part;
}

Result<CocoResults> parse_coco_results(std::string_view text, const CocoTruth& truth) {
  SAM3_ASSIGN_OR_RETURN(const json list, parse_json(text));
  return coco_results(list, truth);
}

Result<CocoResults> read_coco_results(const std::filesystem::path& path, const CocoTruth& truth) {
  SAM3_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  return with_file(parse_coco_results(text, truth), path);
}

}  // namespace sam3::eval
