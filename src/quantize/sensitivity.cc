#include "quantize/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/macros.h"
#include "graph/graph_editor.h"
#include "quantize/graph_inputs.h"
#include "quantize/quantize.h"

namespace sam3::quantize {

namespace fs = std::filesystem;

namespace {

using runtime::TensorType;

// Sums over any number of tensors.
struct ErrorSums {
  double squares = 0;
  double differences = 0;

  void add(const runtime::Tensor& value, const runtime::Tensor& expected) {
    if (value.type() != TensorType::kFloat || expected.type() != TensorType::kFloat ||
        value.element_count() != expected.element_count())
      return;
    const auto a = value.floats();
    const auto b = expected.floats();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      differences += difference * difference;
      squares += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
  }
  double relative() const { return squares > 0 ? std::sqrt(differences / squares) : 0; }
};

// Mean over the outputs, so that large maps do not drown small ones.
double output_error(const std::vector<NamedValues>& values,
                    const std::vector<NamedValues>& expected) {
  std::map<std::string, ErrorSums> sums;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t o = 0; o < values[i].size(); ++o)
      if (values[i][o].second.type() == TensorType::kFloat)
        sums[values[i][o].first].add(values[i][o].second, expected[i][o].second);
  double total = 0;
  for (const auto& [name, sum] : sums) total += sum.relative();
  return sums.empty() ? 0 : total / static_cast<double>(sums.size());
}

// The nodes of a graph that multiply by weights, in order.
std::vector<const onnx::NodeProto*> weighted_nodes(const graph::EditableModel& model) {
  static const std::set<std::string> kProducts{"MatMul", "Gemm", "Conv", "ConvTranspose"};
  std::set<std::string> constants;
  for (const auto& [name, weight] : model.weights) constants.insert(name);
  std::vector<const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    const auto is_constant = [&](const std::string& input) {
      return input.empty() || constants.contains(input);
    };
    if (std::all_of(node.input().begin(), node.input().end(), is_constant))
      constants.insert(node.output().begin(), node.output().end());
    else if (kProducts.contains(node.op_type()) && node.input_size() > 1 &&
             (is_constant(node.input(0)) || is_constant(node.input(1))))
      nodes.push_back(&node);
  }
  return nodes;
}

// Makes a value an output of the name `as`, as floats.
void add_output(graph::EditableModel& model, const std::string& value, const std::string& as) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  onnx::NodeProto& cast = *graph.add_node();
  cast.set_op_type("Cast");
  cast.add_input(value);
  cast.add_output(as);
  graph::set_attribute(cast, "to", static_cast<std::int64_t>(graph::ElementType::kFloat));
  onnx::ValueInfoProto& output = *graph.add_output();
  output.set_name(as);
  output.mutable_type()->mutable_tensor_type()->set_elem_type(
      static_cast<int>(graph::ElementType::kFloat));
}

// Where a candidate's graph has what a node of the reference makes: under the same name, or, where
// it is of another type, as the first value of the node of the same name.
class Counterparts {
 public:
  explicit Counterparts(const graph::EditableModel& candidate) {
    for (const onnx::NodeProto& node : candidate.proto.graph().node()) {
      values_.insert(node.output().begin(), node.output().end());
      if (!node.name().empty() && node.output_size() > 0)
        of_node_.emplace(node.name(), node.output(0));
    }
  }
  // Empty if it has none.
  std::string find(const onnx::NodeProto& node) const {
    if (values_.contains(node.output(0))) return node.output(0);
    const auto found = of_node_.find(node.name());
    return found == of_node_.end() ? std::string() : found->second;
  }

 private:
  std::set<std::string> values_;
  std::map<std::string, std::string> of_node_;
};

// A model in a folder of its own.
Result<fs::path> write_in(const graph::EditableModel& model, const fs::path& folder) {
  std::error_code code;
  fs::remove_all(folder, code);
  fs::create_directories(folder, code);
  const fs::path file = folder / "model.onnx";
  const auto written = model.write(file);
  if (!written) return written.error();
  return file;
}

class Search {
 public:
  Search(const fs::path& reference, const std::string& graph, const std::vector<GateCase>& cases,
         const SearchOptions& options, const fs::path& scratch)
      : reference_(reference), cases_(cases), options_(options), scratch_(scratch) {
    result_.graph = graph;
  }

  Result<SearchResult> run() {
    SAM3_RETURN_IF_ERROR(measure_nodes());
    SAM3_RETURN_IF_ERROR(try_without(0));
    if (result_.passed) return std::move(result_);
    // Doubling finds a number that is enough, halving the smallest one.
    std::size_t low = 0;
    std::size_t high = 1;
    for (; high < result_.nodes.size(); high *= 2) {
      SAM3_RETURN_IF_ERROR(try_without(high));
      if (result_.passed) break;
      low = high;
    }
    high = std::min(high, result_.nodes.size());
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      SAM3_RETURN_IF_ERROR(try_without(middle));
      (result_.passed ? high : low) = middle;
    }
    SAM3_RETURN_IF_ERROR(try_without(high));
    return std::move(result_);
  }

 private:
  fs::path file() const { return reference_ / result_.graph / "model.onnx"; }

  void tell(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  // The reference's graph with only some nodes quantized; null if there were none.
  Result<bool> write_variant(const std::vector<std::string>& include,
                             const std::vector<std::string>& exclude, const fs::path& folder) {
    SAM3_ASSIGN_OR_RETURN(graph::EditableModel model, graph::EditableModel::read(file()));
    Options options = options_.quantization;
    if (options.ops.empty()) options.ops = default_ops(options.precision, result_.graph);
    options.include.insert(options.include.end(), include.begin(), include.end());
    options.exclude.insert(options.exclude.end(), exclude.begin(), exclude.end());
    SAM3_ASSIGN_OR_RETURN(const Report report, quantize(model, options));
    if (report.count() == 0) return false;
    SAM3_ASSIGN_OR_RETURN(const fs::path written, write_in(model, folder));
    return !written.empty();
  }

  Status measure_nodes() {
    SAM3_ASSIGN_OR_RETURN(const GraphInputs source,
                          GraphInputs::create(reference_, cases_, options_.gates.model));
    SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> inputs, source.of(result_.graph));
    SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> expected,
                          run_graph(source.engine(), file(), inputs));
    SAM3_ASSIGN_OR_RETURN(const graph::EditableModel model, graph::EditableModel::read(file()));
    for (const onnx::NodeProto* node : weighted_nodes(model)) {
      if (node->name().empty()) continue;
      const fs::path folder = scratch_ / "node";
      SAM3_ASSIGN_OR_RETURN(const bool quantized, write_variant({node->name()}, {}, folder));
      if (!quantized) continue;
      SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> values,
                            run_graph(source.engine(), folder / "model.onnx", inputs));
      result_.nodes.push_back({node->name(), node->op_type(), output_error(values, expected)});
      tell(node->name() + " alone: " + std::to_string(result_.nodes.back().error));
    }
    std::stable_sort(result_.nodes.begin(), result_.nodes.end(),
                     [](const auto& a, const auto& b) { return a.error > b.error; });
    return {};
  }

  // The gate with the `count` most sensitive nodes left alone.
  Status try_without(std::size_t count) {
    result_.exclude.clear();
    for (std::size_t i = 0; i < count; ++i) result_.exclude.push_back(result_.nodes[i].node);
    const fs::path candidate = scratch_ / ("without-" + std::to_string(count));
    SAM3_ASSIGN_OR_RETURN(const bool quantized,
                          write_variant({}, result_.exclude, candidate / result_.graph));
    if (!quantized) {  // where nothing is quantized, nothing has passed
      result_.passed = false;
      return {};
    }
    GateOptions gates = options_.gates;
    gates.graphs = {result_.graph};
    const fs::path composed = scratch_ / ("gate-" + std::to_string(count));
    std::error_code code;
    fs::remove_all(composed, code);
    fs::create_directories(composed, code);
    SAM3_ASSIGN_OR_RETURN(const std::vector<GateResult> results,
                          run_gates(candidate, reference_, cases_, gates, composed));
    fs::remove_all(candidate, code);
    result_.passed = results.at(0).passed();
    result_.value = results.at(0).value;
    tell("without " + std::to_string(count) + " nodes: " + results[0].metric + " " +
         std::to_string(result_.value));
    return {};
  }

  const fs::path reference_;
  const std::vector<GateCase>& cases_;
  const SearchOptions& options_;
  const fs::path scratch_;
  SearchResult result_;
};

}  // namespace

Result<std::vector<NodeError>> layer_errors(const PackagePair& packages, const std::string& graph,
                                            const std::vector<GateCase>& cases,
                                            const ModelOptions& options, const fs::path& scratch) {
  SAM3_ASSIGN_OR_RETURN(const GraphInputs source,
                        GraphInputs::create(packages.reference, cases, options));
  SAM3_ASSIGN_OR_RETURN(const std::vector<NamedValues> inputs, source.of(graph));
  const fs::path file = fs::path(graph) / "model.onnx";
  SAM3_ASSIGN_OR_RETURN(graph::EditableModel theirs,
                        graph::EditableModel::read(packages.candidate / file));
  SAM3_ASSIGN_OR_RETURN(graph::EditableModel ours,
                        graph::EditableModel::read(packages.reference / file));
  const Counterparts counterparts(theirs);
  std::vector<NodeError> errors;
  std::vector<std::pair<std::string, std::string>> values;  // of ours and of theirs
  for (const onnx::NodeProto* node : weighted_nodes(ours)) {
    const std::string their_value = counterparts.find(*node);
    if (their_value.empty()) continue;
    errors.push_back({node->name(), node->op_type(), 0});
    values.emplace_back(node->output(0), their_value);
  }
  std::vector<std::string> names;
  for (const auto& [our_value, their_value] : values) {
    names.push_back("measured_" + std::to_string(names.size()));
    add_output(ours, our_value, names.back());
    add_output(theirs, their_value, names.back());
  }
  SAM3_ASSIGN_OR_RETURN(const fs::path their_file, write_in(theirs, scratch / "candidate"));
  SAM3_ASSIGN_OR_RETURN(const fs::path our_file, write_in(ours, scratch / "reference"));
  std::vector<ErrorSums> sums(names.size());
  for (const NamedValues& set : inputs) {
    SAM3_ASSIGN_OR_RETURN(const auto found, run_graph(source.engine(), their_file, {set}, names));
    SAM3_ASSIGN_OR_RETURN(const auto expected, run_graph(source.engine(), our_file, {set}, names));
    for (std::size_t i = 0; i < names.size(); ++i)
      sums[i].add(found[0][i].second, expected[0][i].second);
  }
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i].error = sums[i].relative();
  return errors;
}

Result<SearchResult> search_exclusions(const fs::path& reference, const std::string& graph,
                                       const std::vector<GateCase>& cases,
                                       const SearchOptions& options, const fs::path& scratch) {
  return Search(reference, graph, cases, options, scratch).run();
}

}  // namespace sam3::quantize
