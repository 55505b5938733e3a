// One graph, ready to run.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"
#include "runtime/tensor.h"
#include "sam3/result.h"

namespace sam3::runtime {

// Where a graph comes from: its file, or its bytes with the folder that holds its external data.
struct GraphSource {
  std::filesystem::path file;         // also names the graph in errors
  std::string bytes;                  // used instead of the file's content when not empty
  std::filesystem::path data_folder;  // with bytes only
};

struct NamedTensor {
  std::string_view name;
  Tensor tensor;
};

// const methods may be called from several threads at once; the results do not depend on it.
class Session {
 public:
  // `name` is the graph's in errors. kBadData if the engine refuses the graph.
  static Result<std::shared_ptr<const Session>> open(std::shared_ptr<const Engine> engine,
                                                     std::string name, const GraphSource& source);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs the graph: one tensor for each name of `outputs`, in that order.
  Result<std::vector<Tensor>> run(std::span<const NamedTensor> inputs,
                                  std::span<const std::string> outputs) const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sam3::runtime
