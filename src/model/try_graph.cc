// One run of a single graph on made-up inputs.
#include <algorithm>
#include <limits>

#include "base/macros.h"
#include "graph/model_file.h"
#include "model/package.h"
#include "runtime/session.h"
#include "sam3/model.h"

namespace sam3 {

namespace {

// Zeros in the declared sizes, and 1 for sizes that are free.
Result<runtime::Tensor> made_up(const graph::ValueInfo& input) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::kUnsupported,
                 "no value can be made up for the input " + input.describe() + what, "", ""};
  };
  std::vector<std::int64_t> dims = input.dims;
  std::int64_t count = 1;
  for (std::int64_t& dim : dims) {
    if (dim < 0) dim = 1;
    if (dim != 0 && count > kMostElements / dim) return refuse(", which is too large");
    count *= dim;
  }
  const auto elements = static_cast<std::size_t>(count);
  switch (input.type) {
    case graph::ElementType::kFloat:
      return runtime::Tensor(dims, std::vector<float>(elements));
    case graph::ElementType::kInt64:
      return runtime::Tensor(dims, std::vector<std::int64_t>(elements));
    case graph::ElementType::kUint8:
      return runtime::Tensor(dims, std::vector<std::uint8_t>(elements));
    case graph::ElementType::kBool:
      return runtime::Tensor::booleans(dims, std::vector<std::uint8_t>(elements));
    default:
      return refuse("");
  }
}

}  // namespace

Status try_graph(const std::filesystem::path& file, const ModelOptions& options) {
  SAM3_ASSIGN_OR_RETURN(graph::ModelFile model, graph::ModelFile::read(file));
  SAM3_RETURN_IF_ERROR(model.check_external_files());
  const std::vector<graph::ValueInfo> inputs = model.inputs();
  std::vector<std::string> outputs;
  for (const graph::ValueInfo& output : model.outputs()) outputs.push_back(output.name);
  SAM3_ASSIGN_OR_RETURN(
      auto engine, runtime::Engine::create({options.onnxruntime, options.device, options.threads}));
  SAM3_ASSIGN_OR_RETURN(const runtime::GraphSource source, model::graph_source(std::move(model)));
  SAM3_ASSIGN_OR_RETURN(
      const auto session,
      runtime::Session::open(std::move(engine), file.filename().string(), source));
  std::vector<runtime::NamedTensor> values;
  for (const graph::ValueInfo& input : inputs) {
    SAM3_ASSIGN_OR_RETURN(runtime::Tensor tensor, made_up(input));
    values.push_back({input.name, std::move(tensor)});
  }
  const auto results = session->run(values, outputs);
  return results.ok() ? Status() : results.error();
}

}  // namespace sam3
