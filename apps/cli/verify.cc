// sam3 verify: is a package what it says, and as good as its reference.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "base/parallel.h"
#include "commands.h"
#include "common.h"
#include "formats/write_json.h"
#include "picture_list.h"
#include "quantize/gates.h"
#include "quantize/sensitivity.h"
#include "scratch.h"
#include "self_test.h"
#include "verify_page.h"

namespace sam3::cli {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

Error wrong(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

// What is asked about a picture, by its file name; "" holds what is asked about all.
using Questions = std::map<std::string, std::vector<std::string>>;

Result<Questions> read_questions(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  Questions questions;
  const auto first = text.find_first_not_of(" \t\r\n");
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::kBadData, what, path, ""};
  };
  const std::string form = "{\"picture.jpg\": [phrases]}";
  if (first != std::string::npos && text[first] == '[')
    return bad("a JSON list; wanted is " + form + ", or a phrase a line");
  if (first == std::string::npos || text[first] != '{') {
    SAM3_ASSIGN_OR_RETURN(const ClassList list, read_class_file(path));
    questions[""] = list.names;
    return questions;
  }
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return bad("not JSON of the form " + form);
  for (const auto& [picture, phrases] : document.items()) {
    if (!phrases.is_array()) return bad("what is asked about '" + picture + "' is no list");
    std::vector<std::string>& list = questions[picture];
    for (const auto& phrase : phrases) {
      if (!phrase.is_string()) return bad("a phrase of '" + picture + "' is no text");
      list.push_back(phrase.get<std::string>());
    }
  }
  return questions;
}

// What the command found; a problem or a gate that failed makes it fail.
struct Findings {
  bool sound = false;  // the package itself, as far as it says what it should be
  std::string family;  // of the package
  std::vector<std::string> problems;
  std::vector<std::string> notes;
  std::vector<quantize::GateResult> gates;
  std::map<std::string, std::vector<quantize::NodeError>> layers;
  std::vector<quantize::SearchResult> search;

  bool passed() const {
    return problems.empty() &&
           std::all_of(gates.begin(), gates.end(), [](const auto& g) { return g.passed(); }) &&
           std::all_of(search.begin(), search.end(), [](const auto& s) { return s.passed; });
  }
};

Result<std::vector<quantize::GateCase>> read_cases(const VerifyOptions& given, Findings& findings) {
  if (given.images.empty()) return wrong("a comparison needs --images");
  Questions questions{{"", {}}};  // enough for a package that takes clicks only
  if (!given.prompts.empty()) {
    SAM3_ASSIGN_OR_RETURN(questions, read_questions(given.prompts));
  }
  SAM3_ASSIGN_OR_RETURN(const std::vector<fs::path> files, list_pictures(given.images));
  std::vector<quantize::GateCase> cases;
  for (const fs::path& file : files) {
    auto found = questions.find(file.filename().string());
    if (found == questions.end()) found = questions.find("");
    if (found == questions.end()) continue;  // nothing is asked about it
    SAM3_ASSIGN_OR_RETURN(const std::vector<std::string> prompts, checked_prompts(found->second));
    auto loaded = read_picture(file.string(), {});
    if (loaded.ok())
      cases.push_back({file.filename().string(), std::move(loaded->picture), prompts});
    else
      findings.problems.push_back(loaded.error().to_string());
  }
  if (cases.empty()) return wrong("no picture of --images has a phrase in " + given.prompts);
  return cases;
}

Status check_package(const VerifyOptions& given, Findings& findings) {
  SAM3_ASSIGN_OR_RETURN(const Model model,
                        Model::open(given.model, model_options(given.work, given.device)));
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model.info());
  findings.family = info.family;
  std::vector<std::string> problems = info.problems;
  std::error_code ignored;
  if (fs::exists(fs::path(given.model) / "quantization.json", ignored)) {
    const auto sums = checksum_problems(given.model);
    problems.insert(problems.end(), sums.begin(), sums.end());
  } else {
    findings.notes.emplace_back("no quantization.json: checksums are not known");
  }
  findings.problems.insert(findings.problems.end(), problems.begin(), problems.end());
  findings.sound = problems.empty();
  if (!findings.sound) return {};
  if (given.record) return record_self_test(model, given.model);
  auto differences = self_test_problems(model, given.model);
  if (!differences.ok() && differences.error().code == ErrorCode::kNotFound) {
    findings.notes.emplace_back("no self_test.json: the self-test was not run");
    return {};
  }
  if (!differences) return differences.error();
  findings.problems.insert(findings.problems.end(), differences->begin(), differences->end());
  findings.sound = differences->empty();
  return {};
}

std::string row(const std::vector<std::string>& cells) {
  constexpr std::size_t kWidths[] = {24, 14, 8, 8, 26, 0};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size() && cells[i].size() < kWidths[i])
      line += std::string(kWidths[i] - cells[i].size(), ' ');
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string gate_row(const quantize::GateResult& gate) {
  std::string verdict = gate.passed() ? "passed" : "FAILED";
  if (gate.metric == "mask IoU")
    verdict += " (least " + four_digits(gate.least) + ", " + std::to_string(gate.good) + "/" +
               std::to_string(gate.prompts) + " at 0.9 or more)";
  else
    verdict += " (" + std::to_string(gate.text.detections) + " detections, reference " +
               std::to_string(gate.text.truths) + ", mask IoU " +
               four_digits(gate.text.mean_mask_iou()) + ")";
  return row({gate.graph, gate.metric, four_digits(gate.value), four_digits(1 - gate.limit),
              gate.samples, verdict});
}

ordered_json to_json(const quantize::GateResult& gate);

// Puts the results into the package's quantization.json.
Status record_gates(const VerifyOptions& given, const std::vector<quantize::GateResult>& gates) {
  const fs::path path = fs::path(given.model) / "quantization.json";
  std::ifstream stream(path, std::ios::binary);
  ordered_json document = ordered_json::parse(stream, nullptr, false);
  if (!document.is_object())
    return Error{ErrorCode::kBadData, "there is no record that gates can be added to",
                 path.string(), ""};
  document["gates"] = ordered_json::array();
  for (const quantize::GateResult& gate : gates) document["gates"].push_back(to_json(gate));
  return formats::write_json(path, document);
}

Status compare(const VerifyOptions& given, const std::vector<quantize::GateCase>& cases,
               const Scratch& scratch, Findings& findings) {
  quantize::GateOptions options;
  options.limit = given.limit;
  options.threshold = given.threshold;
  options.graphs = parse_list(given.graphs);
  options.model = model_options(given.work, given.device);
  if (!given.work.quiet && given.json)
    options.progress = [](const quantize::GateResult& gate) { note("sam3: " + gate_row(gate)); };
  SAM3_ASSIGN_OR_RETURN(findings.gates, quantize::run_gates(given.model, given.reference, cases,
                                                            options, scratch / "gates"));
  if (!given.page.empty()) SAM3_RETURN_IF_ERROR(write_gate_page(given.page, findings.gates, cases));
  if (given.record) SAM3_RETURN_IF_ERROR(record_gates(given, findings.gates));
  if (!given.layers) return {};
  for (const quantize::GateResult& gate : findings.gates) {
    if (gate.graph.find(' ') != std::string::npos) continue;  // several together
    SAM3_ASSIGN_OR_RETURN(
        findings.layers[gate.graph],
        quantize::layer_errors({given.model, given.reference}, gate.graph, cases, options.model,
                               scratch / ("layers-" + gate.graph)));
  }
  return {};
}

Status search(const VerifyOptions& given, quantize::Precision precision,
              const std::vector<quantize::GateCase>& cases, const Scratch& scratch,
              Findings& findings) {
  quantize::SearchOptions options;
  ThreadPool pool(thread_count(given.work.threads));
  options.quantization.precision = precision;
  options.quantization.ops = parse_list(given.ops);
  options.quantization.parallel = pool.runner();
  options.gates.limit = given.limit;
  options.gates.threshold = given.threshold;
  options.gates.model = model_options(given.work, given.device);
  if (!given.work.quiet) options.progress = [](const std::string& text) { note("sam3: " + text); };
  SAM3_RETURN_IF_ERROR(quantize::check(options.quantization));
  SAM3_ASSIGN_OR_RETURN(quantize::SearchResult result,
                        quantize::search_exclusions(given.reference, given.search, cases, options,
                                                    scratch / "search"));
  findings.search.push_back(std::move(result));
  return {};
}

ordered_json to_json(const std::vector<quantize::NodeError>& errors) {
  ordered_json list = ordered_json::array();
  for (const quantize::NodeError& one : errors)
    list.push_back({{"node", one.node}, {"op_type", one.op_type}, {"error", one.error}});
  return list;
}

ordered_json to_json(const quantize::GateResult& gate) {
  ordered_json entry{{"graph", gate.graph}, {"metric", gate.metric},   {"value", gate.value},
                     {"limit", gate.limit}, {"samples", gate.samples}, {"passed", gate.passed()}};
  if (gate.metric == "mask IoU") {
    entry["least"] = gate.least;
    entry["at_least_0.9"] = gate.good;
    entry["prompts"] = gate.prompts;
  } else {
    entry["detections"] = gate.text.detections;
    entry["reference_detections"] = gate.text.truths;
    entry["matches"] = gate.text.matches;
    entry["mask_iou"] = gate.text.mean_mask_iou();
  }
  return entry;
}

ordered_json to_json(const VerifyOptions& given, const Findings& findings) {
  ordered_json document{{"model", given.model}, {"passed", findings.passed()}};
  document["problems"] = findings.problems;
  document["notes"] = findings.notes;
  if (!given.reference.empty()) {
    document["reference"] = given.reference;
    document["gates"] = ordered_json::array();
    for (const auto& gate : findings.gates) document["gates"].push_back(to_json(gate));
  }
  for (const auto& [graph, errors] : findings.layers) document["layers"][graph] = to_json(errors);
  for (const auto& found : findings.search)
    document["search"] = {{"graph", found.graph},
                          {"passed", found.passed},
                          {"value", found.value},
                          {"exclude", found.exclude},
                          {"nodes", to_json(found.nodes)}};
  return document;
}

std::string errors_text(const std::vector<quantize::NodeError>& errors, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < errors.size() && i < most; ++i)
    text += "  " + four_digits(errors[i].error) + "  " + errors[i].node + "\n";
  if (errors.size() > most) text += "  and " + std::to_string(errors.size() - most) + " more\n";
  return text;
}

std::string search_text(const VerifyOptions& given, const quantize::SearchResult& found) {
  constexpr std::size_t kShown = 20;
  std::string text = "\nrelative error of " + found.graph + " with one node quantized\n" +
                     errors_text(found.nodes, kShown);
  if (!found.passed)
    return text + "the gate fails whatever is left out: " + four_digits(found.value) + "\n";
  text += "the gate passes (" + four_digits(found.value) + ") with " +
          std::to_string(found.exclude.size()) + " nodes left as they are\n";
  if (found.exclude.empty()) return text;
  text += "  sam3 quantize IN OUT --precision " + given.precision +
          (given.ops.empty() ? "" : " --ops " + given.ops) + " --graphs " + found.graph +
          " --exclude";
  for (const std::string& node : found.exclude) text += " '" + node + "'";
  return text + "\n";
}

std::string to_text(const VerifyOptions& given, const Findings& findings) {
  std::string text;
  for (const std::string& problem : findings.problems)
    text += "problem: " + one_line(problem) + "\n";
  for (const std::string& one : findings.notes) text += "note: " + one + "\n";
  if (!findings.gates.empty()) {
    text += row({"graph", "metric", "value", "wanted", "samples", ""});
    for (const auto& gate : findings.gates) text += gate_row(gate);
  }
  for (const auto& [graph, errors] : findings.layers)
    text += "\nrelative error behind the layers of " + graph + "\n" +
            errors_text(errors, errors.size());
  for (const auto& found : findings.search) text += search_text(given, found);
  if (given.record && findings.problems.empty())
    text += findings.gates.empty() ? "wrote self_test.json\n"
                                   : "wrote self_test.json, and the gates to quantization.json\n";
  return text + (findings.passed() ? "passed\n" : "FAILED\n");
}

Status run(const VerifyOptions& given, Findings& findings) {
  if (given.reference.empty() && (given.layers || !given.search.empty() || !given.page.empty()))
    return wrong("--layers, --search and --page need --reference");
  if (!given.search.empty() && (given.layers || !given.page.empty() || given.record))
    return wrong("--search goes without --layers, --page and --record");
  std::error_code ignored;
  if (!given.page.empty() && fs::exists(given.page, ignored) && !fs::is_empty(given.page, ignored))
    return wrong("--page " + given.page + ": it is there already; name a new folder");
  const auto precision = quantize::parse_precision(given.precision);
  if (!precision)
    return wrong("--precision: '" + given.precision + "' is not one of " +
                 quantize::precision_names());
  if (!given.page.empty()) SAM3_RETURN_IF_ERROR(make_folder(given.page));
  SAM3_ASSIGN_OR_RETURN(const std::unique_ptr<Scratch> scratch, Scratch::create("sam3-verify"));
  std::vector<quantize::GateCase> cases;
  if (!given.reference.empty() && !fs::is_directory(given.reference, ignored))
    return Error{ErrorCode::kNotFound, "no such folder", given.reference, ""};
  if (!given.reference.empty()) {
    SAM3_ASSIGN_OR_RETURN(cases, read_cases(given, findings));
  }
  SAM3_RETURN_IF_ERROR(check_package(given, findings));
  if (given.reference.empty() || !findings.sound) return {};
  if (given.layers && findings.family != "five-graph")
    return wrong("--layers works with packages of the five-graph family only");
  if (!given.search.empty()) return search(given, *precision, cases, *scratch, findings);
  return compare(given, cases, *scratch, findings);
}

}  // namespace

int run_verify(const VerifyOptions& options) {
  RunOptions log;
  log.quiet = options.work.quiet;
  set_up_log(log);
  Findings findings;
  if (const Status status = run(options, findings); !status) return fail(status.error());
  const int printed = print(
      options.json
          ? to_json(options, findings).dump(1, ' ', false, ordered_json::error_handler_t::replace) +
                "\n"
          : to_text(options, findings));
  return findings.passed() ? printed : kFailed;
}

}  // namespace sam3::cli
