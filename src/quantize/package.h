// Quantizes model packages and single model files on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quantize/options.h"
#include "sam3/result.h"

namespace sam3::quantize {

struct GraphResult {
  std::string folder;  // in the package; empty for a graph that lies in the package itself
  std::string file;    // "model.onnx"
  bool selected = false;
  std::vector<std::string> ops;
  Report report;  // of a selected graph
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;

  // "detector" for detector/model.onnx, "detector/other" for detector/other.onnx, "other" for
  // other.onnx.
  std::string name() const;
};

struct PackageOptions {
  // Without `options.ops`, each graph gets its default_ops.
  Options options;
  // Graphs to quantize, by the names of their folders (or files, where they lie in the package
  // itself); the others are copied. Empty: all.
  std::vector<std::string> graphs;
  // Recorded in quantization.json: {"sam3": "0.1.0", ...}.
  std::map<std::string, std::string> versions;
  // Called with the finished result while it still has a temporary name; an error discards it. A
  // package is a folder, a single model a file.
  std::function<Status(const std::filesystem::path&)> check;
  // Called for each graph when it is done.
  std::function<void(const GraphResult&)> progress;
};

// Copies the package `in` to the new folder `out` with its graphs quantized, and writes
// quantization.json: versions, options, per graph the nodes that were quantized and those that were
// not, and why; SHA-256 and size of every file. Graphs are all *.onnx files; a weight file that
// several of them share becomes one for each. Folders and files whose names start with a dot are
// left out. Until all is done the result is called `out`.partial (see StagedFolder).
//
// Errors: kInvalidArgument if `out` is `in` (also behind links), lies in it or around it, or is
// there and not empty, and for a graph that the package does not have; those of quantize, of
// EditableModel::read and of options.check; kUnsupported if nothing was quantized.
Result<std::vector<GraphResult>> quantize_package(const std::filesystem::path& in,
                                                  const std::filesystem::path& out,
                                                  const PackageOptions& options);

// The same for one model file and its weights, to `out` and, where there are large ones,
// `out`.data; no record is written. Both must be new.
Result<GraphResult> quantize_file(const std::filesystem::path& in, const std::filesystem::path& out,
                                  const PackageOptions& options);

}  // namespace sam3::quantize
