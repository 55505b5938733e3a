// What a quantization is asked to do, and what it says it has done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "sam3/result.h"

namespace sam3::quantize {

enum class Precision {
  // Weights int8 with one scale per output channel; activations uint8, measured at run time
  // (DynamicQuantizeLinear, MatMulInteger, ConvInteger). ConvTranspose, which has no integer
  // operator, as kInt8Weights.
  kInt8,
  // Weights int8 with one scale per output channel behind DequantizeLinear; arithmetic in float.
  kInt8Weights,
  // Weights of 8 or 4 bits with one scale per 32 inputs of each output (com.microsoft.MatMulNBits).
  kInt8Blocks,
  kInt4Blocks,
  // Weights and products float16; what needs the range or the digits stays float32 (float16.h).
  kFloat16,
};

// "int8", "int8-weights", "int8-blocks", "int4-blocks", "fp16".
std::string_view precision_name(Precision precision);
std::optional<Precision> parse_precision(std::string_view name);
std::string precision_names();  // all of them, for messages

// Operators that can be chosen. kMatMul stands for Gemm too.
inline constexpr std::string_view kMatMul = "MatMul";
inline constexpr std::string_view kConv = "Conv";
inline constexpr std::string_view kConvTranspose = "ConvTranspose";

// What the published five-graph card quantizes in the graph of that name: MatMul everywhere, in
// the text workflow's "vision_encoder" also the neck's convolutions.
std::vector<std::string> default_ops(Precision precision, std::string_view graph_name);

struct Options {
  Precision precision = Precision::kInt8;
  // Any of the three above; empty: what default_ops says. Not used by kFloat16.
  std::vector<std::string> ops{};
  // Patterns of node names, in which * stands for any text and ? for one character. A node must
  // match one of `include`, if there are any, and none of `exclude`.
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};
  // Convolutions that cut the input picture into patches are left alone without this.
  bool patch_embedding = false;
  // Runs the arithmetic on a weight; called while the model is written.
  ParallelFor parallel = run_serially;
};

// kInvalidArgument for an operator that is not known, or that the precision has no form for.
Status check(const Options& options);

bool matches(std::string_view pattern, std::string_view text);

// A node that was asked for and left as it is.
struct SkippedNode {
  std::string node;  // its name; the name of its output if it has none
  std::string op_type;
  std::string reason;
};

struct Report {
  std::map<std::string, std::int64_t> quantized;  // nodes by operator
  std::vector<SkippedNode> skipped;
  std::int64_t quantized_before = 0;  // nodes that were integer arithmetic in the source
  std::int64_t nodes_before = 0;
  std::int64_t nodes_after = 0;

  std::int64_t count() const;  // of all quantized nodes
};

}  // namespace sam3::quantize
