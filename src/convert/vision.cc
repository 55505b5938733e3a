// The picture encoders. Source of the arithmetic: Sam3ViTModel and Sam3VisionNeck of transformers.
#include <cmath>

#include "base/macros.h"
#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

// The order in which the backbone keeps its tokens. If windows tile the grid, window after window:
// then cutting into windows is a Reshape. Otherwise row after row, and windows are cut and padded
// in every layer.
struct Tokens {
  explicit Tokens(const VisionConfig& config)
      : grid(config.grid()),
        window(config.window),
        by_window(config.window < config.grid() && config.grid() % config.window == 0) {}

  // Places of token i of the whole picture.
  std::pair<Size, Size> place(Size i) const {
    if (!by_window) return {i % grid, i / grid};
    const Size inside = i % (window * window);
    const Size which = i / (window * window);
    const Size across = grid / window;
    return {which % across * window + inside % window, which / across * window + inside / window};
  }

  Size grid;
  Size window;
  bool by_window;
};

struct Rotation {
  Value cos;
  Value sin;
};

// Tables [L, head / 2] of the angles of tokens at places(i), in units of window positions.
template <typename Places>
Rotation rotation_tables(Builder& b, const VisionConfig& config, Size length, double unit,
                         const Places& places) {
  const Size head = config.width / config.heads;
  const Size frequencies = head / 4;  // of each axis
  std::vector<float> cos;
  std::vector<float> sin;
  for (Size i = 0; i < length; ++i) {
    const auto [x, y] = places(i);
    for (const Size place : {x, y})
      for (Size k = 0; k < frequencies; ++k) {
        const double power = static_cast<double>(2 * k) / static_cast<double>(head / 2);
        const auto frequency = static_cast<float>(1.0 / std::pow(config.rope_theta, power));
        const float angle = static_cast<float>(static_cast<double>(place) * unit) * frequency;
        cos.push_back(static_cast<float>(std::cos(static_cast<double>(angle))));
        sin.push_back(static_cast<float>(std::sin(static_cast<double>(angle))));
      }
  }
  return {b.floats({length, head / 2}, cos), b.floats({length, head / 2}, sin)};
}

// Rotary embedding turns pairs of neighbours (2p, 2p + 1) of a head. The graphs keep the first of
// each pair in the first half of the head and the second in the other, for queries and keys alike,
// which changes no score and turns pairs with two slices.
std::vector<std::int64_t> halves_of_pairs(const VisionConfig& config) {
  const Size head = config.width / config.heads;
  std::vector<std::int64_t> order;
  for (Size h = 0; h < config.heads; ++h)
    for (Size half = 0; half < 2; ++half)
      for (Size p = 0; p < head / 2; ++p) order.push_back(h * head + 2 * p + half);
  return order;
}

// x [B, heads, L, head]
Value rotate(Builder& b, const Value& x, const Rotation& rotation, Size head) {
  const std::vector<Value> halves =
      b.nodes("Split", {x, b.ints({head / 2, head / 2})}, 2, {{"axis", std::int64_t{-1}}});
  const Value first =
      b.node("Sub", {b.mul(halves[0], rotation.cos), b.mul(halves[1], rotation.sin)});
  const Value second = b.add(b.mul(halves[1], rotation.cos), b.mul(halves[0], rotation.sin));
  return b.concat({first, second}, -1);
}

// x [B, L, width]
Value rotary_attention(Builder& b, const VisionConfig& config, const Value& x,
                       const std::string& key, const Rotation& rotation) {
  const Builder::Scope scope(b, "attention");
  const Attention attention{key, config.width, config.width, config.heads};
  const Size head = config.width / config.heads;
  const std::vector<std::int64_t> order = halves_of_pairs(config);
  const auto projected = [&](const char* name, const std::vector<std::int64_t>& rows) {
    return b.linear(x, {key + name, config.width, config.width, true, rows});
  };
  const Value queries =
      rotate(b, b.heads_of(projected(".q_proj", order), attention), rotation, head);
  const Value keys = rotate(b, b.heads_of(projected(".k_proj", order), attention), rotation, head);
  const Value values = b.heads_of(projected(".v_proj", {}), attention);
  const Value mixed = b.attend(queries, b.transpose(keys, {0, 1, 3, 2}), values, attention);
  return b.linear(mixed, {key + ".o_proj", config.width, config.width});
}

// Position embeddings: a table that is repeated over the grid.
Value position_table(Builder& b, const VisionConfig& config, const Tokens& tokens) {
  const Size side = config.pretrain_grid;
  const std::string key = "detector_model.vision_encoder.backbone.embeddings.position_embeddings";
  const Value table = b.weight(key, {1, side * side, config.width});
  // One window's worth for every window.
  if (tokens.by_window && side == config.window) return table;
  const Size grid = config.grid();
  const Size repeats = grid / side + 1;
  Value map = b.reshape(table, {1, side, side, config.width});
  map = b.node("Tile", {map, b.ints({1, repeats, repeats, 1})});
  map = b.slice(b.slice(map, 1, 0, grid), 2, 0, grid);
  if (!tokens.by_window) return b.reshape(map, {1, grid * grid, config.width});
  const Size window = config.window;
  const Size across = grid / window;
  map = b.reshape(map, {across, window, across, window, config.width});
  return b.reshape(b.transpose(map, {0, 2, 1, 3, 4}),
                   {across * across, window * window, config.width});
}

// The embedded patches in token order: [1, N, width].
Value embed(Builder& b, const VisionConfig& config, const Tokens& tokens, const Value& pixels) {
  const Builder::Scope scope(b, "embeddings");
  const Value patches = b.convolution(
      pixels, {"detector_model.vision_encoder.backbone.embeddings.patch_embeddings.projection",
               config.channels, config.width, config.patch, config.patch, 0, false});
  Value x;
  const Size grid = config.grid();
  if (tokens.by_window) {
    const Size window = config.window;
    const Size across = grid / window;
    x = b.reshape(patches, {config.width, across, window, across, window});
    x = b.reshape(b.transpose(x, {1, 3, 2, 4, 0}),
                  {across * across, window * window, config.width});
  } else {
    x = b.transpose(b.reshape(patches, {1, config.width, grid * grid}), {0, 2, 1});
  }
  return b.reshape(b.add(x, position_table(b, config, tokens)), {1, grid * grid, config.width});
}

// Windows that do not tile the grid: padded with zeros behind the layer norm.
Value padded_window_attention(Builder& b, const VisionConfig& config, const Value& x,
                              const std::string& key, const Rotation& rotation) {
  const Size grid = config.grid();
  const Size window = config.window;
  const Size across = (grid + window - 1) / window;
  const Size side = across * window;
  Value map = b.reshape(x, {1, grid, grid, config.width});
  map = b.node("Pad", {map, b.ints({0, 0, 0, 0, 0, side - grid, side - grid, 0})});
  map = b.reshape(map, {across, window, across, window, config.width});
  map = b.reshape(b.transpose(map, {0, 2, 1, 3, 4}),
                  {across * across, window * window, config.width});
  map = rotary_attention(b, config, map, key, rotation);
  map = b.reshape(map, {across, across, window, window, config.width});
  map = b.reshape(b.transpose(map, {0, 2, 1, 3, 4}), {1, side, side, config.width});
  map = b.slice(b.slice(map, 1, 0, grid), 2, 0, grid);
  return b.reshape(map, {1, grid * grid, config.width});
}

struct Rotations {
  Rotation window;
  Rotation global;
};

// What all layers share.
struct Backbone {
  const VisionConfig& config;
  Tokens tokens;
  Rotations rotations;
};

Value window_attention(Builder& b, const Backbone& backbone, const Value& x,
                       const std::string& key) {
  const VisionConfig& config = backbone.config;
  const Rotation& rotation = backbone.rotations.window;
  if (!backbone.tokens.by_window) return padded_window_attention(b, config, x, key, rotation);
  const Size window = config.window;
  const Size count = config.tokens() / (window * window);
  const Value cut = b.reshape(x, {count, window * window, config.width});
  return b.reshape(rotary_attention(b, config, cut, key, rotation),
                   {1, config.tokens(), config.width});
}

Value feed_forward(Builder& b, const VisionConfig& config, const Value& x, const std::string& key) {
  const Builder::Scope scope(b, "mlp");
  const Value inner =
      b.activation(b.linear(x, {key + ".mlp.fc1", config.width, config.inner}), config.activation);
  return b.linear(inner, {key + ".mlp.fc2", config.inner, config.width});
}

Value backbone_layer(Builder& b, const Backbone& backbone, Value x, Size index) {
  const VisionConfig& config = backbone.config;
  const std::string part = "layers." + std::to_string(index);
  const std::string key = "detector_model.vision_encoder.backbone." + part;
  const Builder::Scope scope(b, part);
  const Value normed = b.layer_norm(x, key + ".layer_norm1", config.width, config.epsilon);
  const Value attended =
      config.global_layers.contains(index)
          ? rotary_attention(b, config, normed, key + ".attention", backbone.rotations.global)
          : window_attention(b, backbone, normed, key + ".attention");
  x = b.add(x, attended);
  const Value second = b.layer_norm(x, key + ".layer_norm2", config.width, config.epsilon);
  return b.named(b.add(x, feed_forward(b, config, second, key)), "output");
}

Rotations make_rotations(Builder& b, const VisionConfig& config, const Tokens& tokens) {
  const Builder::Scope scope(b, "rotary_emb");
  const Size window = config.window;
  const auto in_window = [&](Size i) { return std::pair<Size, Size>(i % window, i / window); };
  const auto in_picture = [&](Size i) { return tokens.place(i); };
  Rotations rotations;
  rotations.window = rotation_tables(b, config, window * window, 1.0, in_window);
  rotations.global =
      rotation_tables(b, config, config.tokens(),
                      static_cast<double>(static_cast<float>(static_cast<double>(window) /
                                                             static_cast<double>(config.grid()))),
                      in_picture);
  return rotations;
}

}  // namespace

Value build_backbone(Builder& b, const VisionConfig& config, const Value& pixels) {
  const Builder::Scope scope(b, "backbone");
  const Tokens tokens(config);
  const Backbone backbone{config, tokens, make_rotations(b, config, tokens)};
  const std::string key = "detector_model.vision_encoder.backbone.layer_norm";
  Value x = b.named(
      b.layer_norm(embed(b, config, tokens, pixels), key, config.width, config.epsilon), "ln_pre");
  for (Size i = 0; i < config.layers; ++i) x = backbone_layer(b, backbone, x, i);
  const Size grid = config.grid();
  if (!tokens.by_window) return b.reshape(b.transpose(x, {0, 2, 1}), {1, config.width, grid, grid});
  const Size window = config.window;
  const Size across = grid / window;
  x = b.reshape(x, {across, across, window, window, config.width});
  return b.reshape(b.transpose(x, {4, 0, 2, 1, 3}), {1, config.width, grid, grid});
}

Value build_neck_level(Builder& b, const Config& config, const Value& features,
                       const std::string& neck, std::size_t level) {
  const std::string part = "fpn_layers." + std::to_string(level);
  const std::string key = neck + "." + part;
  const Builder::Scope outer(b, "neck");
  const Builder::Scope scope(b, part);
  const Size width = config.vision.width;
  const double scale = config.vision.scales[level];
  Value x = features;
  Size channels = width;
  if (scale >= 2) {
    x = b.transposed_convolution(x, {key + ".scale_layers.0", width, width / 2, 2, 2});
    channels = width / 2;
  }
  if (scale == 4) {
    x = b.activation(x, "gelu");
    x = b.transposed_convolution(x, {key + ".scale_layers.2", width / 2, width / 4, 2, 2});
    channels = width / 4;
  }
  x = b.convolution(x, {key + ".proj1", channels, config.width});
  return b.convolution(x, {key + ".proj2", config.width, config.width, 3, 1, 1});
}

namespace {

Value pixel_input(Builder& b, const VisionConfig& config) {
  return b.input("pixel_values", ElementType::kFloat,
                 {Size{1}, config.channels, config.image, config.image});
}

}  // namespace

Result<graph::EditableModel> build_vision_encoder(const Config& config,
                                                  const WeightSource& source) {
  Builder b(source, "vision_encoder");
  const Value features = build_backbone(b, config.vision, pixel_input(b, config.vision));
  for (std::size_t level = 0; level < 3; ++level) {
    const Size side = config.mask_side() >> level;
    b.output(build_neck_level(b, config, features, "detector_model.vision_encoder.neck", level),
             "fpn_" + std::to_string(level), ElementType::kFloat,
             {Size{1}, config.width, side, side});
  }
  return std::move(b).finish();
}

Result<graph::EditableModel> build_tracker_vision_encoder(const Config& config,
                                                          const WeightSource& source,
                                                          const GraphOptions& options) {
  Builder b(source, "tracker_vision_encoder");
  const Value features = build_backbone(b, config.vision, pixel_input(b, config.vision));
  const std::string decoder = "tracker_model.mask_decoder.";
  for (std::size_t level = 0; level < 3; ++level) {
    Value x = build_neck_level(b, config, features, "tracker_neck", level);
    Size channels = config.width;
    if (level < 2) {
      channels = config.width / (level == 0 ? 8 : 4);
      x = b.convolution(x, {decoder + "conv_s" + std::to_string(level), config.width, channels});
    } else if (options.no_memory == NoMemory::kOriginal || config.vision.scales.size() == 3) {
      const Value vector = b.weight("tracker_model.no_memory_embedding", {1, 1, config.width});
      x = b.add(x, b.reshape(vector, {1, config.width, 1, 1}));
    }
    const Size side = config.mask_side() >> level;
    b.output(x, "image_embeddings_" + std::to_string(level), ElementType::kFloat,
             {Size{1}, channels, side, side});
  }
  return std::move(b).finish();
}

}  // namespace sam3::convert
