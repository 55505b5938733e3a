#include "model/core.h"

#include "base/macros.h"
#include "model/mask_bits.h"

namespace sam3::model {

Core::Core(Package package, std::shared_ptr<const runtime::Engine> engine, bool low_memory,
           const rewrite::Rewrites& rewrites)
    : package_(std::move(package)),
      engine_(std::move(engine)),
      low_memory_(low_memory),
      rewrites_(rewrites),
      pool_(engine_->threads()) {}

Result<std::shared_ptr<const Core>> Core::open(const std::filesystem::path& folder,
                                               const ModelOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const rewrite::Rewrites rewrites, rewrite::parse_rewrites(options.rewrite));
  SAM3_ASSIGN_OR_RETURN(
      auto engine, runtime::Engine::create({options.onnxruntime, options.device, options.threads,
                                            rewrites.engine_defaults, options.profile}));
  SAM3_ASSIGN_OR_RETURN(Package package, Package::open(folder));
  return std::shared_ptr<const Core>(
      new Core(std::move(package), std::move(engine), options.low_memory, rewrites));
}

WorkflowContext Core::context() const {
  WorkflowContext context{engine_, pool_.runner(), low_memory_, rewrites_};
  // Our operator runs on the processor.
  if (engine_->effective_device() != "cpu") context.rewrites.attention = false;
  return context;
}

Result<const TextWorkflow*> Core::text() const {
  std::lock_guard lock(mutex_);
  if (!text_) {
    SAM3_ASSIGN_OR_RETURN(text_, TextWorkflow::create(package_, context()));
  }
  return text_.get();
}

Result<const PointWorkflow*> Core::point() const {
  std::lock_guard lock(mutex_);
  if (!point_) {
    SAM3_ASSIGN_OR_RETURN(point_, PointWorkflow::create(package_, context()));
  }
  return point_.get();
}

namespace {

GraphInfo describe_graph(GraphKind kind, const graph::ModelFile& file) {
  GraphInfo info;
  info.name = graph_name(kind);
  info.file = file.path().string();
  info.producer = file.producer();
  info.opset = file.opset();
  info.nodes = static_cast<std::int64_t>(file.node_count());
  for (const auto& input : file.inputs()) info.inputs.push_back(input.describe());
  for (const auto& output : file.outputs()) info.outputs.push_back(output.describe());
  for (const auto& external : file.external_files()) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(external.path, error);
    if (!error) info.weight_bytes += bytes;
  }
  return info;
}

// The size of an axis if the graph declares it, else 0.
int declared(const graph::ValueInfo* value, std::size_t axis) {
  if (!value || axis >= value->dims.size() || value->dims[axis] < 0) return 0;
  return static_cast<int>(value->dims[axis]);
}

void read_sizes(GraphKind kind, const graph::ModelFile& file, ModelInfo& info) {
  switch (kind) {
    case GraphKind::kVisionEncoder:
    case GraphKind::kTrackerVisionEncoder:
      info.image_size = declared(file.find_input("pixel_values"), 2);
      break;
    case GraphKind::kBrowserImageEncoder:
      info.image_size = declared(file.find_input("image"), 1);
      break;
    case GraphKind::kTextEncoder:
      info.text_length = declared(file.find_input("input_ids"), 1);
      break;
    case GraphKind::kBrowserLanguageEncoder:
      info.text_length = declared(file.find_input("tokens"), 1);
      break;
    case GraphKind::kDetector:
      info.queries = declared(file.find_output("pred_masks_bits"), 1);
      if (const auto order = find_bit_order(file); order.ok())
        info.mask_bits = *order == mask::BitOrder::kMsbFirst ? "msb-first" : "lsb-first";
      break;
    default:
      break;
  }
}

}  // namespace

Result<ModelInfo> describe(const Package& package) {
  ModelInfo info;
  info.folder = package.folder().string();
  info.name = package.name();
  info.family = family_name(package.family());
  for (const Workflow workflow : {Workflow::kText, Workflow::kPoint}) {
    if (!package.has(workflow)) continue;
    info.workflows.emplace_back(workflow == Workflow::kText ? "text" : "point");
    CheckedGraphs graphs;
    const std::vector<std::string> problems = package.problems(workflow, graphs);
    info.problems.insert(info.problems.end(), problems.begin(), problems.end());
    for (const auto& [kind, file] : graphs.files) {
      info.graphs.push_back(describe_graph(kind, file));
      read_sizes(kind, file, info);
    }
  }
  return info;
}

}  // namespace sam3::model
