#include "quantize/record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/macros.h"
#include "checksum/sha256.h"
#include "quantize/weight_math.h"

namespace sam3::quantize {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

ordered_json read_object(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  ordered_json document = ordered_json::parse(stream, nullptr, false);
  return document.is_object() ? document : ordered_json::object();
}

ordered_json source_of(const fs::path& package, ordered_json& record) {
  const ordered_json before = read_object(package / "quantization.json");
  const ordered_json model = read_object(package / "model.json");
  if (before.contains("export")) record["export"] = before["export"];
  ordered_json source = ordered_json::object();
  if (before.contains("source") && before["source"].is_object()) source = before["source"];
  if (model.contains("name") && model["name"].is_string()) source["model"] = model["name"];
  if (before.contains("versions")) source["versions"] = before["versions"];
  return source;
}

ordered_json describe(const Options& options) {
  ordered_json form{{"method", "sam3 quantize"}, {"precision", precision_name(options.precision)}};
  switch (options.precision) {
    case Precision::kInt8:
      form["per_channel"] = true;
      form["weight_type"] = "int8, symmetric (uint8 with zero point 128 in ConvInteger)";
      form["activation_type"] = "uint8, per tensor, measured at run time";
      form["calibration"] = nullptr;
      break;
    case Precision::kInt8Weights:
      form["per_channel"] = true;
      form["weight_type"] = "int8, symmetric";
      break;
    case Precision::kInt8Blocks:
    case Precision::kInt4Blocks:
      form["block_size"] = BlockLayout().block;
      form["weight_type"] =
          options.precision == Precision::kInt4Blocks ? "int4, symmetric" : "int8, symmetric";
      break;
    case Precision::kFloat16:
      form["weight_type"] = "float16";
      break;
  }
  form["include"] = options.include;
  form["exclude"] = options.exclude;
  form["patch_embedding"] = options.patch_embedding;
  return form;
}

ordered_json describe(const GraphResult& graph) {
  ordered_json entry{{"op_types", graph.ops},
                     {"quantized", graph.report.quantized},
                     {"nodes", graph.report.nodes_after},
                     {"nodes_before", graph.report.nodes_before},
                     {"skipped", ordered_json::array()}};
  for (const SkippedNode& node : graph.report.skipped)
    entry["skipped"].push_back(
        {{"node", node.node}, {"op_type", node.op_type}, {"reason", node.reason}});
  return entry;
}

Result<ordered_json> describe_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error)
    return Error{ErrorCode::kRuntime, "cannot be read: " + error.message(), path.string(), ""};
  SAM3_ASSIGN_OR_RETURN(const std::string sum, sha256_of_file(path));
  return ordered_json{{"bytes", bytes}, {"sha256", sum}};
}

// Files of a folder that holds a graph are listed with it; all others by their paths.
Status list_files(const fs::path& folder, ordered_json& record) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error))
    // Hidden files are not part of a package: the mark of an unfinished folder, say.
    if (entry.is_regular_file(error) && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path().lexically_relative(folder));
  if (error)
    return Error{ErrorCode::kRuntime, "cannot be read: " + error.message(), folder.string(), ""};
  std::sort(files.begin(), files.end());
  record["files"] = ordered_json::object();
  ordered_json& graphs = record["graphs"];
  for (const fs::path& file : files) {
    SAM3_ASSIGN_OR_RETURN(ordered_json described, describe_file(folder / file));
    const std::string parent = file.parent_path().generic_string();
    if (!parent.empty() && graphs.contains(parent))
      graphs[parent]["files"][file.filename().string()] = std::move(described);
    else
      record["files"][file.generic_string()] = std::move(described);
  }
  return {};
}

}  // namespace

Status write_record(const fs::path& folder, const fs::path& source,
                    const std::vector<GraphResult>& graphs, const PackageOptions& options) {
  ordered_json record{{"source", nullptr}, {"versions", options.versions}};
  record["source"] = source_of(source, record);
  const bool any = std::any_of(graphs.begin(), graphs.end(),
                               [](const GraphResult& graph) { return graph.selected; });
  record["quantization"] = any ? describe(options.options) : ordered_json(nullptr);
  record["graphs"] = ordered_json::object();
  for (const GraphResult& graph : graphs) {
    // A second graph of a folder is described inside the entry of the folder, which lists its
    // files.
    const bool extra = !graph.folder.empty() && graph.file != "model.onnx";
    ordered_json& entry = record["graphs"][extra ? graph.folder : graph.name()];
    if (!entry.is_object()) entry = ordered_json::object();
    ordered_json described = graph.selected ? describe(graph) : ordered_json{{"copied", true}};
    if (extra)
      entry["others"][graph.file] = std::move(described);
    else
      entry.update(described);
  }
  SAM3_RETURN_IF_ERROR(list_files(folder, record));
  const fs::path path = folder / "quantization.json";
  std::ofstream stream(path, std::ios::binary);
  // Names of nodes may be any bytes.
  stream << record.dump(1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  stream.close();
  if (!stream) return Error{ErrorCode::kRuntime, "cannot be written", path.string(), ""};
  return {};
}

}  // namespace sam3::quantize
