#include "runtime/session.h"

#include "base/macros.h"
#include "runtime/environment.h"
#include "runtime/operators/attention.h"
#include "runtime/tensor_memory.h"

namespace sam3::runtime {

struct Session::State {
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<Engine::Environment> environment;  // must outlive the session
  std::string name;
  std::string file;
  Ort::Session session{nullptr};
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

namespace {

// What is kept for the next tensor goes when a graph has run or was loaded.
struct UnusedMemory {
  UnusedMemory() = default;
  UnusedMemory(const UnusedMemory&) = delete;
  UnusedMemory& operator=(const UnusedMemory&) = delete;
  ~UnusedMemory() { release_unused_memory(); }
};

// The CPU provider needs no call; others are appended by ONNX Runtime's short names.
Status append_provider(const Engine& engine, Ort::SessionOptions& options) {
  if (engine.effective_device() == "cpu") return {};
  const std::string index = std::to_string(engine.device_index());
  try {
    if (engine.effective_device() == "cuda") {
      OrtCUDAProviderOptions cuda{};
      cuda.device_id = engine.device_index();
      options.AppendExecutionProvider_CUDA(cuda);
    } else if (engine.effective_device() == "tensorrt") {
      OrtTensorRTProviderOptions tensorrt{};
      tensorrt.device_id = engine.device_index();
      options.AppendExecutionProvider_TensorRT(tensorrt);
    } else {
      std::string provider = provider_of(engine.effective_device());
      provider = provider.substr(0, provider.rfind("ExecutionProvider"));
      options.AppendExecutionProvider(provider == "WebGpu" ? "WebGPU" : provider, {});
    }
  } catch (const Ort::Exception& exception) {
    return Error{
        ErrorCode::kUnavailable,
        "device '" + engine.requested_device() + "' cannot be had: " + engine_message(exception),
        "", ""};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Session>> Session::open(std::shared_ptr<const Engine> engine,
                                                     std::string name, const GraphSource& source) {
  auto state = std::make_unique<State>();
  state->engine = engine;
  state->environment = engine->environment();
  state->name = std::move(name);
  state->file = source.file.string();
  const UnusedMemory unused;
  try {
    Ort::SessionOptions options;
    options.DisablePerSessionThreads();
    if (!engine->plain()) {
      // Without these two a second run keeps twice the memory of the first, and the arena never
      // shrinks.
      options.DisableMemPattern();
      options.DisableCpuMemArena();
      if (engine->environment()->own_memory)
        options.AddConfigEntry("session.use_env_allocators", "1");
      // Sums of int8 graphs would be wrong otherwise, and answers differ between machines.
      // Elsewhere this would only halve the speed: the engine turns to unsigned weights for it.
      if (int8_sums_saturate()) options.AddConfigEntry("session.x64quantprecision", "1");
    }
    options.SetGraphOptimizationLevel(GraphOptimizationLevel::ORT_ENABLE_ALL);
    if (!engine->profile().empty())
      options.EnableProfiling((std::filesystem::path(engine->profile()) / state->name).c_str());
    options.Add(attention_domain());
    SAM3_RETURN_IF_ERROR(append_provider(*engine, options));
    if (source.bytes.empty()) {
      state->session = Ort::Session(state->environment->env, source.file.c_str(), options);
    } else {
      options.AddConfigEntry("session.model_external_initializers_file_folder_path",
                             source.data_folder.c_str());
      state->session =
          Ort::Session(state->environment->env, source.bytes.data(), source.bytes.size(), options);
    }
  } catch (const Ort::Exception& exception) {
    return Error{ErrorCode::kBadData, "the graph cannot be loaded: " + engine_message(exception),
                 state->file, state->name};
  }
  return std::shared_ptr<const Session>(new Session(std::move(state)));
}

namespace {

ONNXTensorElementDataType engine_type(TensorType type) {
  switch (type) {
    case TensorType::kFloat:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case TensorType::kUint8:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case TensorType::kInt64:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case TensorType::kBool:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    case TensorType::kFloat16:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    case TensorType::kInt32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case TensorType::kOther:
      break;
  }
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

TensorType our_type(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return TensorType::kFloat;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return TensorType::kUint8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return TensorType::kInt64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return TensorType::kBool;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return TensorType::kFloat16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return TensorType::kInt32;
    default:
      return TensorType::kOther;
  }
}

}  // namespace

Result<std::vector<Tensor>> Session::run(std::span<const NamedTensor> inputs,
                                         std::span<const std::string> outputs) const {
  const auto failed = [&](std::string message) {
    return Error{ErrorCode::kRuntime, std::move(message), state_->file, state_->name};
  };
  const UnusedMemory unused;
  try {
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    std::vector<std::string> names;  // with a terminating zero, which a string_view may lack
    std::vector<Ort::Value> values;
    for (const NamedTensor& input : inputs) {
      const Tensor& tensor = input.tensor;
      names.emplace_back(input.name);
      // The engine never writes to its inputs.
      values.push_back(Ort::Value::CreateTensor(memory, const_cast<void*>(tensor.data_),
                                                tensor.byte_count(), tensor.dims_.data(),
                                                tensor.dims_.size(), engine_type(tensor.type_)));
    }
    std::vector<const char*> input_names;
    for (const std::string& name : names) input_names.push_back(name.c_str());
    std::vector<const char*> output_names;
    for (const std::string& name : outputs) output_names.push_back(name.c_str());
    // Run() is not const in the C++ header; the engine's documentation makes it safe to share.
    auto& session = const_cast<Ort::Session&>(state_->session);
    std::vector<Ort::Value> results =
        session.Run(Ort::RunOptions{}, input_names.data(), values.data(), values.size(),
                    output_names.data(), output_names.size());
    std::vector<Tensor> tensors;
    for (Ort::Value& result : results) {
      const auto info = result.GetTensorTypeAndShapeInfo();
      const TensorType type = our_type(info.GetElementType());
      if (type == TensorType::kOther)
        return failed("output '" + outputs[tensors.size()] +
                      "' has an element type that is not supported");
      auto owner = std::make_shared<Ort::Value>(std::move(result));
      const void* data = owner->GetTensorRawData();
      // The value's memory belongs to an allocator of the session's environment.
      std::shared_ptr<const void> storage(
          owner.get(), [owner, keep = state_->environment](const void*) mutable { owner.reset(); });
      tensors.push_back(Tensor(type, info.GetShape(), std::move(storage), data));
    }
    return tensors;
  } catch (const Ort::Exception& exception) {
    return failed("the graph failed while running: " + engine_message(exception));
  }
}

}  // namespace sam3::runtime
