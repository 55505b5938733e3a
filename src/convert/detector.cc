// The detector: DETR encoder and decoder, scores, masks. Source of the arithmetic: Sam3DetrEncoder,
// Sam3DetrDecoder, Sam3DotProductScoring and Sam3MaskDecoder of transformers.
#include <cmath>

#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

constexpr float kPresenceLimit = 10;
constexpr float kLogitLimit = 12;
constexpr float kInverseSigmoidEpsilon = 1e-3F;
constexpr Size kNormGroups = 8;
constexpr double kBiasScale = 8;  // of distances in the box bias

// Linear layers KEY + LAYER + 1, 2, … with ReLU between. Each use declares weights of its own:
// engines pack the weights of every product, and some cannot pack a shared one.
struct Stack {
  std::string key;
  std::vector<Size> widths;
  std::string use = "";
  std::string layer = ".layer";
  Size first = 1;
};

Value stack(Builder& b, Value x, const Stack& layers) {
  const Builder::Scope scope(b, layers.key.substr(layers.key.rfind('.') + 1));
  for (std::size_t i = 0; i + 1 < layers.widths.size(); ++i) {
    const std::string number = std::to_string(layers.first + static_cast<Size>(i));
    x = b.linear(x, {layers.key + layers.layer + number, layers.widths[i], layers.widths[i + 1]},
                 layers.use);
    if (i + 2 < layers.widths.size()) x = b.node("Relu", {x});
  }
  return x;
}

Value feed_forward(Builder& b, const Value& x, const std::string& key, Size width,
                   const TransformerConfig& config) {
  const Builder::Scope scope(b, "mlp");
  const Value inner =
      b.activation(b.linear(x, {key + ".mlp.fc1", width, config.inner}), config.activation);
  return b.linear(inner, {key + ".mlp.fc2", config.inner, width});
}

// What all layers look at.
struct Context {
  Value prompt;       // [1, T, C]
  Value prompt_bias;  // [1, 1, 1, T]
  Value positions;    // [1, N, C]
};

Value build_encoder(Builder& b, const Config& config, Value x, const Context& context) {
  const Builder::Scope scope(b, "detr_encoder");
  const Size width = config.width;
  for (Size i = 0; i < config.encoder.layers; ++i) {
    const std::string part = "layers." + std::to_string(i);
    const Builder::Scope layer(b, part);
    const std::string key = "detector_model.detr_encoder." + part;
    const auto attention = [&](const char* name) {
      return Attention{key + name, width, width, config.encoder.heads};
    };
    const Value first = b.layer_norm(x, key + ".layer_norm1", width);
    const Value placed = b.add(first, context.positions);
    x = b.add(x, b.attention(placed, placed, first, attention(".self_attn")));
    const Value second = b.layer_norm(x, key + ".layer_norm2", width);
    x = b.add(x, b.attention(second, context.prompt, context.prompt, attention(".cross_attn"),
                             context.prompt_bias));
    const Value third = b.layer_norm(x, key + ".layer_norm3", width);
    x = b.named(b.add(x, feed_forward(b, third, key, width, config.encoder)), "output");
  }
  return x;
}

Value inverse_sigmoid(Builder& b, const Value& x) {
  const Value clipped = b.clip(x, 0, 1);
  const Value epsilon = b.scalar(kInverseSigmoidEpsilon);
  const Value over = b.node("Max", {clipped, epsilon});
  const Value under = b.node("Max", {b.node("Sub", {b.scalar(1), clipped}), epsilon});
  return b.node("Log", {b.node("Div", {over, under})});
}

// Distances of cells [S] from two edges of each box [1, Q, 2], log scaled, through a small network:
// [1, Q, S, heads].
Value axis_bias(Builder& b, const Config& config, const Value& edges, const std::string& axis,
                const std::string& use) {
  const Size grid = config.vision.grid();
  std::vector<float> cells;
  for (Size i = 0; i < grid; ++i) cells.push_back(static_cast<float>(i) / static_cast<float>(grid));
  const Value distances =
      b.scale(b.node("Sub", {b.floats({1, 1, grid, 1}, cells), b.unsqueeze(edges, 2)}), kBiasScale);
  // sign(d) * log2(|d| + 1) / log2(8)
  const Value size = b.node("Log", {b.add(b.node("Abs", {distances}), b.scalar(1))});
  const Value scaled = b.mul(b.node("Sign", {distances}), b.scale(size, 1 / std::log(kBiasScale)));
  return stack(b, scaled,
               {"detector_model.detr_decoder.box_rpb_embed_" + axis,
                {2, config.width, config.decoder.heads},
                use});
}

// What a box adds to the attention scores: [1, heads, 1 + Q, N], zero for the presence token.
Value box_bias(Builder& b, const Config& config, const Value& boxes, const std::string& use) {
  const Builder::Scope scope(b, "box_bias");
  const Size grid = config.vision.grid();
  const Value corners = build_corners(b, boxes);
  const auto edges = [&](std::int64_t low, std::int64_t high) {
    return b.node("Gather", {corners, b.ints({low, high})}, {{"axis", std::int64_t{2}}});
  };
  const Value x = b.transpose(axis_bias(b, config, edges(0, 2), "x", use), {0, 3, 1, 2});
  const Value y = b.transpose(axis_bias(b, config, edges(1, 3), "y", use), {0, 3, 1, 2});
  const Value sum = b.add(b.unsqueeze(y, 4), b.unsqueeze(x, 3));
  const Value flat = b.reshape(sum, {1, config.decoder.heads, config.queries, grid * grid});
  return b.node("Pad", {flat, b.ints({0, 0, 1, 0, 0, 0, 0, 0})});
}

// Positions of the queries: [1, 1 + Q, C], zero for the presence token.
Value query_positions(Builder& b, const Config& config, const Value& boxes,
                      const std::string& use) {
  const Builder::Scope scope(b, "query_positions");
  const std::vector<Value> parts =
      b.nodes("Split", {boxes, b.ints({1, 1, 1, 1})}, 4, {{"axis", std::int64_t{-1}}});
  std::vector<Value> encoded;
  for (const std::size_t i : {1U, 0U, 2U, 3U})  // y, x, width, height
    encoded.push_back(build_sine_encoding(b, b.squeeze(parts[i], 2), config.width / 2));
  const Size width = config.width;
  const Value all =
      stack(b, b.concat(encoded, 2),
            {"detector_model.detr_decoder.ref_point_head", {2 * width, width, width}, use});
  return b.node("Pad", {all, b.ints({0, 1, 0, 0, 0, 0})});
}

struct Decoded {
  Value queries;   // after the last norm, [1, Q, C]
  Value boxes;     // centre and size in 0..1
  Value presence;  // [1, 1]
};

class Decoder {
 public:
  Decoder(Builder& b, const Config& config, const Context& context, const Value& memory)
      : b_(b), config_(config), context_(context), memory_(memory) {
    placed_memory_ = b.add(memory, context.positions);
  }

  Decoded build() {
    const Builder::Scope scope(b_, "detr_decoder");
    const Size width = config_.width;
    const Value start =
        b_.concat({b_.weight(kKey + "presence_token.weight", {1, width}),
                   b_.weight(kKey + "query_embed.weight", {config_.queries, width})},
                  0);
    Value x = b_.unsqueeze(start, 0);
    Decoded out;
    out.boxes = b_.node(
        "Sigmoid",
        {b_.unsqueeze(b_.weight(kKey + "reference_points.weight", {config_.queries, 4}), 0)});
    for (Size i = 0; i < config_.decoder.layers; ++i) {
      const std::string part = "layers." + std::to_string(i);
      const Builder::Scope layer(b_, part);
      out.boxes = b_.named(out.boxes, "reference_boxes");
      x = decode(x, out.boxes, part);
      const Value queries = b_.slice(x, 1, 1, config_.queries + 1);
      out.queries = b_.named(b_.layer_norm(queries, kKey + "output_layer_norm", width), "output");
      const Value moved =
          stack(b_, out.queries, {kKey + "box_head", {width, width, width, 4}, part});
      out.boxes = b_.node("Sigmoid", {b_.add(moved, inverse_sigmoid(b_, out.boxes))});
    }
    const Value token = b_.layer_norm(b_.slice(x, 1, 0, 1), kKey + "presence_layer_norm", width);
    const Value presence = stack(b_, token, {kKey + "presence_head", {width, width, width, 1}});
    out.presence = b_.clip(b_.squeeze(presence, 2), -kPresenceLimit, kPresenceLimit);
    return out;
  }

 private:
  static inline const std::string kKey = "detector_model.detr_decoder.";

  Value decode(Value x, const Value& boxes, const std::string& part) {
    const std::string key = kKey + part;
    const Size width = config_.width;
    const Value positions = query_positions(b_, config_, boxes, part);
    const auto attention = [&](const char* name) {
      return Attention{key + name, width, width, config_.decoder.heads};
    };
    const Value self = b_.add(x, positions);
    x = b_.add(x, b_.attention(self, self, x, attention(".self_attn")));
    x = b_.layer_norm(x, key + ".self_attn_layer_norm", width);
    x = b_.add(x, b_.attention(b_.add(x, positions), context_.prompt, context_.prompt,
                               attention(".text_cross_attn"), context_.prompt_bias));
    x = b_.layer_norm(x, key + ".text_cross_attn_layer_norm", width);
    x = b_.add(x,
               b_.attention(b_.add(x, positions), placed_memory_, memory_,
                            attention(".vision_cross_attn"), box_bias(b_, config_, boxes, part)));
    x = b_.layer_norm(x, key + ".vision_cross_attn_layer_norm", width);
    x = b_.add(x, feed_forward(b_, x, key, width, config_.decoder));
    return b_.layer_norm(x, key + ".mlp_layer_norm", width);
  }

  Builder& b_;
  const Config& config_;
  const Context& context_;
  Value memory_;
  Value placed_memory_;
};

// [1, Q]
Value build_scores(Builder& b, const Config& config, const Value& queries, const Value& prompt,
                   const Value& valid) {
  const Builder::Scope scope(b, "dot_product_scoring");
  const std::string key = "detector_model.dot_product_scoring.";
  const Size width = config.width;
  const Value mixed =
      b.add(stack(b, prompt, {key + "text_mlp", {width, config.decoder.inner, width}}), prompt);
  const Value normed = b.layer_norm(mixed, key + "text_mlp_out_norm", width);
  const Value counts =
      b.unsqueeze(b.node("Cast", {valid}, {{"to", std::int64_t{1}}}), 2);  // [1, T, 1]
  const Value axis = b.ints({1});
  const Attributes drop = {{"keepdims", std::int64_t{0}}};
  const Value sum = b.node("ReduceSum", {b.mul(normed, counts), axis}, drop);
  const Value count = b.node("Max", {b.node("ReduceSum", {counts, axis}, drop), b.scalar(1)});
  const Value pooled = b.node("Div", {sum, count});
  const Value text = b.linear(pooled, {key + "text_proj", width, width});
  const Value asked = b.linear(queries, {key + "query_proj", width, width});
  const Value product = b.squeeze(b.node("MatMul", {asked, b.unsqueeze(text, 2)}), 2);
  return b.clip(b.scale(product, 1 / std::sqrt(static_cast<double>(width))), -kLogitLimit,
                kLogitLimit);
}

// Group norm as standard operators of opset 18 can say it.
Value group_norm(Builder& b, const Value& x, const std::string& key, Size width, Size side) {
  const Builder::Scope scope(b, "norm");
  const std::vector<float> ones(static_cast<std::size_t>(kNormGroups), 1);
  const std::vector<float> zeros(static_cast<std::size_t>(kNormGroups), 0);
  const Value grouped = b.reshape(x, {1, kNormGroups, -1});
  const Value normed =
      b.node("InstanceNormalization",
             {grouped, b.floats({kNormGroups}, ones), b.floats({kNormGroups}, zeros)},
             {{"epsilon", 1e-5F}});
  const Value map = b.reshape(normed, {1, width, side, side});
  const auto channels = [&](const char* end) {
    return b.reshape(b.weight(key + end, {width}), {1, width, 1, 1});
  };
  return b.add(b.mul(map, channels(".weight")), channels(".bias"));
}

// The finest map with the encoder's answer mixed in: [1, C, S, S].
Value build_pixels(Builder& b, const Config& config, const std::vector<Value>& fpn,
                   const Value& memory, const Context& context) {
  const std::string key = "detector_model.mask_decoder.";
  const Size width = config.width;
  const Size grid = config.vision.grid();
  const Value normed = b.layer_norm(memory, key + "prompt_cross_attn_norm", width);
  const Value encoded =
      b.add(memory, b.attention(normed, context.prompt, context.prompt,
                                {key + "prompt_cross_attn", width, width, config.mask_heads},
                                context.prompt_bias));
  Value x = b.reshape(b.transpose(encoded, {0, 2, 1}), {1, width, grid, grid});
  const Builder::Scope scope(b, "pixel_decoder");
  for (Size step = 0; step < 2; ++step) {
    const Builder::Scope stage(b, "stages." + std::to_string(step));
    const Size side = grid << (step + 1);
    const std::string number = std::to_string(step);
    const Value scales = b.floats({4}, {1, 1, 2, 2});
    x = b.node("Resize", {x, "", scales},
               {{"mode", "nearest"},
                {"coordinate_transformation_mode", "asymmetric"},
                {"nearest_mode", "floor"}});
    x = b.add(x, fpn[static_cast<std::size_t>(1 - step)]);
    x = b.convolution(x, {key + "pixel_decoder.conv_layers." + number, width, width, 3, 1, 1});
    x = b.node("Relu", {group_norm(b, x, key + "pixel_decoder.norms." + number, width, side)});
  }
  return x;
}

struct MaskInputs {
  std::vector<Value> fpn;
  Value queries;  // of the decoder
  Value memory;   // of the encoder
};

void build_masks(Builder& b, const Config& config, const MaskInputs& in, const Context& context,
                 DetectorOutputs& out) {
  const Builder::Scope scope(b, "mask_decoder");
  const std::string key = "detector_model.mask_decoder.";
  const Size width = config.width;
  const Value pixels = build_pixels(b, config, in.fpn, in.memory, context);
  const Value instances = b.convolution(pixels, {key + "instance_projection", width, width});
  out.embeddings = stack(b, in.queries,
                         {key + "mask_embedder", {width, width, width, width}, "", ".layers.", 0});
  out.pixels = b.reshape(instances, {1, width, config.mask_side() * config.mask_side()});
  out.semantic = b.convolution(pixels, {key + "semantic_projection", width, 1});
}

// Logits [1, Q, S, S] > 0 as bits, the leftmost of eight pixels in the highest: [1, Q, S, S / 8].
Value pack_bits(Builder& b, const Config& config, const Value& masks) {
  const Builder::Scope scope(b, "pack_bits");
  const Size side = config.mask_side();
  const Size bytes = (side + 7) / 8;
  Value bits = b.node("Cast", {b.node("Greater", {masks, b.scalar(0)})}, {{"to", std::int64_t{6}}});
  const Value places = b.constant(
      "bit_values", graph::make_weight(ElementType::kInt32, {8},
                                       std::vector<std::int32_t>{128, 64, 32, 16, 8, 4, 2, 1}));
  if (bytes * 8 != side)
    bits = b.node("Pad", {bits, b.ints({0, 0, 0, 0, 0, 0, 0, bytes * 8 - side})});
  const Value split = b.reshape(bits, {1, config.queries, side, bytes, 8});
  const Value sum =
      b.node("ReduceSum", {b.mul(split, places), b.ints({4})}, {{"keepdims", std::int64_t{0}}});
  return b.node("Cast", {sum}, {{"to", std::int64_t{2}}});
}

}  // namespace

DetectorOutputs build_detection(Builder& b, const Config& config, const DetectorInputs& in) {
  const Size width = config.width;
  Context context;
  context.prompt = in.prompt;
  context.prompt_bias = build_attention_bias(b, in.valid);
  context.positions =
      in.positions.empty() ? build_position_encoding(b, width, config.vision.grid()) : in.positions;
  const Value flat =
      b.transpose(b.reshape(in.fpn[2], {1, width, config.vision.tokens()}), {0, 2, 1});
  const Value memory = build_encoder(b, config, flat, context);
  const Decoded decoded = Decoder(b, config, context, memory).build();
  DetectorOutputs out;
  out.boxes = build_corners(b, decoded.boxes);
  out.presence = decoded.presence;
  out.logits = build_scores(b, config, decoded.queries, in.prompt, in.valid);
  build_masks(b, config, {in.fpn, decoded.queries, memory}, context, out);
  return out;
}

Result<graph::EditableModel> build_detector(const Config& config, const WeightSource& source,
                                            const GraphOptions& options) {
  Builder b(source, "detector");
  const Size side = config.mask_side();
  const Dim length = options.free_prompt_length ? Dim("T") : Dim(config.text.length);
  DetectorInputs in;
  for (std::size_t level = 0; level < 3; ++level)
    in.fpn.push_back(b.input("fpn_" + std::to_string(level), ElementType::kFloat,
                             {Size{1}, config.width, side >> level, side >> level}));
  in.prompt = b.input("text_features", ElementType::kFloat, {Size{1}, length, config.width});
  const Value mask = b.input("attention_mask", ElementType::kInt64, {Size{1}, length});
  in.valid = b.node("Cast", {mask}, {{"to", std::int64_t{9}}});
  const DetectorOutputs out = build_detection(b, config, in);
  const Value masks = b.named(
      b.reshape(b.node("MatMul", {out.embeddings, out.pixels}), {1, config.queries, side, side}),
      "pred_masks");
  b.output(pack_bits(b, config, masks), "pred_masks_bits", ElementType::kUint8,
           {Size{1}, config.queries, side, (side + 7) / 8});
  b.output(out.boxes, "pred_boxes", ElementType::kFloat, {Size{1}, config.queries, Size{4}});
  b.output(out.logits, "pred_logits", ElementType::kFloat, {Size{1}, config.queries});
  b.output(out.presence, "presence_logits", ElementType::kFloat, {Size{1}, Size{1}});
  b.output(out.semantic, "semantic_seg", ElementType::kFloat, {Size{1}, Size{1}, side, side});
  return std::move(b).finish();
}

}  // namespace sam3::convert
