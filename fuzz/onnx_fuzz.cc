// A graph beside a file of weights: read, quantized to every precision, written.
#include "graph/editable_model.h"
#include "quantize/quantize.h"
#include "scratch.h"

namespace {

using namespace sam3;

constexpr std::uint64_t kMostBytes = 1 << 20;

std::uint64_t weight_bytes(const graph::EditableModel& model) {
  std::uint64_t sum = 0;
  for (const auto& [name, weight] : model.weights) sum += std::min(weight.bytes(), kMostBytes);
  return sum;
}

void write(const graph::EditableModel& model, const fuzz::Scratch& scratch) {
  if (weight_bytes(model) >= kMostBytes) return;
  const auto path = scratch.path("out.onnx");
  // Weights with infinity or NaN are refused here; what was written can be read.
  if (model.write(path).ok()) fuzz::require(graph::EditableModel::read(path).ok());
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".data");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  static const auto side = scratch.write("w.data", std::string(4096, '\1'));
  const auto model =
      graph::EditableModel::read(scratch.write("model.onnx", fuzz::text_of(data, size)));
  if (!model.ok()) return 0;
  fuzz::require(graph::check_order(model->proto.graph(), *model).ok());
  write(*model, scratch);
  using quantize::Precision;
  for (const Precision precision :
       {Precision::kInt8, Precision::kInt8Weights, Precision::kInt8Blocks, Precision::kInt4Blocks,
        Precision::kFloat16}) {
    graph::EditableModel copy = *model;
    quantize::Options options;
    options.precision = precision;
    options.ops = quantize::default_ops(precision, "vision_encoder");
    if (quantize::quantize(copy, options).ok()) write(copy, scratch);
  }
  return 0;
}
