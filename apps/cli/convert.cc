// sam3 convert: checkpoint in, model package out.
#include "convert/convert.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include "base/macros.h"
#include "base/parallel.h"
#include "base/staged_folder.h"
#include "commands.h"
#include "common.h"
#include "quantize/quantize.h"
#include "quantize/record.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

// What the words of the options mean.
struct Job {
  convert::Config config = convert::full_size_config();
  std::unique_ptr<convert::WeightSource> source;
  convert::ConvertOptions options;
  convert::Description description;
  quantize::PackageOptions quantization;
  std::optional<quantize::Precision> precision;  // without it float32
  std::vector<quantize::GraphResult> done;
};

Error wrong(const std::string& option, const std::string& value, const std::string& wanted) {
  return Error{ErrorCode::kInvalidArgument, option + ": '" + value + "' is not " + wanted, "", ""};
}

Result<std::uint64_t> parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seed);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return wrong("--random-init", text, "a whole number from 0 to 2^64 - 1");
  return seed;
}

Status read_words(const ConvertOptions& given, Job& job) {
  if (given.family == "browser")
    job.options.family = convert::Family::kBrowser;
  else if (given.family != "five")
    return wrong("--family", given.family, "five or browser");
  if (given.no_memory == "reference")
    job.options.graphs.no_memory = convert::NoMemory::kReference;
  else if (given.no_memory != "original")
    return wrong("--no-mem", given.no_memory, "original or reference");
  if (given.exemplars && job.options.family == convert::Family::kBrowser)
    return Error{ErrorCode::kInvalidArgument,
                 "--exemplars is for the family of five graphs; the browser family takes a box "
                 "anyway",
                 "", ""};
  job.options.exemplars = given.exemplars;
  if (given.precision == "fp32") return {};
  job.precision = quantize::parse_precision(given.precision);
  if (!job.precision)
    return wrong("--precision", given.precision, "fp32 or one of " + quantize::precision_names());
  job.quantization.options.precision = *job.precision;
  return {};
}

// Sizes and weights.
Status open_source(const ConvertOptions& given, Job& job) {
  std::error_code ignored;
  const std::optional<fs::path> place =
      given.checkpoint.empty() ? std::nullopt : std::optional<fs::path>(given.checkpoint.front());
  if (place) {
    const bool is_file = fs::is_regular_file(*place, ignored);
    if (is_file && given.random_init.empty())
      return Error{ErrorCode::kInvalidArgument,
                   "a file; name the folder that holds config.json and model.safetensors",
                   place->string(), ""};
    SAM3_ASSIGN_OR_RETURN(job.config,
                          convert::read_config(is_file ? *place : *place / "config.json"));
  }
  if (!given.random_init.empty()) {
    SAM3_ASSIGN_OR_RETURN(const std::uint64_t seed, parse_seed(given.random_init));
    job.source = std::make_unique<convert::RandomWeights>(seed);
    job.description.provenance =
        "Random weights, seed " + std::to_string(seed) + ": for tests of speed and size only.";
    job.description.licence = "none";
    return {};
  }
  if (!place)
    return Error{ErrorCode::kInvalidArgument,
                 "no CHECKPOINT is named; --random-init SEED makes up weights", "", ""};
  SAM3_ASSIGN_OR_RETURN(convert::Checkpoint checkpoint, convert::Checkpoint::open(*place));
  job.source = std::make_unique<convert::Checkpoint>(std::move(checkpoint));
  job.description.provenance = "Converted by sam3 " + version() + " from a checkpoint.";
  job.description.licence = "that of the checkpoint";
  return {};
}

// The folder that the tokenizer comes from.
fs::path tokenizer_folder(const ConvertOptions& given) {
  if (!given.tokenizer.empty()) return given.tokenizer;
  std::error_code ignored;
  if (!given.checkpoint.empty())
    for (const fs::path& folder :
         {fs::path(given.checkpoint.front()), fs::path(given.checkpoint.front()) / "tokenizer"})
      if (fs::is_regular_file(folder / "tokenizer.json", ignored)) return folder;
  if (!given.work.quiet)
    note("sam3: no tokenizer in the checkpoint; taking CLIP's from the demo model");
  return demo_folder();
}

// Quantizes each graph between building and writing it, and keeps what the record will say.
void set_up_graphs(const ConvertOptions& given, Job& job, const ParallelFor& parallel) {
  job.quantization.options.parallel = parallel;
  job.quantization.versions["sam3"] = version();
  job.options.transform = [&job](const std::string& name, graph::EditableModel& model) -> Status {
    quantize::GraphResult& result = job.done.emplace_back();
    const bool five = job.options.family == convert::Family::kFiveGraph;
    result.folder = five ? name : "";
    result.file = five ? "model.onnx" : name + ".onnx";
    if (!job.precision) return {};
    quantize::Options options = job.quantization.options;
    options.ops = quantize::default_ops(*job.precision, name);
    SAM3_ASSIGN_OR_RETURN(result.report, quantize::quantize(model, options));
    result.selected = true;
    result.ops = options.ops;
    return {};
  };
  job.options.progress = [&job, &given](const std::string& name,
                                        const graph::WrittenModel& written) {
    job.done.back().bytes_after = written.model_bytes + written.weight_bytes;
    if (given.work.quiet) return;
    note("sam3: " + name + ": " + std::to_string((written.weight_bytes + 500'000) / 1'000'000) +
         " MB");
  };
}

Status convert_all(const ConvertOptions& given, Job& job, const fs::path& folder) {
  ThreadPool pool(thread_count(given.work.threads));
  set_up_graphs(given, job, pool.runner());
  SAM3_RETURN_IF_ERROR(
      convert::write_tokenizer(tokenizer_folder(given), folder, job.options.family));
  SAM3_RETURN_IF_ERROR(convert::write_graphs(job.config, *job.source, job.options, folder));
  SAM3_RETURN_IF_ERROR(
      convert::write_description(job.config, job.options.family, job.description, folder));
  const fs::path source =
      given.checkpoint.empty() ? fs::path() : fs::path(given.checkpoint.front());
  return quantize::write_record(folder, source, job.done, job.quantization);
}

// What was written fits the contract of its family, and its tokenizer works.
Status check_package(const fs::path& folder, std::int64_t vocabulary) {
  ModelOptions options;
  options.device = "cpu";
  const auto model = Model::open(folder, options);
  if (!model) {
    // Without an engine there is nothing that could run it here; the files are as good.
    return model.error().code == ErrorCode::kUnavailable ? Status() : model.error();
  }
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model->info());
  if (info.problems.empty()) {
    // Text that ends up beyond the token table would only fail when somebody asks.
    SAM3_ASSIGN_OR_RETURN(const Tokens tokens, model->tokenize("a red square"));
    const auto largest = *std::max_element(tokens.ids.begin(), tokens.ids.end());
    if (largest < vocabulary) return {};
    return Error{ErrorCode::kBadData,
                 "the tokenizer gives the id " + std::to_string(largest) +
                     ", but the checkpoint knows " + std::to_string(vocabulary) + " tokens",
                 "", ""};
  }
  return Error{ErrorCode::kRuntime, "the package does not fit its contract: " + info.problems[0],
               "", ""};
}

Status run(const ConvertOptions& given) {
  Job job;
  if (given.out.empty())
    return Error{ErrorCode::kInvalidArgument, "no place for the package; name one with --out DIR",
                 "", ""};
  if (given.checkpoint.size() > 1)
    return Error{ErrorCode::kInvalidArgument,
                 "more than one checkpoint: '" + given.checkpoint[1] + "'", "", ""};
  SAM3_RETURN_IF_ERROR(read_words(given, job));
  SAM3_RETURN_IF_ERROR(open_source(given, job));
  const fs::path out = fs::path(given.out).lexically_normal();
  job.description.name = !given.name.empty()      ? given.name
                         : out.filename().empty() ? out.parent_path().filename().string()
                                                  : out.filename().string();
  SAM3_ASSIGN_OR_RETURN(StagedFolder folder, StagedFolder::create(out));
  SAM3_RETURN_IF_ERROR(convert_all(given, job, folder.path()));
  SAM3_RETURN_IF_ERROR(check_package(folder.path(), job.config.text.vocabulary));
  return folder.commit();
}

}  // namespace

int run_convert(const ConvertOptions& options) {
  const Status status = run(options);
  if (!status) return fail(status.error());
  if (!options.work.quiet) note("sam3: wrote " + options.out);
  return kDone;
}

}  // namespace sam3::cli
