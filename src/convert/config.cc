#include "convert/config.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/macros.h"

namespace sam3::convert {

namespace {

using nlohmann::json;

constexpr double kMostSize = 1 << 20;  // of any single size; keeps products within 64 bits
constexpr Size kMostPatches = 512;
constexpr Size kMostLayers = 256;
constexpr Size kMostElements = Size{1} << 30;

// Reads values and collects what is wrong. A key that is not there keeps its value: configurations
// are often written without what equals the default.
class Reader {
 public:
  void size(const json& object, const std::string& where, const char* key, Size& value) {
    const json* found = find(object, key);
    if (!found) return;
    // "image_size": 1008 or [1008, 1008]
    if (found->is_array() && found->size() == 2 && (*found)[0].is_number_integer() &&
        (*found)[0] == (*found)[1])
      found = &(*found)[0];
    if (!found->is_number_integer() || found->get<double>() < 1 || found->get<double>() > kMostSize)
      problem(where, key, *found, "a whole number from 1 to 1048576");
    else
      value = found->get<Size>();
  }

  void real(const json& object, const std::string& where, const char* key, double& value) {
    const json* found = find(object, key);
    if (!found) return;
    if (!found->is_number() || !(found->get<double>() > 0) || found->get<double>() > 1e9)
      problem(where, key, *found, "a number above 0");
    else
      value = found->get<double>();
  }

  void activation(const json& object, const std::string& where, std::string& value) {
    const json* found = find(object, "hidden_act");
    if (!found) return;
    if (*found == "gelu" || *found == "relu" || *found == "quick_gelu")
      value = found->get<std::string>();
    else
      problem(where, "hidden_act", *found, "gelu, quick_gelu or relu");
  }

  // The object under a key; an empty one if there is none.
  const json& part(const json& object, const std::string& where, const char* key) {
    static const json kEmpty = json::object();
    const json* found = find(object, key);
    if (!found) return kEmpty;
    if (found->is_object()) return *found;
    problem(where, key, *found, "an object");
    return kEmpty;
  }

  const json* find(const json& object, const char* key) const {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  void problem(const std::string& where, const std::string& key, const json& value,
               const std::string& wanted) {
    add(where + "." + key + " is " + shown_json(value) + ", not " + wanted);
  }
  void add(const std::string& text) { problems_ += (problems_.empty() ? "" : "; ") + text; }
  const std::string& problems() const { return problems_; }

 private:
  std::string problems_;
};

void read_backbone(Reader& in, const json& object, VisionConfig& vision) {
  const std::string where = "backbone_config";
  in.size(object, where, "image_size", vision.image);
  in.size(object, where, "patch_size", vision.patch);
  in.size(object, where, "window_size", vision.window);
  in.size(object, where, "hidden_size", vision.width);
  in.size(object, where, "num_hidden_layers", vision.layers);
  in.size(object, where, "num_attention_heads", vision.heads);
  in.size(object, where, "intermediate_size", vision.inner);
  in.size(object, where, "num_channels", vision.channels);
  in.real(object, where, "layer_norm_eps", vision.epsilon);
  in.activation(object, where, vision.activation);
  in.real(object, where, "rope_theta", vision.rope_theta);
  in.real(in.part(object, where, "rope_parameters"), where, "rope_theta", vision.rope_theta);
  Size pretrained = vision.pretrain_grid * vision.patch;
  in.size(object, where, "pretrain_image_size", pretrained);
  vision.pretrain_grid = pretrained / vision.patch;
  if (const json* layers = in.find(object, "global_attn_indexes")) {
    vision.global_layers.clear();
    bool good = layers->is_array();
    if (good)
      for (const json& layer : *layers) {
        good = good && layer.is_number_integer() && layer.get<double>() >= 0 &&
               layer.get<double>() < static_cast<double>(vision.layers);
        if (good) vision.global_layers.insert(layer.get<Size>());
      }
    if (!good) in.problem(where, "global_attn_indexes", *layers, "a list of layers");
  }
}

void read_vision(Reader& in, const json& object, VisionConfig& vision, Size& width) {
  in.size(object, "vision_config", "fpn_hidden_size", width);
  if (const json* scales = in.find(object, "scale_factors")) {
    vision.scales.clear();
    if (scales->is_array())
      for (const json& scale : *scales)
        vision.scales.push_back(scale.is_number() ? scale.get<double>() : 0);
    if (vision.scales.size() < 3 || vision.scales[0] != 4 || vision.scales[1] != 2 ||
        vision.scales[2] != 1)
      in.problem("vision_config", "scale_factors", *scales, "a list that starts with 4, 2, 1");
  }
  read_backbone(in, in.part(object, "vision_config", "backbone_config"), vision);
}

void read_text(Reader& in, const json& object, TextConfig& text) {
  const std::string where = "text_config";
  in.size(object, where, "vocab_size", text.vocabulary);
  in.size(object, where, "max_position_embeddings", text.length);
  in.size(object, where, "hidden_size", text.width);
  in.size(object, where, "num_hidden_layers", text.layers);
  in.size(object, where, "num_attention_heads", text.heads);
  in.size(object, where, "intermediate_size", text.inner);
  in.real(object, where, "layer_norm_eps", text.epsilon);
  in.activation(object, where, text.activation);
}

void read_transformer(Reader& in, const json& object, const std::string& where,
                      TransformerConfig& config, Size width) {
  Size own = width;
  in.size(object, where, "hidden_size", own);
  if (own != width)
    in.add(where + ".hidden_size is " + std::to_string(own) + ", but the neck makes " +
           std::to_string(width));
  // The library's own alias of the first, which older files use.
  in.size(object, where, "num_hidden_layers", config.layers);
  in.size(object, where, "num_layers", config.layers);
  in.size(object, where, "num_attention_heads", config.heads);
  in.size(object, where, "intermediate_size", config.inner);
  in.activation(object, where, config.activation);
  if (width % config.heads != 0)
    in.add(where + ".num_attention_heads is " + std::to_string(config.heads) +
           ", which does not divide " + std::to_string(width));
}

void read_point(Reader& in, const json& tracker, const VisionConfig& vision, PointConfig& point,
                Size width) {
  const json& prompts = in.part(tracker, "tracker_config", "prompt_encoder_config");
  const json& masks = in.part(tracker, "tracker_config", "mask_decoder_config");
  const std::string where = "tracker_config.mask_decoder_config";
  Size image = vision.image;
  Size patch = vision.patch;
  Size own = width;
  in.size(prompts, "prompt_encoder_config", "image_size", image);
  in.size(prompts, "prompt_encoder_config", "patch_size", patch);
  in.size(masks, where, "hidden_size", own);
  if (image != vision.image || patch != vision.patch)
    in.add("prompt_encoder_config is for pictures of " + std::to_string(image) +
           " pixels in patches of " + std::to_string(patch) + ", the backbone for " +
           std::to_string(vision.image) + " in " + std::to_string(vision.patch));
  if (own != width)
    in.add(where + ".hidden_size is " + std::to_string(own) + ", but the neck makes " +
           std::to_string(width));
  in.size(prompts, "prompt_encoder_config", "num_point_embeddings", point.point_embeddings);
  in.size(masks, where, "num_hidden_layers", point.layers);
  in.size(masks, where, "num_attention_heads", point.heads);
  in.size(masks, where, "mlp_dim", point.inner);
  in.size(masks, where, "attention_downsample_rate", point.downsample);
  in.size(masks, where, "iou_head_depth", point.iou_layers);
  in.size(masks, where, "iou_head_hidden_dim", point.iou_inner);
  Size several = point.masks - 1;
  in.size(masks, where, "num_multimask_outputs", several);
  point.masks = several + 1;
  if (width % (point.downsample * point.heads) != 0 || width % 8 != 0)
    in.add(where + ": a width of " + std::to_string(width) + " cannot be split into " +
           std::to_string(point.heads) + " heads of a " + std::to_string(point.downsample) +
           "-th, or into eighths");
  if (point.layers < 2 || point.iou_layers < 2)
    in.add(where + ": num_hidden_layers and iou_head_depth must be at least 2");
}

void check_together(Reader& in, const Config& config) {
  const VisionConfig& vision = config.vision;
  if (vision.image % vision.patch != 0)
    in.add("image_size " + std::to_string(vision.image) + " is no multiple of patch_size " +
           std::to_string(vision.patch));
  if (vision.pretrain_grid < 1) in.add("pretrain_image_size is smaller than patch_size");
  // Rotary positions turn pairs of values, half of them along each axis.
  if (vision.width % vision.heads != 0 || vision.width / vision.heads % 4 != 0)
    in.add("backbone_config: a width of " + std::to_string(vision.width) +
           " has no heads of a multiple of 4 with " + std::to_string(vision.heads) + " heads");
  if (config.text.width % config.text.heads != 0)
    in.add("text_config.num_attention_heads is " + std::to_string(config.text.heads) +
           ", which does not divide " + std::to_string(config.text.width));
  if (config.width % config.mask_heads != 0)
    in.add("mask_decoder_config.num_attention_heads is " + std::to_string(config.mask_heads) +
           ", which does not divide " + std::to_string(config.width));
  if (vision.grid() > kMostPatches || vision.window > kMostPatches ||
      vision.pretrain_grid > kMostPatches)
    in.add("image, window or pretraining picture have more than " + std::to_string(kMostPatches) +
           " patches a side");
  for (const Size layers :
       {vision.layers, config.text.layers, config.geometry.layers, config.encoder.layers,
        config.decoder.layers, config.point.layers, config.point.iou_layers, config.point.masks})
    if (layers > kMostLayers)
      in.add(std::to_string(layers) + " layers or masks are more than " +
             std::to_string(kMostLayers));
  for (const auto& [rows, columns] : {std::pair{config.text.vocabulary, config.text.width},
                                      {vision.width, vision.inner},
                                      {config.text.width, config.text.inner},
                                      {config.width, config.decoder.inner},
                                      {config.width * config.roi * config.roi, config.width},
                                      {config.queries, config.width}})
    if (rows * columns > kMostElements)
      in.add("a weight of " + std::to_string(rows) + " x " + std::to_string(columns) +
             " values is too large");
}

}  // namespace

Config full_size_config() {
  Config config;
  config.vision = {.image = 1008,
                   .patch = 14,
                   .pretrain_grid = 24,
                   .window = 24,
                   .global_layers = {7, 15, 23, 31},
                   .width = 1024,
                   .layers = 32,
                   .heads = 16,
                   .inner = 4736,
                   .scales = {4, 2, 1, 0.5}};
  config.text = {
      .vocabulary = 49408, .length = 32, .width = 1024, .layers = 24, .heads = 16, .inner = 4096};
  config.width = 256;
  config.geometry = {.layers = 3, .heads = 8, .inner = 2048};
  config.encoder = {.layers = 6, .heads = 8, .inner = 2048};
  config.decoder = {.layers = 6, .heads = 8, .inner = 2048};
  config.queries = 200;
  config.mask_heads = 8;
  config.point = {.layers = 2, .heads = 8, .inner = 2048, .iou_inner = 256};
  return config;
}

Result<Config> parse_config(std::string_view json_text) {
  const json root = json::parse(json_text, nullptr, false);
  if (root.is_discarded() || !root.is_object())
    return Error{ErrorCode::kBadData, "not a JSON object", "", ""};
  Reader in;
  Config config = full_size_config();
  const bool whole = root.contains("detector_config");
  if (!whole && !root.contains("vision_config"))
    return Error{ErrorCode::kBadData,
                 "neither detector_config nor vision_config is there; this is no configuration of "
                 "SAM 3",
                 "", ""};
  const json& detector = whole ? in.part(root, "config", "detector_config") : root;
  read_vision(in, in.part(detector, "config", "vision_config"), config.vision, config.width);
  read_text(in, in.part(detector, "config", "text_config"), config.text);
  const json& geometry = in.part(detector, "config", "geometry_encoder_config");
  const json& encoder = in.part(detector, "config", "detr_encoder_config");
  const json& decoder = in.part(detector, "config", "detr_decoder_config");
  const json& masks = in.part(detector, "config", "mask_decoder_config");
  read_transformer(in, geometry, "geometry_encoder_config", config.geometry, config.width);
  in.size(geometry, "geometry_encoder_config", "roi_size", config.roi);
  read_transformer(in, encoder, "detr_encoder_config", config.encoder, config.width);
  read_transformer(in, decoder, "detr_decoder_config", config.decoder, config.width);
  in.size(decoder, "detr_decoder_config", "num_queries", config.queries);
  in.size(masks, "mask_decoder_config", "num_attention_heads", config.mask_heads);
  read_point(in, in.part(root, "config", "tracker_config"), config.vision, config.point,
             config.width);
  check_together(in, config);
  if (!in.problems().empty()) return Error{ErrorCode::kBadData, in.problems(), "", ""};
  return config;
}

Result<Config> read_config(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{ErrorCode::kNotFound, "no such file, or it cannot be read", path.string(), ""};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto config = parse_config(text);
  if (config.ok()) return config;
  Error error = config.error();
  error.file = path.string();
  return error;
}

}  // namespace sam3::convert
