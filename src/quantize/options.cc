#include "quantize/options.h"

#include <algorithm>
#include <array>

namespace sam3::quantize {

namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 5> kNames{{
    {Precision::kInt8, "int8"},
    {Precision::kInt8Weights, "int8-weights"},
    {Precision::kInt8Blocks, "int8-blocks"},
    {Precision::kInt4Blocks, "int4-blocks"},
    {Precision::kFloat16, "fp16"},
}};

bool in_blocks(Precision precision) {
  return precision == Precision::kInt8Blocks || precision == Precision::kInt4Blocks;
}

}  // namespace

std::string_view precision_name(Precision precision) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& entry) { return entry.first == precision; });
  return found->second;
}

std::optional<Precision> parse_precision(std::string_view name) {
  for (const auto& [precision, known] : kNames)
    if (known == name) return precision;
  return std::nullopt;
}

std::string precision_names() {
  std::string text;
  for (const auto& [precision, name] : kNames)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<std::string> default_ops(Precision precision, std::string_view graph_name) {
  std::vector<std::string> ops{std::string(kMatMul)};
  if (graph_name == "vision_encoder" && !in_blocks(precision)) {
    ops.emplace_back(kConv);
    ops.emplace_back(kConvTranspose);
  }
  return ops;
}

Status check(const Options& options) {
  const auto wrong = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
  };
  if (options.precision == Precision::kFloat16) return {};
  for (const std::string& op : options.ops) {
    if (op != kMatMul && op != kConv && op != kConvTranspose)
      return wrong(
          "operators that can be quantized are MatMul (with Gemm), Conv and "
          "ConvTranspose, not '" +
          op + "'");
    if (in_blocks(options.precision) && op != kMatMul)
      return wrong("blocks of weights are there for MatMul only, not for " + op);
  }
  return {};
}

bool matches(std::string_view pattern, std::string_view text) {
  // On a mismatch, the last star takes one character more.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::int64_t Report::count() const {
  std::int64_t sum = 0;
  for (const auto& [op, nodes] : quantized) sum += nodes;
  return sum;
}

}  // namespace sam3::quantize
