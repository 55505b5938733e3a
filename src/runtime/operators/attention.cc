#include "runtime/operators/attention.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "runtime/operators/attention_kernel.h"

namespace sam3::runtime {

namespace {

using Dims = std::vector<std::int64_t>;

Dims dims_of(const Ort::ConstValue& value) { return value.GetTensorTypeAndShapeInfo().GetShape(); }

Ort::Status wrong(const std::string& text) {
  return Ort::Status(("sam3.Attention: " + text).c_str(), ORT_INVALID_ARGUMENT);
}

std::string text_of(const Dims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "[" : ",") + std::to_string(dim);
  return text + "]";
}

// The sizes of four axes, in the order [B, H, rows, D].
struct Axes {
  std::int64_t batches, heads, rows, size;
};

Axes axes_of(const Dims& dims, bool rows_first) {
  return rows_first ? Axes{dims[0], dims[2], dims[1], dims[3]}
                    : Axes{dims[0], dims[1], dims[2], dims[3]};
}

HeadRows rows_of(const float* data, const Axes& axes, bool rows_first) {
  // One batch, or one head, serves all.
  const std::int64_t batch = axes.batches == 1 ? 0 : axes.heads * axes.rows * axes.size;
  const std::int64_t head = axes.heads == 1 ? 0 : rows_first ? axes.size : axes.rows * axes.size;
  return {data, batch, head, rows_first ? axes.heads * axes.size : axes.size};
}

struct Kernel {
  Kernel(const OrtApi&, const OrtKernelInfo* raw) {
    const Ort::ConstKernelInfo info(raw);
    const auto flag = [&](const char* name) { return info.GetAttribute<std::int64_t>(name) != 0; };
    scale = info.GetAttribute<float>("scale");
    zero_empty = flag("zero_empty");
    query_rows = flag("query_rows");
    key_rows = flag("key_rows");
    value_rows = flag("value_rows");
    result_rows = flag("result_rows");
  }

  OrtStatusPtr ComputeV2(OrtKernelContext* raw) noexcept {
    try {
      return compute(raw).release();
    } catch (const Ort::Exception& exception) {
      return Ort::Status(exception.what(), exception.GetOrtErrorCode()).release();
    } catch (const std::exception& exception) {
      return Ort::Status(exception.what(), ORT_FAIL).release();
    }
  }

  Ort::Status compute(OrtKernelContext* raw) const {
    Ort::KernelContext context(raw);
    const Dims query = dims_of(context.GetInput(0));
    const Dims key = dims_of(context.GetInput(1));
    const Dims value = dims_of(context.GetInput(2));
    if (query.size() != 4 || key.size() != 4 || value.size() != 4)
      return wrong("Q, K and V need four axes, not " + text_of(query) + ", " + text_of(key) +
                   " and " + text_of(value));
    const Axes q = axes_of(query, query_rows);
    const Axes k = axes_of(key, key_rows);
    const Axes v = axes_of(value, value_rows);
    const std::int64_t batches = std::max({q.batches, k.batches, v.batches});
    const std::int64_t heads = std::max({q.heads, k.heads, v.heads});
    const auto spreads = [&](const Axes& axes) {
      return (axes.batches == batches || axes.batches == 1) &&
             (axes.heads == heads || axes.heads == 1);
    };
    if (!spreads(q) || !spreads(k) || !spreads(v) || q.size != k.size || k.rows != v.rows)
      return wrong("Q, K and V of " + text_of(query) + ", " + text_of(key) + " and " +
                   text_of(value) + " do not fit");
    const Axes result{batches, heads, q.rows, v.size};
    const Dims shape =
        result_rows ? Dims{batches, q.rows, heads, v.size} : Dims{batches, heads, q.rows, v.size};
    Ort::UnownedValue output = context.GetOutput(0, shape);
    AttentionProblem problem;
    problem.batches = batches;
    problem.heads = heads;
    problem.queries = q.rows;
    problem.keys = k.rows;
    problem.head_size = q.size;
    problem.value_size = v.size;
    problem.query = rows_of(context.GetInput(0).GetTensorData<float>(), q, query_rows);
    problem.key = rows_of(context.GetInput(1).GetTensorData<float>(), k, key_rows);
    problem.value = rows_of(context.GetInput(2).GetTensorData<float>(), v, value_rows);
    problem.scale = scale;
    problem.zero_empty = zero_empty;
    problem.result = output.GetTensorMutableData<float>();
    problem.result_rows = rows_of(nullptr, result, result_rows);
    if (context.GetInputCount() > 3 && context.GetInput(3)) {
      const Dims bias = dims_of(context.GetInput(3));
      if (!set_bias(bias, {batches, heads, q.rows, k.rows},
                    context.GetInput(3).GetTensorData<float>(), problem.bias))
        return wrong("a bias of " + text_of(bias) + " does not spread over the scores of " +
                     text_of(query) + " with " + text_of(key));
    }
    const std::int64_t jobs = attention_jobs(problem);
    struct Call {
      const AttentionProblem& problem;
      void (*run)(const AttentionProblem&, std::int64_t);
    } call{problem, attention_kernels().front().run};
    if (jobs > 0)
      context.ParallelFor(
          [](void* data, std::size_t job) {
            const Call& own = *static_cast<const Call*>(data);
            own.run(own.problem, static_cast<std::int64_t>(job));
          },
          static_cast<std::size_t>(jobs), 0, &call);
    return Ort::Status(nullptr);
  }

  static bool set_bias(Dims dims, const std::array<std::int64_t, 4>& wanted, const float* data,
                       AttentionBias& bias) {
    if (dims.size() > 4) return false;
    while (dims.size() < 4) dims.insert(dims.begin(), 1);
    std::array<std::int64_t, 4> strides{};
    std::int64_t stride = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
      if (dims[axis] != wanted[axis] && dims[axis] != 1) return false;
      strides[axis] = dims[axis] == 1 ? 0 : stride;
      stride *= dims[axis];
    }
    bias = {data, strides[0], strides[1], strides[2], strides[3]};
    return true;
  }

  float scale = 1;
  bool zero_empty = false;
  bool query_rows = false;
  bool key_rows = false;
  bool value_rows = false;
  bool result_rows = false;
};

struct Operator : Ort::CustomOpBase<Operator, Kernel, true /* with status */> {
  OrtStatusPtr CreateKernelV2(const OrtApi& api, const OrtKernelInfo* info,
                              void** kernel) const noexcept {
    try {
      *kernel = new Kernel(api, info);
      return nullptr;
    } catch (const Ort::Exception& exception) {
      return Ort::Status(exception.what(), exception.GetOrtErrorCode()).release();
    } catch (const std::exception& exception) {
      return Ort::Status(exception.what(), ORT_FAIL).release();
    }
  }
  const char* GetName() const { return "Attention"; }
  const char* GetExecutionProviderType() const { return "CPUExecutionProvider"; }
  std::size_t GetInputTypeCount() const { return 4; }
  ONNXTensorElementDataType GetInputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t index) const {
    return index < 3 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
};

}  // namespace

OrtCustomOpDomain* attention_domain() {
  // Never destroyed: sessions may outlive every static object.
  static const auto* const domain = [] {
    static const auto* const op = new Operator;
    auto* made = new Ort::CustomOpDomain("sam3");
    made->Add(op);
    return made;
  }();
  return *domain;
}

}  // namespace sam3::runtime
