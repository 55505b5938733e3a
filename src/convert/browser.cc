// The three graphs of the browser family: text and one exemplar box, results for one picture size.
#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

constexpr float kScoreThreshold = 0.5F;
constexpr float kHalf = 0.5F;
constexpr float kMost = 255;

Value cast(Builder& b, const Value& x, ElementType type) {
  return b.node("Cast", {x}, {{"to", static_cast<std::int64_t>(type)}});
}

// Masks [n, S * S] as logits -> bool [n, 1, height, width]. One row more is resized than asked for,
// since engines do not resize nothing.
Value picture_masks(Builder& b, const Config& config, const Value& logits, const Value& height,
                    const Value& width) {
  const Builder::Scope scope(b, "picture_masks");
  const Size side = config.mask_side();
  const Value empty = b.node("Expand", {b.scalar(0), b.ints({1, side * side})});
  const Value maps = b.reshape(b.concat({logits, empty}, 0), {-1, 1, side, side});
  const Value count = b.slice(b.node("Shape", {maps}), 0, 0, 2);
  const Value sizes = b.concat({count, b.unsqueeze(height, 0), b.unsqueeze(width, 0)}, 0);
  const Value resized =
      b.node("Resize", {maps, "", "", sizes},
             {{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}});
  const Value kept = b.slice(resized, 0, 0, -1);
  return b.node("Greater", {b.node("Sigmoid", {kept}), b.scalar(kHalf)});
}

struct Prompt {
  Value features;  // [1, T, C]
  Value valid;     // bool [1, T]
};

// The text's tokens, the box's and the picture's.
Prompt build_prompt(Builder& b, const Config& config, const Value& fpn_2, const Value& positions) {
  const Size length = config.text.length;
  const Value text_padding = b.input("language_mask", ElementType::kBool, {Size{1}, length});
  const Value text =
      b.input("language_features", ElementType::kFloat, {length, Size{1}, config.width});
  GeometryInputs in;
  in.fpn_2 = fpn_2;
  in.positions = positions;
  in.boxes = b.input("box_coords", ElementType::kFloat, {Size{1}, Size{1}, Size{4}});
  in.labels = b.input("box_labels", ElementType::kInt64, {Size{1}, Size{1}});
  const Value box_padding = b.input("box_masks", ElementType::kBool, {Size{1}, Size{1}});
  const Value always =
      b.constant("always", graph::make_weight(ElementType::kBool, {1, 1}, std::string(1, '\1')));
  in.valid = b.concat({b.node("Not", {box_padding}), always}, 1);
  const Value geometry = build_geometry(b, config, in);
  return {b.concat({b.transpose(text, {1, 0, 2}), geometry}, 1),
          b.concat({b.node("Not", {text_padding}), in.valid}, 1)};
}

}  // namespace

Result<graph::EditableModel> build_browser_image_encoder(const Config& config,
                                                         const WeightSource& source) {
  Builder b(source, "sam3_image_encoder");
  const VisionConfig& vision = config.vision;
  const Value image =
      b.input("image", ElementType::kUint8, {vision.channels, vision.image, vision.image});
  const Value unit = b.node("Div", {cast(b, image, ElementType::kFloat), b.scalar(kMost)});
  const Value pixels =
      b.unsqueeze(b.node("Div", {b.node("Sub", {unit, b.scalar(kHalf)}), b.scalar(kHalf)}), 0);
  const Value features = build_backbone(b, vision, pixels);
  for (std::size_t level = 0; level < 3; ++level) {
    const Size side = config.mask_side() >> level;
    b.output(build_position_map(b, config.width, side), "vision_pos_enc_" + std::to_string(level),
             ElementType::kFloat, {Size{1}, config.width, side, side});
  }
  for (std::size_t level = 0; level < 3; ++level) {
    const Size side = config.mask_side() >> level;
    b.output(build_neck_level(b, config, features, "detector_model.vision_encoder.neck", level),
             "backbone_fpn_" + std::to_string(level), ElementType::kFloat,
             {Size{1}, config.width, side, side});
  }
  return std::move(b).finish();
}

Result<graph::EditableModel> build_browser_language_encoder(const Config& config,
                                                            const WeightSource& source) {
  Builder b(source, "sam3_language_encoder");
  const TextConfig& text = config.text;
  const Value tokens = b.input("tokens", ElementType::kInt64, {Size{1}, text.length});
  const Value hidden = build_text_model(b, text, tokens, "");
  const Value features = build_text_projection(b, config, hidden);
  b.output(b.node("Equal", {tokens, b.ints({0})}), "text_attention_mask", ElementType::kBool,
           {Size{1}, text.length});
  b.output(b.transpose(features, {1, 0, 2}), "text_memory", ElementType::kFloat,
           {text.length, Size{1}, config.width});
  b.output(b.transpose(build_token_embeddings(b, text, tokens), {1, 0, 2}), "text_embeds",
           ElementType::kFloat, {text.length, Size{1}, text.width});
  return std::move(b).finish();
}

Result<graph::EditableModel> build_browser_decoder(const Config& config,
                                                   const WeightSource& source) {
  Builder b(source, "sam3_decoder");
  const Size side = config.mask_side();
  const Size grid = config.vision.grid();
  const Value height = b.input("original_height", ElementType::kInt64, {});
  const Value width = b.input("original_width", ElementType::kInt64, {});
  const Value map =
      b.input("vision_pos_enc_2", ElementType::kFloat, {Size{1}, config.width, grid, grid});
  DetectorInputs in;
  for (std::size_t level = 0; level < 3; ++level)
    in.fpn.push_back(b.input("backbone_fpn_" + std::to_string(level), ElementType::kFloat,
                             {Size{1}, config.width, side >> level, side >> level}));
  in.positions = b.transpose(b.reshape(map, {1, config.width, config.vision.tokens()}), {0, 2, 1});
  const Prompt prompt = build_prompt(b, config, in.fpn[2], in.positions);
  in.prompt = prompt.features;
  in.valid = prompt.valid;
  const DetectorOutputs out = build_detection(b, config, in);
  const Value scores =
      b.squeeze(b.mul(b.node("Sigmoid", {out.logits}), b.node("Sigmoid", {out.presence})), 0);
  const Value keep = b.node("Greater", {scores, b.scalar(kScoreThreshold)});
  const auto kept = [&](const Value& rows) {
    return b.node("Compress", {rows, keep}, {{"axis", std::int64_t{0}}});
  };
  const Value sides = b.concat({b.unsqueeze(width, 0), b.unsqueeze(height, 0)}, 0);
  const Value scale = cast(b, b.concat({sides, sides}, 0), ElementType::kFloat);
  const Value logits =
      b.node("MatMul", {kept(b.squeeze(out.embeddings, 0)), b.squeeze(out.pixels, 0)});
  b.output(b.mul(kept(b.squeeze(out.boxes, 0)), scale), "boxes", ElementType::kFloat,
           {"N", Size{4}});
  b.output(kept(scores), "scores", ElementType::kFloat, {"N"});
  b.output(picture_masks(b, config, logits, height, width), "masks", ElementType::kBool,
           {"N", Size{1}, "H", "W"});
  return std::move(b).finish();
}

}  // namespace sam3::convert
