// The environment behind an Engine, for the sources of this layer.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <string>

#include "runtime/engine.h"
#include "sam3/result.h"

namespace sam3::runtime {

struct Engine::Environment {
  Ort::Env env{nullptr};
  int threads = 1;
  bool own_memory = false;  // tensors can lie in tensor_memory()
};

// One sentence from an exception of ONNX Runtime, without its status prefix and line breaks.
std::string engine_message(const Ort::Exception& exception);

}  // namespace sam3::runtime
