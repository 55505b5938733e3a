// Models in memory, run by the engine as they are.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/editable_model.h"
#include "model/package.h"
#include "runtime/engine.h"
#include "runtime/session.h"
#include "support/files.h"

namespace sam3::rewrite {

using Values = std::map<std::string, runtime::Tensor, std::less<>>;

inline std::shared_ptr<const runtime::Engine> engine() {
  static const auto* const shared = new std::shared_ptr<const runtime::Engine>(
      runtime::Engine::create({.device = "cpu", .threads = 1}).value());
  return *shared;
}

// A graph of the source tree as it is run without rewrites.
struct GraphCase {
  const char* name;
  const char* file;

  std::filesystem::path path() const { return std::filesystem::path(SAM3_SOURCE_DIR) / file; }
  std::filesystem::path folder() const { return path().parent_path(); }
  graph::EditableModel read() const {
    auto opened = graph::ModelFile::read(path()).value();
    return model::editable(opened, kNone).value();
  }
  friend std::ostream& operator<<(std::ostream& out, const GraphCase& one) {
    return out << one.name;
  }
};

// All outputs of a model for those of the values that it takes.
inline Values run(const graph::EditableModel& model, const std::filesystem::path& folder,
                  const Values& values) {
  const runtime::GraphSource source{folder / "model.onnx", model.serialize({}).value(), folder};
  const auto session = runtime::Session::open(engine(), "test", source).value();
  std::vector<runtime::NamedTensor> inputs;
  for (const auto& input : model.proto.graph().input())
    inputs.push_back({input.name(), values.at(input.name())});
  std::vector<std::string> names;
  for (const auto& output : model.proto.graph().output()) names.push_back(output.name());
  std::vector<runtime::Tensor> made = session->run(inputs, names).value();
  Values results;
  for (std::size_t i = 0; i < names.size(); ++i) results[names[i]] = std::move(made[i]);
  return results;
}

// Values between -1 and 1 that depend on the seed alone.
inline runtime::Tensor made_up(const std::vector<std::int64_t>& dims, std::uint32_t seed) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::vector<float> values(count);
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8U) / 8388608.0F - 1;
  }
  return {dims, std::move(values)};
}

}  // namespace sam3::rewrite
