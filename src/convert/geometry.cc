// Exemplar boxes. Source of the arithmetic: Sam3GeometryEncoder of transformers.
#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

constexpr const char* kKey = "detector_model.geometry_encoder.";

// boxes [1, n, 4] -> [n, C]: the picture's features under each box.
Value pooled_features(Builder& b, const Config& config, const Value& fpn_2, const Value& boxes) {
  const Builder::Scope scope(b, "pool");
  const Size width = config.width;
  const std::string key = kKey;
  const Value rows = b.transpose(fpn_2, {0, 2, 3, 1});
  const Value normed =
      b.transpose(b.layer_norm(rows, key + "vision_layer_norm", width), {0, 3, 1, 2});
  const Value corners =
      b.scale(b.squeeze(build_corners(b, boxes), 0), static_cast<double>(config.vision.grid()));
  // All boxes are in the one picture: a zero for each.
  const Value first = b.node("Gather", {corners, b.ints({0})}, {{"axis", std::int64_t{1}}});
  const Value zeros = b.node("Cast", {b.squeeze(b.scale(first, 0), 1)}, {{"to", std::int64_t{7}}});
  const Value pooled = b.node("RoiAlign", {normed, corners, zeros},
                              {{"mode", "avg"},
                               {"output_height", config.roi},
                               {"output_width", config.roi},
                               {"sampling_ratio", std::int64_t{0}},
                               {"spatial_scale", 1.0F},
                               {"coordinate_transformation_mode", "output_half_pixel"}});
  const Value projected =
      b.convolution(pooled, {key + "boxes_pool_project", width, width, config.roi});
  return b.reshape(projected, {1, -1, width});
}

// [1, n, C]
Value box_tokens(Builder& b, const Config& config, const GeometryInputs& in) {
  const std::string key = kKey;
  const Size width = config.width;
  const Value direct = b.linear(in.boxes, {key + "boxes_direct_project", 4, width});
  const std::vector<Value> parts =
      b.nodes("Split", {in.boxes, b.ints({1, 1, 1, 1})}, 4, {{"axis", std::int64_t{-1}}});
  const Value x = build_sine_encoding(b, b.squeeze(parts[0], 2), width / 2);
  const Value y = build_sine_encoding(b, b.squeeze(parts[1], 2), width / 2);
  const Value placed = b.linear(b.concat({y, x, parts[3], parts[2]}, 2),
                                {key + "boxes_pos_enc_project", width + 2, width});
  const Value label =
      b.node("Gather", {b.weight(key + "label_embed.weight", {2, width}), in.labels});
  const Value pooled = pooled_features(b, config, in.fpn_2, in.boxes);
  return b.add(label, b.add(b.add(direct, pooled), placed));
}

}  // namespace

Value build_geometry(Builder& b, const Config& config, const GeometryInputs& in) {
  const Builder::Scope scope(b, "geometry_encoder");
  const std::string key = kKey;
  const Size width = config.width;
  const Value picture_token = b.unsqueeze(b.weight(key + "cls_embed.weight", {1, width}), 0);
  Value x = b.concat({box_tokens(b, config, in), picture_token}, 1);
  x = b.layer_norm(b.linear(x, {key + "final_proj", width, width}), key + "prompt_layer_norm",
                   width);
  const Value bias = in.valid.empty() ? "" : build_attention_bias(b, in.valid);
  const Value features =
      b.transpose(b.reshape(in.fpn_2, {1, width, config.vision.tokens()}), {0, 2, 1});
  const Value positions =
      in.positions.empty() ? build_position_encoding(b, width, config.vision.grid()) : in.positions;
  const Value placed = b.add(features, positions);
  for (Size i = 0; i < config.geometry.layers; ++i) {
    const std::string part = "layers." + std::to_string(i);
    const Builder::Scope layer(b, part);
    const std::string at = key + part;
    const auto attention = [&](const char* name) {
      return Attention{at + name, width, width, config.geometry.heads};
    };
    const Value first = b.layer_norm(x, at + ".layer_norm1", width);
    x = b.add(x, b.attention(first, first, first, attention(".self_attn"), bias));
    const Value second = b.layer_norm(x, at + ".layer_norm2", width);
    x = b.add(x, b.attention(second, placed, features, attention(".cross_attn")));
    const Value third = b.layer_norm(x, at + ".layer_norm3", width);
    const Value inner =
        b.activation(b.linear(third, {at + ".mlp.fc1", width, config.geometry.inner}),
                     config.geometry.activation);
    x = b.add(x, b.linear(inner, {at + ".mlp.fc2", config.geometry.inner, width}));
  }
  return b.layer_norm(x, key + "output_layer_norm", width);
}

Result<graph::EditableModel> build_geometry_encoder(const Config& config,
                                                    const WeightSource& source) {
  Builder b(source, "geometry_encoder");
  const Size grid = config.vision.grid();
  GeometryInputs in;
  in.fpn_2 = b.input("fpn_2", ElementType::kFloat, {Size{1}, config.width, grid, grid});
  in.boxes = b.input("input_boxes", ElementType::kFloat, {Size{1}, "n", Size{4}});
  in.labels = b.input("input_boxes_labels", ElementType::kInt64, {Size{1}, "n"});
  const Value features = build_geometry(b, config, in);
  // As many ones as there are tokens.
  const Value shape = b.node("Shape", {features});
  const Value one =
      b.constant("one", graph::make_weight(ElementType::kInt64, {1}, std::vector<std::int64_t>{1}));
  const Value mask = b.node("Expand", {one, b.slice(shape, 0, 0, 2)});
  b.output(features, "prompt_features", ElementType::kFloat, {Size{1}, "n_plus_1", config.width});
  b.output(mask, "prompt_mask", ElementType::kInt64, {Size{1}, "n_plus_1"});
  return std::move(b).finish();
}

}  // namespace sam3::convert
