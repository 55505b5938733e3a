// Attention as one operator: softmax(scale * Q K^T + bias) V with the transposes around it.
#pragma once

#include "graph/editable_model.h"

namespace sam3::rewrite {

// Replaces each attention by a node sam3.Attention (runtime/operators/attention.h), found from its
// Softmax: scalar factors of Q, K and the scores, one addend, a Where that makes zeros of rows that
// are NaN, and transposes between [B, L, H, D] and [B, H, L, D] go into the node. Returns how many
// were found; anything else stays as it is.
int fuse_attention(graph::EditableModel& model);

}  // namespace sam3::rewrite
