#include "model/package.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "base/macros.h"
#include "rewrite/attention.h"

namespace sam3::model {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::array kBrowserKinds{GraphKind::kBrowserImageEncoder,
                                   GraphKind::kBrowserLanguageEncoder, GraphKind::kBrowserDecoder};
// Not needed for a workflow, but used where it is there.
constexpr std::array kOptionalKinds{GraphKind::kGeometryEncoder};
constexpr std::array kFiveKinds{GraphKind::kVisionEncoder, GraphKind::kTextEncoder,
                                GraphKind::kDetector, GraphKind::kTrackerVisionEncoder,
                                GraphKind::kPromptDecoder};

Error folder_error(ErrorCode code, const fs::path& folder, std::string message) {
  return Error{code, std::move(message), folder.string(), ""};
}

std::string_view workflow_name(Workflow workflow) {
  return workflow == Workflow::kText ? "text" : "point";
}

// Also true for a dangling link: that is for the file's reader to say.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

}  // namespace

std::string_view family_name(Family family) {
  return family == Family::kFiveGraph ? "five-graph" : "browser";
}

Error listed_error(ErrorCode code, const std::string& heading,
                   const std::vector<std::string>& lines, const fs::path& folder) {
  std::string message = heading;
  for (const std::string& line : lines) message += "\n  - " + line;
  return folder_error(code, folder, message);
}

const graph::ModelFile& CheckedGraphs::at(GraphKind kind) const {
  return std::find_if(files.begin(), files.end(),
                      [&](const auto& file) { return file.first == kind; })
      ->second;
}

graph::ModelFile CheckedGraphs::take(GraphKind kind) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const auto& file) { return file.first == kind; });
  graph::ModelFile file = std::move(found->second);
  files.erase(found);
  return file;
}

bool CheckedGraphs::contains(GraphKind kind) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& file) { return file.first == kind; });
}

Result<Package> Package::open(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status))
    return folder_error(ErrorCode::kNotFound, folder, "no such model folder");
  if (!fs::is_directory(status))
    return folder_error(ErrorCode::kBadData, folder,
                        "a model is a folder with graphs in it, and this is a file");
  Package package;
  package.folder_ = folder;
  for (const GraphKind kind : kFiveKinds) {
    const fs::path path = folder / graph_name(kind) / "model.onnx";
    if (is_there(path)) package.paths_.emplace_back(kind, path);
  }
  if (package.paths_.empty()) SAM3_RETURN_IF_ERROR(package.find_browser_graphs());
  if (package.paths_.empty()) {
    std::string wanted;
    for (const GraphKind kind : kFiveKinds)
      wanted += (wanted.empty() ? "" : ", ") + std::string(graph_name(kind)) + "/model.onnx";
    return folder_error(ErrorCode::kNotFound, folder,
                        "this folder holds no model; wanted are " + wanted +
                            ", or the three graphs of the browser family");
  }
  SAM3_RETURN_IF_ERROR(package.read_description());
  return package;
}

// Three single files, by their names or else by the names of their inputs.
Status Package::find_browser_graphs() {
  std::error_code error;
  std::map<GraphKind, fs::path> found;
  for (const GraphKind kind : kBrowserKinds) {
    const fs::path path = folder_ / (std::string(graph_name(kind)) + ".onnx");
    if (is_there(path)) found[kind] = path;
  }
  if (found.empty()) {
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() != ".onnx") continue;
      Result<graph::ModelFile> file = graph::ModelFile::read(entry.path());
      if (!file.ok()) continue;
      for (const GraphKind kind : kBrowserKinds)
        if (looks_like(kind, *file)) found.try_emplace(kind, entry.path());
    }
    if (error)
      return folder_error(ErrorCode::kBadData, folder_, "cannot be read: " + error.message());
  }
  if (!found.empty()) family_ = Family::kBrowser;
  paths_.assign(found.begin(), found.end());
  return {};
}

Status Package::read_description() {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(folder_, error);
  name_ = error ? folder_.filename().string() : real.filename().string();
  const fs::path path = folder_ / "model.json";
  if (!is_there(path)) return {};
  std::ifstream stream(path, std::ios::binary);
  const json document = json::parse(stream, nullptr, false);
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::kBadData, what, path.string(), ""};
  };
  if (!document.is_object()) return bad("this is not a JSON object");
  if (const auto name = document.find("name"); name != document.end()) {
    if (!name->is_string()) return bad("\"name\" must be a string");
    name_ = name->get<std::string>();
  }
  for (const auto& [key, target] : {std::pair{"mean", &mean_}, std::pair{"std", &std_}}) {
    const auto values = document.find(key);
    if (values == document.end()) continue;
    const bool good = values->is_array() && values->size() == 3 &&
                      std::all_of(values->begin(), values->end(),
                                  [](const json& value) { return value.is_number(); });
    if (!good) return bad("\"" + std::string(key) + "\" must be three numbers");
    for (std::size_t i = 0; i < 3; ++i) (*target)[i] = (*values)[i].get<float>();
  }
  if (std::any_of(std_.begin(), std_.end(), [](float value) { return !(value > 0); }))
    return bad("\"std\" must be positive");
  return {};
}

std::vector<GraphKind> Package::graphs_of(Family family, Workflow workflow) {
  if (family == Family::kBrowser)
    return workflow == Workflow::kText
               ? std::vector<GraphKind>(kBrowserKinds.begin(), kBrowserKinds.end())
               : std::vector<GraphKind>{};
  if (workflow == Workflow::kText)
    return {GraphKind::kVisionEncoder, GraphKind::kTextEncoder, GraphKind::kDetector};
  return {GraphKind::kTrackerVisionEncoder, GraphKind::kPromptDecoder};
}

std::vector<GraphKind> Package::graphs_of(Workflow workflow) const {
  std::vector<GraphKind> kinds = graphs_of(family_, workflow);
  if (family_ == Family::kFiveGraph && workflow == Workflow::kText)
    std::copy_if(kOptionalKinds.begin(), kOptionalKinds.end(), std::back_inserter(kinds),
                 [&](GraphKind kind) { return is_there(path_of(kind)); });
  return kinds;
}

bool Package::has(Workflow workflow) const {
  const std::vector<GraphKind> kinds = graphs_of(family_, workflow);
  return !kinds.empty() && std::all_of(kinds.begin(), kinds.end(),
                                       [&](GraphKind kind) { return is_there(path_of(kind)); });
}

fs::path Package::path_of(GraphKind kind) const {
  for (const auto& [known, path] : paths_)
    if (known == kind) return path;
  const std::string name(graph_name(kind));
  return family_ == Family::kFiveGraph ? folder_ / name / "model.onnx" : folder_ / (name + ".onnx");
}

Result<fs::path> Package::tokenizer_path() const {
  const std::vector<fs::path> places =
      family_ == Family::kFiveGraph
          ? std::vector<fs::path>{folder_ / "tokenizer" / "tokenizer.json",
                                  folder_ / "tokenizer.json"}
          : std::vector<fs::path>{folder_ / "clip_tokenizer.json"};
  for (const fs::path& place : places)
    if (is_there(place)) return place;
  return folder_error(ErrorCode::kNotFound, folder_,
                      "the model has no tokenizer; wanted is " + places[0].string());
}

std::vector<std::string> Package::problems(Workflow workflow, CheckedGraphs& graphs) const {
  std::vector<std::string> lines;
  for (const GraphKind kind : graphs_of(workflow)) {
    Result<graph::ModelFile> file = graph::ModelFile::read(path_of(kind));
    if (!file.ok()) {
      lines.push_back(std::string(graph_name(kind)) + ": " + file.error().to_string());
      continue;
    }
    if (const Status weights = file->check_external_files(); !weights)
      lines.push_back(std::string(graph_name(kind)) + ": " + weights.error().to_string());
    graphs.files.emplace_back(kind, std::move(*file));
  }
  std::vector<ContractGraph> contract;
  for (const auto& [kind, file] : graphs.files) contract.push_back({kind, &file});
  ContractReport report = check_contract(contract);
  for (const std::string& warning : report.warnings) log_line(LogLevel::kWarning, warning);
  lines.insert(lines.end(), report.problems.begin(), report.problems.end());
  return lines;
}

Result<CheckedGraphs> Package::check(Workflow workflow) const {
  if (graphs_of(family_, workflow).empty())
    return folder_error(ErrorCode::kUnsupported, folder_,
                        "a package of the browser family has no graphs for clicks; a box is an "
                        "example of what to find there (segment IMAGE --box x0,y0,x1,y1)");
  CheckedGraphs graphs;
  const std::vector<std::string> lines = problems(workflow, graphs);
  if (!lines.empty())
    return listed_error(
        ErrorCode::kBadData,
        "the " + std::string(workflow_name(workflow)) + " workflow cannot run with this model:",
        lines, folder_);
  return graphs;
}

namespace {

// Where the engine has to look for weights: the folder behind links, and the names there.
struct DataFolder {
  fs::path folder;
  std::map<std::string, std::string> names;
};

bool has_links(const graph::ModelFile& file) {
  std::error_code error;
  const auto is_link = [&](const fs::path& path) {
    return fs::is_symlink(fs::symlink_status(path, error));
  };
  const auto& data = file.external_files();
  return is_link(file.path()) ||
         std::any_of(data.begin(), data.end(), [&](const auto& one) { return is_link(one.path); });
}

Result<DataFolder> find_data(const graph::ModelFile& file) {
  // The engine refuses data that lies outside the folder it is told, after following links: tell it
  // the folder and the names behind the links.
  DataFolder data;
  std::error_code error;
  std::set<fs::path> folders;
  if (!has_links(file) || file.external_files().empty()) {
    data.folder = fs::absolute(file.path(), error).parent_path();
    return data;
  }
  for (const graph::ExternalFile& external : file.external_files()) {
    const fs::path real = fs::canonical(external.path, error);
    if (error)
      return Error{ErrorCode::kNotFound, "this link cannot be followed: " + error.message(),
                   external.path.string(), ""};
    folders.insert(real.parent_path());
    data.names[external.location] = real.filename().string();
  }
  if (folders.size() > 1)
    return Error{ErrorCode::kUnsupported,
                 "the weights of this graph are links into " + std::to_string(folders.size()) +
                     " different folders; copy them beside the graph",
                 file.path().string(), ""};
  data.folder = *folders.begin();
  return data;
}

// The exact sums need weights that no two nodes share (a fault of the engine, seen in 1.32.0).
std::size_t unshare(graph::ModelFile& file) {
  if (!runtime::int8_sums_saturate()) return 0;
  return file.unshare_initializers("MatMulInteger", {1, 3}) +
         file.unshare_initializers("DequantizeLinear", {0, 1, 2});
}

}  // namespace

Result<runtime::GraphSource> graph_source(const graph::EditableModel& model,
                                          const graph::ModelFile& origin) {
  SAM3_ASSIGN_OR_RETURN(const DataFolder data, find_data(origin));
  SAM3_ASSIGN_OR_RETURN(std::string bytes, model.serialize(data.names));
  return runtime::GraphSource{origin.path(), std::move(bytes), data.folder};
}

Result<runtime::GraphSource> graph_source(graph::ModelFile file,
                                          const rewrite::Rewrites& rewrites) {
  const bool changed = unshare(file) > 0;
  if (rewrites.attention) {
    SAM3_ASSIGN_OR_RETURN(graph::EditableModel model, graph::EditableModel::from(file));
    if (rewrite::fuse_attention(model) > 0) return graph_source(model, file);
  }
  if (!changed && (!has_links(file) || file.external_files().empty()))
    return runtime::GraphSource{file.path(), "", ""};
  SAM3_ASSIGN_OR_RETURN(const DataFolder data, find_data(file));
  SAM3_ASSIGN_OR_RETURN(std::string bytes, file.serialize_with_locations(data.names));
  return runtime::GraphSource{file.path(), std::move(bytes), data.folder};
}

Result<graph::EditableModel> editable(graph::ModelFile& file, const rewrite::Rewrites& rewrites) {
  unshare(file);
  SAM3_ASSIGN_OR_RETURN(graph::EditableModel model, graph::EditableModel::from(file));
  if (rewrites.attention) rewrite::fuse_attention(model);
  return model;
}

}  // namespace sam3::model
