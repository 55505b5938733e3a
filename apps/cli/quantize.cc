// sam3 quantize: fewer bits for a package or a single graph.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/macros.h"
#include "base/parallel.h"
#include "commands.h"
#include "common.h"
#include "made_up_picture.h"
#include "quantize/package.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

Error wrong(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

Status run_workflow(const Model& model, const std::string& workflow) {
  const Picture picture = made_up_picture();
  if (workflow == "text") {
    SAM3_ASSIGN_OR_RETURN(const ImageFeatures features, model.encode_image(picture));
    const auto found = model.detect(features, kMadeUpPrompt);
    return found.ok() ? Status() : found.error();
  }
  SAM3_ASSIGN_OR_RETURN(const ImageEmbeddings embeddings, model.embed_image(picture));
  PointPrompt prompt;
  prompt.positive = {kMadeUpPoint};
  const auto selected = model.segment(embeddings, prompt);
  return selected.ok() ? Status() : selected.error();
}

// Runs a result once before it gets its name.
class Trial {
 public:
  explicit Trial(const QuantizeOptions& given)
      : given_(given), options_(model_options(given.work, given.device)) {
    options_.low_memory = true;
  }

  Status run(const fs::path& result) const {
    const Status status =
        fs::is_directory(result) ? run_package(result) : run_graph(result, given_.in);
    if (status.ok()) return {};
    Error error = status.error();
    error.message = "the result does not run: " + error.message;
    return error;
  }

 private:
  Status run_package(const fs::path& folder) const {
    std::set<fs::path> covered;
    // Graphs that no workflow needs, or that are too few for one, run alone.
    if (const auto model = Model::open(folder, options_); model.ok()) {
      SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model->info());
      bool all_ran = true;
      for (const std::string& workflow : info.workflows) {
        const Status ran = run_workflow(*model, workflow);
        // A package may lack a tokenizer.
        if (!ran.ok() && ran.error().code != ErrorCode::kNotFound) return ran;
        all_ran = all_ran && ran.ok();
      }
      if (all_ran)
        for (const GraphInfo& graph : info.graphs) covered.insert(graph.file);
    } else if (model.error().code == ErrorCode::kUnavailable) {
      return model.error();
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".onnx" && !covered.contains(file))
        SAM3_RETURN_IF_ERROR(run_graph(file, given_.in / file.lexically_relative(folder)));
    }
    return {};
  }

  // A graph may not bear made-up inputs: then its source does not either.
  Status run_graph(const fs::path& file, const fs::path& source) const {
    const Status status = try_graph(file, options_);
    if (status.ok()) return {};
    const ErrorCode code = status.error().code;
    const bool excused = code == ErrorCode::kUnsupported ||
                         (code == ErrorCode::kRuntime && !try_graph(source, options_));
    if (!excused) return status;
    if (!given_.work.quiet) note("sam3: not run: " + status.error().message);
    return {};
  }

  const QuantizeOptions& given_;
  ModelOptions options_;
};

std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

void tell(const quantize::GraphResult& graph, const QuantizeOptions& given) {
  const std::string sizes = megabytes(graph.bytes_before) + " to " + megabytes(graph.bytes_after);
  if (!graph.selected) return note("sam3: " + graph.name() + ": copied");
  note("sam3: " + graph.name() + ": " + std::to_string(graph.report.count()) +
       " nodes quantized, " + sizes);
  std::map<std::string, std::vector<std::string>> reasons;
  for (const quantize::SkippedNode& node : graph.report.skipped) {
    if (given.verbose) note("  " + node.node + " (" + node.op_type + "): " + node.reason);
    reasons[node.reason].push_back(node.node);
  }
  if (given.verbose) return;
  for (const auto& [reason, nodes] : reasons)
    note("  " + (nodes.size() == 1 ? nodes[0] : std::to_string(nodes.size()) + " nodes") +
         " left as " + (nodes.size() == 1 ? "it is" : "they are") + ": " + reason);
}

Result<quantize::Options> read_words(const QuantizeOptions& given) {
  quantize::Options options;
  const auto precision = quantize::parse_precision(given.precision);
  if (!precision)
    return wrong("--precision: '" + given.precision + "' is not one of " +
                 quantize::precision_names());
  options.precision = *precision;
  if (given.weights_only) {
    if (*precision == quantize::Precision::kFloat16)
      return wrong("--weights-only is for whole numbers, not for fp16");
    if (*precision == quantize::Precision::kInt8)
      options.precision = quantize::Precision::kInt8Weights;
  }
  options.ops = parse_list(given.ops);
  options.include = given.include;
  options.exclude = given.exclude;
  options.patch_embedding = given.patch_embedding;
  SAM3_RETURN_IF_ERROR(quantize::check(options));
  return options;
}

Result<fs::path> place_of_result(const QuantizeOptions& given) {
  const std::size_t named = given.out_argument.size() + (given.out.empty() ? 0 : 1);
  if (named == 1) return fs::path(given.out.empty() ? given.out_argument[0] : given.out);
  return wrong(named == 0 ? "no place for the result; name one behind IN or with --out"
                          : "more than one place for the result: " + given.out_argument.back());
}

Status run(const QuantizeOptions& given, fs::path& out) {
  SAM3_ASSIGN_OR_RETURN(out, place_of_result(given));
  quantize::PackageOptions package;
  SAM3_ASSIGN_OR_RETURN(package.options, read_words(given));
  package.graphs = parse_list(given.graphs);
  package.versions["sam3"] = version();
  ThreadPool pool(thread_count(given.work.threads));
  package.options.parallel = pool.runner();
  if (!given.work.quiet)
    package.progress = [&](const quantize::GraphResult& graph) { tell(graph, given); };
  const Trial trial(given);
  if (!given.no_run) {
    SAM3_ASSIGN_OR_RETURN(const RuntimeInfo runtime,
                          runtime_info(model_options(given.work, given.device).onnxruntime));
    package.versions["onnxruntime"] = runtime.version;
    package.check = [&](const fs::path& result) { return trial.run(result); };
  }
  std::error_code error;
  if (fs::is_directory(given.in, error)) {
    const auto done = quantize::quantize_package(given.in, out, package);
    return done.ok() ? Status() : done.error();
  }
  if (!package.graphs.empty()) return wrong("--graphs is for packages; " + given.in + " is a file");
  const auto done = quantize::quantize_file(given.in, out, package);
  return done.ok() ? Status() : done.error();
}

}  // namespace

int run_quantize(const QuantizeOptions& options) {
  fs::path out;
  const Status status = run(options, out);
  if (!status) return fail(status.error());
  if (!options.work.quiet) note("sam3: wrote " + out.string());
  return kDone;
}

}  // namespace sam3::cli
