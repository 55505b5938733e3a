#include "quantize/package.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/macros.h"
#include "base/staged_folder.h"
#include "graph/editable_model.h"
#include "quantize/quantize.h"
#include "quantize/record.h"

namespace sam3::quantize {

namespace fs = std::filesystem;

namespace {

Error invalid(const fs::path& path, std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), path.string(), ""};
}

Error failed(const fs::path& path, const std::string& what, const std::error_code& error) {
  return Error{ErrorCode::kRuntime, what + ": " + error.message(), path.string(), ""};
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// True if `inner` is `outer` or lies in it.
bool lies_in(const fs::path& inner, const fs::path& outer) {
  const auto [rest, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return rest == outer.end();
}

Status check_places(const fs::path& in, const fs::path& out) {
  std::error_code error;
  const fs::path from = fs::canonical(in, error);
  if (error) return Error{ErrorCode::kNotFound, "no such file or folder", in.string(), ""};
  const fs::path to = fs::weakly_canonical(out, error);
  if (error) return invalid(out, "cannot be a place for the result: " + error.message());
  // Hard links have different paths.
  const bool same = from == to || (fs::exists(to, error) && fs::equivalent(from, to, error));
  if (same)
    return invalid(out, "the result would replace what it is made from; name another place");
  if (lies_in(to, from))
    return invalid(out, "the result would lie inside the folder that it is made from");
  if (lies_in(from, to)) return invalid(out, "the result would lie around what it is made from");
  return {};
}

// The files of a package, relative to it. Links are followed, each folder once.
class Listing {
 public:
  static Result<std::vector<fs::path>> of(const fs::path& folder) {
    Listing listing;
    SAM3_RETURN_IF_ERROR(listing.visit(folder, {}));
    std::sort(listing.files_.begin(), listing.files_.end());
    return std::move(listing.files_);
  }

 private:
  Status visit(const fs::path& folder, const fs::path& relative) {
    std::error_code error;
    if (!seen_.insert(fs::canonical(folder, error)).second) return {};
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const fs::path name = entry.path().filename();
      if (name.string().starts_with('.')) continue;
      std::error_code unreadable;
      if (entry.is_directory(unreadable)) {
        SAM3_RETURN_IF_ERROR(visit(entry.path(), relative / name));
      } else if (entry.is_regular_file(unreadable)) {
        files_.push_back(relative / name);
      } else {
        return Error{ErrorCode::kBadData, "neither a file nor a folder, or a link to nothing",
                     entry.path().string(), ""};
      }
    }
    if (error) return failed(folder, "cannot be read", error);
    return {};
  }

  std::set<fs::path> seen_;
  std::vector<fs::path> files_;
};

bool is_graph(const fs::path& file) { return file.extension() == ".onnx"; }

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  return error ? 0 : bytes;
}

// Reads, quantizes and writes one graph; `result` says which, and is completed.
Status convert(const fs::path& from, const fs::path& to, const PackageOptions& options,
               GraphResult& result) {
  SAM3_ASSIGN_OR_RETURN(graph::EditableModel model, graph::EditableModel::read(from));
  if (result.selected) {
    Options chosen = options.options;
    chosen.ops = result.ops;
    Result<Report> report = quantize(model, chosen);
    if (!report.ok()) {
      Error error = report.error();
      error.file = from.string();
      return error;
    }
    result.report = *std::move(report);
  }
  SAM3_ASSIGN_OR_RETURN(const graph::WrittenModel written, model.write(to));
  result.bytes_after = written.model_bytes + written.weight_bytes;
  if (options.progress) options.progress(result);
  return {};
}

class PackageRun {
 public:
  PackageRun(const fs::path& in, const fs::path& out, const PackageOptions& options)
      : in_(in), out_(out), options_(options) {}

  Result<std::vector<GraphResult>> run() {
    SAM3_RETURN_IF_ERROR(list());
    SAM3_ASSIGN_OR_RETURN(StagedFolder staging, StagedFolder::create(out_));
    std::int64_t quantized = 0;
    for (GraphResult& graph : graphs_) {
      const fs::path file = fs::path(graph.folder) / graph.file;
      SAM3_RETURN_IF_ERROR(make_folder(staging.path() / file));
      SAM3_RETURN_IF_ERROR(convert(in_ / file, staging.path() / file, options_, graph));
      quantized += graph.report.count();
    }
    if (quantized == 0)
      return Error{ErrorCode::kUnsupported,
                   "nothing in this package could be quantized as it was asked", in_.string(), ""};
    for (const fs::path& file : others_) SAM3_RETURN_IF_ERROR(copy(file, staging.path()));
    SAM3_RETURN_IF_ERROR(write_record(staging.path(), in_, graphs_, options_));
    if (options_.check) SAM3_RETURN_IF_ERROR(options_.check(staging.path()));
    SAM3_RETURN_IF_ERROR(staging.commit());
    return std::move(graphs_);
  }

 private:
  // What there is: graphs, their weights, and all the rest.
  Status list() {
    SAM3_ASSIGN_OR_RETURN(const std::vector<fs::path> files, Listing::of(in_));
    std::set<fs::path> weights;
    for (const fs::path& file : files) {
      if (!is_graph(file)) continue;
      SAM3_ASSIGN_OR_RETURN(const graph::ModelFile model, graph::ModelFile::read(in_ / file));
      GraphResult graph;
      graph.folder = file.parent_path().generic_string();
      graph.file = file.filename().string();
      graph.bytes_before = size_of(in_ / file);
      for (const auto& external : model.external_files()) {
        weights.insert((file.parent_path() / external.location).lexically_normal());
        graph.bytes_before += size_of(external.path);
      }
      graph.selected = options_.graphs.empty();
      const std::string part = graph.folder.empty() ? graph.name() : graph.folder;
      for (const std::string& wanted : options_.graphs)
        graph.selected = graph.selected || wanted == part || wanted == graph.name();
      graph.ops = options_.options.ops;
      if (graph.ops.empty()) graph.ops = default_ops(options_.options.precision, part);
      graphs_.push_back(std::move(graph));
    }
    for (const fs::path& file : files)
      if (!is_graph(file) && !weights.contains(file) && file != "quantization.json" &&
          file != "self_test.json")
        others_.push_back(file);
    return check_selection();
  }

  Status check_selection() const {
    if (graphs_.empty())
      return Error{ErrorCode::kNotFound, "this folder holds no graphs (*.onnx)", in_.string(), ""};
    std::string known;
    for (const GraphResult& graph : graphs_) known += (known.empty() ? "" : ", ") + graph.name();
    for (const std::string& wanted : options_.graphs) {
      const bool found = std::any_of(graphs_.begin(), graphs_.end(), [&](const GraphResult& graph) {
        return wanted == graph.name() || wanted == graph.folder;
      });
      if (!found) return invalid(in_, "the package has no graph '" + wanted + "', but " + known);
    }
    return {};
  }

  static Status make_folder(const fs::path& file) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) return failed(file.parent_path(), "cannot be made", error);
    return {};
  }

  Status copy(const fs::path& file, const fs::path& folder) const {
    SAM3_RETURN_IF_ERROR(make_folder(folder / file));
    std::error_code error;
    fs::copy_file(in_ / file, folder / file, error);
    if (error) return failed(in_ / file, "cannot be copied", error);
    return {};
  }

  const fs::path& in_;
  const fs::path& out_;
  const PackageOptions& options_;
  std::vector<GraphResult> graphs_;
  std::vector<fs::path> others_;
};

}  // namespace

std::string GraphResult::name() const {
  const std::string stem = fs::path(file).stem().string();
  if (folder.empty()) return stem;
  return stem == "model" ? folder : folder + "/" + stem;
}

Result<std::vector<GraphResult>> quantize_package(const fs::path& in, const fs::path& out,
                                                  const PackageOptions& options) {
  SAM3_RETURN_IF_ERROR(check(options.options));
  SAM3_RETURN_IF_ERROR(check_places(in, out));
  return PackageRun(in, out, options).run();
}

Result<GraphResult> quantize_file(const fs::path& in, const fs::path& out,
                                  const PackageOptions& options) {
  SAM3_RETURN_IF_ERROR(check(options.options));
  SAM3_RETURN_IF_ERROR(check_places(in, out));
  const fs::path data = out.string() + ".data";
  for (const fs::path& file : {out, data})
    if (is_there(file)) return invalid(file, "this is there already; the result needs a new place");
  GraphResult result;
  result.file = out.filename().string();
  result.selected = true;
  result.ops = options.options.ops;
  if (result.ops.empty()) result.ops = default_ops(options.options.precision, "");
  SAM3_ASSIGN_OR_RETURN(const graph::ModelFile model, graph::ModelFile::read(in));
  result.bytes_before = size_of(in);
  for (const auto& external : model.external_files()) result.bytes_before += size_of(external.path);
  SAM3_ASSIGN_OR_RETURN(const StagedFolder staging, StagedFolder::create(out));
  const fs::path staged = staging.path() / result.file;
  SAM3_RETURN_IF_ERROR(convert(in, staged, options, result));
  if (result.report.count() == 0)
    return Error{ErrorCode::kUnsupported,
                 "nothing in this graph could be quantized as it was asked", in.string(), ""};
  if (options.check) SAM3_RETURN_IF_ERROR(options.check(staged));
  std::error_code error;
  // The weights first: a model without them is worse than weights without a model.
  if (is_there(staged.string() + ".data")) fs::rename(staged.string() + ".data", data, error);
  if (!error) fs::rename(staged, out, error);
  if (error) return failed(out, "cannot be given its name", error);
  return result;
}

}  // namespace sam3::quantize
