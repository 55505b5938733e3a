// The point workflow's decoder. Source of the arithmetic: Sam3TrackerPromptEncoder and
// Sam3TrackerMaskDecoder of transformers, with all mask tokens returned. P prompts, n points each.
#include <cmath>
#include <numbers>

#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

constexpr double kUpscaleEpsilon = 1e-6;
constexpr Size kNotAPoint = -1;
constexpr Size kPadding = -10;

// One vector [1, 1, C], added for points with a label.
Value label_vector(Builder& b, const std::string& key, Size rows, Size row, Size width) {
  const Value table = b.weight(key, {rows, width});
  return b.unsqueeze(rows == 1 ? table : b.slice(table, 0, row, row + 1), 0);
}

// coordinates [.., 2] in 0..1 -> [.., C] by a random matrix [2, C / 2].
Value random_encoding(Builder& b, const Value& coordinates, const std::string& key, Size width) {
  const Value centred = b.node("Sub", {b.scale(coordinates, 2), b.scalar(1)});
  const Value projected = b.node("MatMul", {centred, b.weight(key, {2, width / 2})});
  const Value angles = b.scale(projected, 2 * std::numbers::pi);
  return b.concat({b.node("Sin", {angles}), b.node("Cos", {angles})}, -1);
}

// points [P, n, 2] in model pixels, labels [P, n] -> [P, n + 1, C]; the token behind the points
// says that there is no more.
Value encode_points(Builder& b, const Config& config, const Value& points, const Value& labels) {
  const Builder::Scope scope(b, "prompt_encoder");
  const std::string key = "tracker_model.prompt_encoder.";
  const Size width = config.width;
  const Value centred = b.add(points, b.scalar(0.5F));
  const Value padded = b.node("Pad", {centred, b.ints({0, 0, 0, 0, 1, 0})});
  const Value minus_one = b.constant(
      "minus_one",
      graph::make_weight(ElementType::kInt64, {}, std::vector<std::int64_t>{kNotAPoint}));
  const Value all = b.unsqueeze(b.node("Pad", {labels, b.ints({0, 0, 0, 1}), minus_one}), 2);
  const Value unit = b.node("Div", {padded, b.scalar(static_cast<float>(config.vision.image))});
  Value x = random_encoding(b, unit, key + "shared_embedding.positional_embedding", width);
  const auto is = [&](Size label) { return b.node("Equal", {all, b.ints({label})}); };
  x = b.node("Where",
             {is(kNotAPoint), label_vector(b, key + "not_a_point_embed.weight", 1, 0, width), x});
  x = b.node("Where", {is(kPadding), b.scalar(0), x});
  const Size kinds = config.point.point_embeddings;
  const Value none = b.floats({1, 1, 1}, {0});
  for (Size kind = 0; kind < kinds; ++kind) {
    const Value vector = label_vector(b, key + "point_embed.weight", kinds, kind, width);
    x = b.add(x, b.node("Where", {is(kind), vector, none}));
  }
  return x;
}

// The encoding of every patch's centre, made here: [1, N, C].
Value picture_positions(Builder& b, const Config& config) {
  const Size grid = config.vision.grid();
  const Size half = config.width / 2;
  const std::vector<float> matrix =
      b.values("tracker_model.shared_image_embedding.positional_embedding", {2, half});
  std::vector<float> table;
  for (Size y = 0; y < grid; ++y)
    for (Size x = 0; x < grid; ++x)
      for (const bool cosine : {false, true})
        for (Size i = 0; i < half; ++i) {
          const auto place = [&](Size at) {
            return 2 * ((static_cast<float>(at) + 0.5F) / static_cast<float>(grid)) - 1;
          };
          const float projected = place(x) * matrix[static_cast<std::size_t>(i)] +
                                  place(y) * matrix[static_cast<std::size_t>(half + i)];
          const double angle =
              static_cast<double>(static_cast<float>(2 * std::numbers::pi) * projected);
          table.push_back(static_cast<float>(cosine ? std::cos(angle) : std::sin(angle)));
        }
  return b.floats({1, grid * grid, config.width}, table);
}

// Linear layers proj_in, layers.0.., proj_out with ReLU between.
struct FeedForward {
  std::string key;
  Size in = 0;
  Size inner = 0;
  Size out = 0;
  Size layers = 0;
};

Value feed_forward(Builder& b, Value x, const FeedForward& part) {
  const std::string& key = part.key;
  const Builder::Scope scope(b, key.substr(key.find_last_of('.', key.size() - 3) + 1));
  x = b.node("Relu", {b.linear(x, {key + ".proj_in", part.in, part.inner})});
  for (Size i = 0; i + 2 < part.layers; ++i)
    x = b.node("Relu",
               {b.linear(x, {key + ".layers." + std::to_string(i), part.inner, part.inner})});
  return b.linear(x, {key + ".proj_out", part.inner, part.out});
}

class TwoWay {
 public:
  TwoWay(Builder& b, const Config& config, const Value& tokens, const Value& positions)
      : b_(b), config_(config), start_(tokens), positions_(positions) {}

  // Changes tokens [P, t, C] and picture [1 or P, N, C].
  void run(Value& tokens, Value& picture) {
    const Builder::Scope scope(b_, "transformer");
    for (Size i = 0; i < config_.point.layers; ++i) {
      const std::string part = "layers." + std::to_string(i);
      const Builder::Scope layer(b_, part);
      block(kKey + part, i == 0, tokens, picture);
    }
    const Value asked = b_.add(tokens, start_);
    const Value placed = b_.add(picture, positions_);
    tokens = b_.add(
        tokens, b_.attention(asked, placed, picture, cross(kKey + "final_attn_token_to_image")));
    tokens = b_.layer_norm(tokens, kKey + "layer_norm_final_attn", config_.width);
  }

 private:
  static inline const std::string kKey = "tracker_model.mask_decoder.transformer.";

  Attention cross(const std::string& key) const {
    return {key, config_.width, config_.width / config_.point.downsample, config_.point.heads};
  }

  void block(const std::string& key, bool first, Value& tokens, Value& picture) {
    const Size width = config_.width;
    const Attention self = {key + ".self_attn", width, width, config_.point.heads};
    if (first) {
      tokens = b_.attention(tokens, tokens, tokens, self);
    } else {
      const Value placed = b_.add(tokens, start_);
      tokens = b_.add(tokens, b_.attention(placed, placed, tokens, self));
    }
    tokens = b_.layer_norm(tokens, key + ".layer_norm1", width);
    Value asked = b_.add(tokens, start_);
    const Value placed = b_.add(picture, positions_);
    tokens = b_.add(
        tokens, b_.attention(asked, placed, picture, cross(key + ".cross_attn_token_to_image")));
    tokens = b_.layer_norm(tokens, key + ".layer_norm2", width);
    tokens = b_.add(tokens, feed_forward(b_, tokens,
                                         {key + ".mlp", width, config_.point.inner, width,
                                          config_.point.layers}));
    tokens = b_.layer_norm(tokens, key + ".layer_norm3", width);
    asked = b_.add(tokens, start_);
    picture = b_.add(
        picture, b_.attention(placed, asked, tokens, cross(key + ".cross_attn_image_to_token")));
    picture = b_.layer_norm(picture, key + ".layer_norm4", width);
  }

  Builder& b_;
  const Config& config_;
  Value start_;
  Value positions_;
};

// Layer norm over the channels of a map.
Value channel_norm(Builder& b, const Value& x, const std::string& key, Size channels) {
  const Value normed = b.layer_norm(b.transpose(x, {0, 2, 3, 1}), key, channels, kUpscaleEpsilon);
  return b.transpose(normed, {0, 3, 1, 2});
}

// picture [1 or P, N, C] -> [1 or P, C / 8, S * S]
Value upscale(Builder& b, const Config& config, const Value& picture, const Value& fine_0,
              const Value& fine_1) {
  const Builder::Scope scope(b, "upscale");
  const std::string key = "tracker_model.mask_decoder.";
  const Size width = config.width;
  const Size grid = config.vision.grid();
  Value x = b.reshape(b.transpose(picture, {0, 2, 1}), {0, width, grid, grid});
  x = b.add(b.transposed_convolution(x, {key + "upscale_conv1", width, width / 4, 2, 2}), fine_1);
  x = b.activation(channel_norm(b, x, key + "upscale_layer_norm", width / 4), "gelu");
  x = b.transposed_convolution(x, {key + "upscale_conv2", width / 4, width / 8, 2, 2});
  x = b.activation(b.add(x, fine_0), "gelu");
  return b.reshape(x, {0, width / 8, config.mask_side() * config.mask_side()});
}

struct Answer {
  Value masks;   // [1, P, tokens, S, S]
  Value iou;     // [1, P, tokens]
  Value object;  // [1, P, 1]
};

Answer decode(Builder& b, const Config& config, const std::vector<Value>& embeddings,
              const Value& sparse) {
  const Builder::Scope scope(b, "mask_decoder");
  const std::string key = "tracker_model.mask_decoder.";
  const Size width = config.width;
  const Size masks = config.point.masks;
  const Value own = b.unsqueeze(b.concat({b.weight(key + "obj_score_token.weight", {1, width}),
                                          b.weight(key + "iou_token.weight", {1, width}),
                                          b.weight(key + "mask_tokens.weight", {masks, width})},
                                         0),
                                0);
  // A row of them for each prompt.
  const Value prompts = b.slice(b.node("Shape", {sparse}), 0, 0, 1);
  const Value sizes = b.concat({prompts, b.ints({2 + masks, width})}, 0);
  const Value start = b.concat({b.node("Expand", {own, sizes}), sparse}, 1);
  const Value dense = b.reshape(
      b.weight("tracker_model.prompt_encoder.no_mask_embed.weight", {1, width}), {1, width, 1, 1});
  Value picture = b.reshape(b.add(embeddings[2], dense), {1, width, config.vision.tokens()});
  picture = b.transpose(picture, {0, 2, 1});
  Value tokens = start;
  TwoWay(b, config, start, picture_positions(b, config)).run(tokens, picture);
  const Value fine = upscale(b, config, picture, embeddings[0], embeddings[1]);
  const auto token = [&](Size i) { return b.slice(tokens, 1, i, i + 1); };
  std::vector<Value> rows;
  for (Size i = 0; i < masks; ++i)
    rows.push_back(feed_forward(
        b, token(2 + i),
        {key + "output_hypernetworks_mlps." + std::to_string(i), width, width, width / 8, 3}));
  const Size side = config.mask_side();
  Answer answer;
  const Value product = b.node("MatMul", {b.concat(rows, 1), fine});
  answer.masks = b.unsqueeze(b.reshape(product, {0, masks, side, side}), 0);
  const Value iou = feed_forward(
      b, token(1),
      {key + "iou_prediction_head", width, config.point.iou_inner, masks, config.point.iou_layers});
  answer.iou = b.node("Sigmoid", {b.transpose(iou, {1, 0, 2})});
  const Value object = feed_forward(b, token(0), {key + "pred_obj_score_head", width, width, 1, 3});
  answer.object = b.transpose(object, {1, 0, 2});
  return answer;
}

}  // namespace

Result<graph::EditableModel> build_prompt_decoder(const Config& config,
                                                  const WeightSource& source) {
  Builder b(source, "prompt_decoder");
  const Size side = config.mask_side();
  const Size width = config.width;
  std::vector<Value> embeddings;
  for (std::size_t level = 0; level < 3; ++level) {
    const Size channels = level == 0 ? width / 8 : level == 1 ? width / 4 : width;
    embeddings.push_back(b.input("image_embeddings_" + std::to_string(level), ElementType::kFloat,
                                 {Size{1}, channels, side >> level, side >> level}));
  }
  const Value points = b.input("input_points", ElementType::kFloat, {Size{1}, "P", "N", Size{2}});
  const Value labels = b.input("input_labels", ElementType::kInt64, {Size{1}, "P", "N"});
  const Value sparse = encode_points(b, config, b.squeeze(points, 0), b.squeeze(labels, 0));
  const Answer answer = decode(b, config, embeddings, b.named(sparse, "sparse_embeddings"));
  const Size masks = config.point.masks;
  b.output(answer.masks, "pred_masks", ElementType::kFloat, {Size{1}, "P", masks, side, side});
  b.output(answer.iou, "iou_scores", ElementType::kFloat, {Size{1}, "P", masks});
  b.output(answer.object, "object_score_logits", ElementType::kFloat, {Size{1}, "P", Size{1}});
  return std::move(b).finish();
}

}  // namespace sam3::convert
