// Half precision where it does no harm, by the rules that PyTorch's autocast follows:
// - products and convolutions (MatMul, Gemm, Conv, ConvTranspose, Einsum) run in float16;
// - element-wise and moving operators (Add, Mul, Relu, Erf, Reshape, Concat, ...) take float16 if
//   all that flows into them is float16, and float32 as soon as something is float32, be it a
//   constant table such as a position encoding (a constant with one axis, a bias, does not count);
// - everything else stays float32: normalisations, Softmax, Sigmoid, Log, Exp, Sin, Cos, Pow,
//   reductions, Clip, Resize, ...
// - so does a head whose result is added to an inverse sigmoid (Log, or a table) before a Sigmoid:
//   it refines boxes.
// A residual stream that starts at a normalisation therefore stays float32. A table that Gather
// looks rows up in is stored as float16, the rows are float32 again.
#pragma once

#include "graph/editable_model.h"
#include "quantize/options.h"
#include "sam3/result.h"

namespace sam3::quantize {

// See quantize(); for kFloat16. Inputs and outputs of the graph keep their types.
Result<Report> quantize_float16(graph::EditableModel& model, const Options& options);

}  // namespace sam3::quantize
