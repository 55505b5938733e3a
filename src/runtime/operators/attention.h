// The operator sam3.Attention for ONNX Runtime's CPU provider.
#pragma once

#include "runtime/environment.h"

namespace sam3::runtime {

// Its domain, which must outlive every session that has it. Inputs Q, K, V and optionally bias, all
// float32: softmax(scale * Q K^T + bias) V.
//   Q [B, H, L, D], K and V [B, H, S, D]; where query_rows, key_rows or value_rows is 1, the axes
//   are [B, L, H, D] instead, and likewise for the result with result_rows bias: at most four axes
//   that spread over [B, H, L, S] scale (float, 1), zero_empty (int, 0): see AttentionProblem
OrtCustomOpDomain* attention_domain();

}  // namespace sam3::runtime
