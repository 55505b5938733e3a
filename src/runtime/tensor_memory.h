// The memory of the engine's tensors. Large blocks are kept for the next tensor of about their size
// while a graph runs: fresh pages cost the system more than many an operator, and the engine's own
// arena never gives memory back.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <cstddef>

namespace sam3::runtime {

// For Ort::Env::RegisterAllocator(); lives as long as the process. Thread-safe.
OrtAllocator* tensor_memory();

// Gives the blocks that are kept for later back to the system.
void release_unused_memory();

struct MemoryUse {
  std::size_t large = 0;   // bytes of large blocks in use
  std::size_t unused = 0;  // bytes that are kept for later
};
MemoryUse memory_use();

}  // namespace sam3::runtime
