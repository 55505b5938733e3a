// The operator sam3.Attention for ONNX Runtime's CPU provider.
#pragma once

#include "runtime/environment.h"

namespace sam3::runtime {

// Its domain, which must outlive every session that has it. Inputs, all float32: Q, K, V, and bias
// where there is one; result: softmax(scale * Q K^T + bias) V.
//
// Q is [B, H, L, D], K [B, H, S, D], V [B, H, S, E], the result [B, H, L, E]; one batch or one head
// of K and V serves all. Each of them is [B, rows, H, D] instead where its attribute (query_rows,
// key_rows, value_rows, result_rows) is 1. The bias has at most four axes, which spread over
// [B, H, L, S]. Without keys the result is zero. All attributes must be there: these four, scale
// (float) and zero_empty (int), for which see AttentionProblem.
OrtCustomOpDomain* attention_domain();

}  // namespace sam3::runtime
