// ONNX Runtime as this process uses it: the library, one environment with one thread pool, one
// device.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "sam3/result.h"

namespace sam3::runtime {

struct EngineOptions {
  // ONNX Runtime's library: a path, or a name for the dynamic linker.
  std::string library = "libonnxruntime.so.1";
  // See parse_device.
  std::string device = "auto";
  // Threads of a run, the calling one included; 0 takes available_processors().
  int threads = 0;
  // Sessions with ONNX Runtime's own settings instead of those that suit our graphs.
  bool plain = false;
  // Folder for profiles of the sessions; empty: none.
  std::string profile = {};
};

struct LibraryInfo {
  std::string version;                 // ONNX Runtime's, e.g. "1.32.0"
  std::vector<std::string> providers;  // execution providers that are built in
  std::vector<std::string> devices;    // our names of those
};

// Loads the library, once a process; later calls with another name are answered by the first one.
// kUnavailable if it cannot be loaded or is older than the headers of this build.
Result<LibraryInfo> load_library(const std::string& library);

// Whether this processor, one of x86-64 without VNNI instructions, adds products of bytes in
// saturating 16 bits unless the engine is told not to. Sessions tell it; it then converts the
// weights of int8 products, and fails on graphs in which two of them share a weight.
bool int8_sums_saturate();

// Immutable after create(); safe to share between threads. Sessions keep what they need of it
// alive, so the order of destruction does not matter.
class Engine {
 public:
  // kInvalidArgument for a bad device name or thread count; kUnavailable for a device that this
  // library cannot offer ("auto" takes the best that it can).
  static Result<std::shared_ptr<const Engine>> create(const EngineOptions& options);

  const std::string& requested_device() const { return requested_; }
  // The device that sessions really use, without an index for the CPU.
  const std::string& effective_device() const { return effective_; }
  int threads() const { return threads_; }
  const LibraryInfo& library() const { return library_; }

  struct Environment;  // of ONNX Runtime; defined in the implementation
  const std::shared_ptr<Environment>& environment() const { return environment_; }
  int device_index() const { return index_; }
  bool plain() const { return plain_; }
  const std::string& profile() const { return profile_; }

 private:
  Engine() = default;

  std::string requested_;
  std::string effective_;
  int index_ = 0;
  int threads_ = 1;
  bool plain_ = false;
  std::string profile_;
  LibraryInfo library_;
  std::shared_ptr<Environment> environment_;
};

}  // namespace sam3::runtime
