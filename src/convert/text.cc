// The text encoder. Source of the arithmetic: CLIPTextModel of transformers, as Sam3Model uses it.
#include <algorithm>
#include <limits>
#include <span>

#include "convert/graphs.h"

namespace sam3::convert {

namespace {

using graph::ElementType;

// f32[1, 1, T, T]: which tokens a token may look at.
Value text_bias(Builder& b, const TextConfig& config, const Value& mask) {
  const Builder::Scope scope(b, "mask");
  std::string allowed;
  for (Size row = 0; row < config.length; ++row)
    for (Size column = 0; column < config.length; ++column) allowed += column <= row ? '\1' : '\0';
  Value valid = b.constant(
      "causal_mask",
      graph::make_weight(ElementType::kBool, {1, 1, config.length, config.length}, allowed));
  if (!mask.empty()) {
    const Value given = b.node("Cast", {mask}, {{"to", std::int64_t{9}}});
    valid = b.node("And", {valid, b.reshape(given, {1, 1, 1, config.length})});
  }
  return b.node("Where", {valid, b.scalar(0), b.scalar(std::numeric_limits<float>::lowest())});
}

bool is_zero(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float value) { return value == 0; });
}

}  // namespace

Value build_token_embeddings(Builder& b, const TextConfig& config, const Value& ids) {
  const std::string key =
      "detector_model.text_encoder.text_model.embeddings.token_embedding.weight";
  const std::vector<std::int64_t> dims = {config.vocabulary, config.width};
  const std::vector<float> table = b.values(key, dims);
  const auto width = static_cast<std::size_t>(config.width);
  const auto row = [&](Size token) {
    return std::span(table).subspan(static_cast<std::size_t>(token) * width, width);
  };
  Size zeros = 0;
  for (Size token = 0; token < config.vocabulary; ++token) zeros += is_zero(row(token));
  if (zeros < config.vocabulary / 2) return b.node("Gather", {b.weight(key, dims), ids});
  std::vector<float> rows(width);  // row 0 stands for all that are zero
  std::vector<std::int32_t> row_of;
  for (Size token = 0; token < config.vocabulary; ++token) {
    const bool zero = is_zero(row(token));
    row_of.push_back(zero ? 0 : static_cast<std::int32_t>(rows.size() / width));
    if (!zero) rows.insert(rows.end(), row(token).begin(), row(token).end());
  }
  const auto count = static_cast<Size>(rows.size() / width);
  const Value numbers = b.constant(
      key + "/row_of_token", graph::make_weight(ElementType::kInt32, {config.vocabulary}, row_of));
  const Value kept = b.constant(
      key + "/rows", graph::make_weight(ElementType::kFloat, {count, config.width}, rows));
  return b.node("Gather", {kept, b.node("Gather", {numbers, ids})});
}

Value build_text_model(Builder& b, const TextConfig& config, const Value& ids, const Value& mask) {
  const Builder::Scope scope(b, "text_model");
  const std::string key = "detector_model.text_encoder.text_model.";
  const Value bias = text_bias(b, config, mask);
  const Value tokens = build_token_embeddings(b, config, ids);
  Value x = b.add(tokens, b.unsqueeze(b.weight(key + "embeddings.position_embedding.weight",
                                               {config.length, config.width}),
                                      0));
  for (Size i = 0; i < config.layers; ++i) {
    const std::string part = "encoder.layers." + std::to_string(i);
    const Builder::Scope layer(b, part);
    const std::string at = key + part;
    const Value first = b.layer_norm(x, at + ".layer_norm1", config.width, config.epsilon);
    x = b.add(x,
              b.attention(first, first, first,
                          {at + ".self_attn", config.width, config.width, config.heads, "out_proj"},
                          bias));
    const Value second = b.layer_norm(x, at + ".layer_norm2", config.width, config.epsilon);
    const Value inner = b.activation(
        b.linear(second, {at + ".mlp.fc1", config.width, config.inner}), config.activation);
    x = b.named(b.add(x, b.linear(inner, {at + ".mlp.fc2", config.inner, config.width})), "output");
  }
  return b.named(b.layer_norm(x, key + "final_layer_norm", config.width, config.epsilon),
                 "last_hidden_state");
}

Value build_text_projection(Builder& b, const Config& config, const Value& hidden) {
  return b.linear(hidden, {"detector_model.text_projection", config.text.width, config.width});
}

Result<graph::EditableModel> build_text_encoder(const Config& config, const WeightSource& source) {
  Builder b(source, "text_encoder");
  const Size length = config.text.length;
  const Value ids = b.input("input_ids", ElementType::kInt64, {Size{1}, length});
  const Value mask = b.input("attention_mask", ElementType::kInt64, {Size{1}, length});
  const Value hidden = build_text_model(b, config.text, ids, mask);
  b.output(build_text_projection(b, config, hidden), "text_features", ElementType::kFloat,
           {Size{1}, length, config.width});
  return std::move(b).finish();
}

}  // namespace sam3::convert
