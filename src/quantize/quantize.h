// Quantizes a graph in memory.
#pragma once

#include "graph/editable_model.h"
#include "quantize/options.h"
#include "sam3/result.h"

namespace sam3::quantize {

// Replaces nodes of `model` by their quantized forms. Names, types and shapes of inputs and outputs
// stay, and so do the names of values that other nodes read. Weights are quantized when they are
// read, that is when the model is written: one that holds infinity or NaN fails there (kBadData).
// A weight that several nodes use is quantized once; what nothing needs any more is removed.
//
// Int8 weights, scales and zero points are bit for bit those of ONNX Runtime's
// quantize_dynamic(per_channel=True, weight_type=QInt8); MatMulNBits weights and scales those of
// its MatMulNBitsQuantizer(block_size=32, is_symmetric=True).
//
// Errors: kInvalidArgument (see check); kBadData for nodes that are not in order (see
// graph::check_order); kUnsupported for an opset in which the operators of the
// precision are not known, and for a graph in which all that could be quantized is already. After
// an error the model is as it was.
Result<Report> quantize(graph::EditableModel& model, const Options& options);

}  // namespace sam3::quantize
