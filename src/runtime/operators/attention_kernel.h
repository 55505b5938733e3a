// softmax(scale * Q K^T + bias) V without the scores ever lying in memory: tiles of queries go over
// blocks of keys with a running maximum and sum.
// Source of the method: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018);
// Dao et al., "FlashAttention" (2022).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sam3::runtime {

// Rows of adjacent floats for batch b, head h and row r, at
// data + b * batch_stride + h * head_stride + r * row_stride.
struct HeadRows {
  const float* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
};

// Added to the scores; a stride of 0 repeats. Without data there is none.
struct AttentionBias {
  const float* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t query_stride = 0;
  std::int64_t key_stride = 0;
};

struct AttentionProblem {
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_size = 0;   // of a query and a key
  std::int64_t value_size = 0;  // of a value and a row of the result
  HeadRows query;
  HeadRows key;
  HeadRows value;
  AttentionBias bias;
  float scale = 1;
  bool zero_empty =
      false;  // a query whose scores are all -infinity gives zeros, not NaN; so does NaN
  float* result = nullptr;
  HeadRows result_rows;  // strides of the result; its data is not used
};

// One of the kernels: the same code for other vector units. All are exact: float32 throughout.
struct AttentionKernel {
  std::string name;  // "AVX2", "SSE4", …
  void (*run)(const AttentionProblem&, std::int64_t job) = nullptr;
};

// What this processor can run, the fastest first.
const std::vector<AttentionKernel>& attention_kernels();

// A problem falls into this many jobs, which may run at the same time in any order.
std::int64_t attention_jobs(const AttentionProblem& problem);

}  // namespace sam3::runtime
