// Graphs that were just converted, opened in the engine, with inner values as further outputs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "runtime/engine.h"
#include "runtime/session.h"
#include "support/files.h"
#include "support/tensors.h"

namespace sam3::convert {

inline std::filesystem::path tiny_checkpoint() { return test::data("tiny/checkpoint"); }

inline const Config& tiny_config() {
  static const auto* const config =
      new Config(read_config(tiny_checkpoint() / "config.json").value());
  return *config;
}

inline const Checkpoint& tiny_weights() {
  static const auto* const checkpoint = new Checkpoint(Checkpoint::open(tiny_checkpoint()).value());
  return *checkpoint;
}

inline std::shared_ptr<const runtime::Engine> engine() {
  static const auto* const shared = new std::shared_ptr<const runtime::Engine>(
      runtime::Engine::create({.device = "cpu", .threads = 1}).value());
  return *shared;
}

// A graph in a temporary file and its session. `inner` are names of values that become outputs.
class Running {
 public:
  Running(Result<graph::EditableModel> built, const std::vector<std::string>& inner = {}) {
    graph::EditableModel model = std::move(built).value();
    for (const std::string& name : inner) {
      auto* output = model.proto.mutable_graph()->add_output();
      output->set_name(name);
      output->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    }
    model.write(folder_ / "model.onnx").value();
    session_ =
        runtime::Session::open(engine(), "converted", {folder_ / "model.onnx", "", {}}).value();
  }

  std::vector<runtime::Tensor> run(const std::vector<runtime::NamedTensor>& inputs,
                                   const std::vector<std::string>& outputs) const {
    return session_->run(inputs, outputs).value();
  }

 private:
  test::TemporaryFolder folder_;
  std::shared_ptr<const runtime::Session> session_;
};

// Part `index` along the first axis, which stays with size 1 (or goes, with `drop`).
inline test::Tensor part(const test::Tensor& tensor, std::size_t index, bool drop = false) {
  test::Tensor result = tensor;
  const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape[0]);
  result.bytes.assign(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(index * bytes),
                      tensor.bytes.begin() + static_cast<std::ptrdiff_t>((index + 1) * bytes));
  result.shape[0] = 1;
  if (drop) result.shape.erase(result.shape.begin());
  return result;
}

}  // namespace sam3::convert
