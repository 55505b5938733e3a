#include "self_test.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "checksum/sha256.h"
#include "formats/write_json.h"
#include "made_up_picture.h"

namespace sam3::cli {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t kRecorded = 3;  // detections with the highest scores
// What other devices and roundings may change: between vector units, which add floats in another
// order, int8 graphs of the demo model moved a score by 0.07.
constexpr double kScoreTolerance = 0.1;
constexpr double kBoxTolerance = 0.02;   // of the picture's longer side
constexpr double kAreaTolerance = 0.01;  // of the picture

// The entries whose files are there: a package of one workflow has no tokenizer, say. What a
// workflow needs is checked with its graphs.
json present(const json& recorded, const fs::path& folder) {
  json found = json::object();
  std::error_code ignored;
  for (const auto& [file, entry] : recorded.items())
    if (fs::exists(folder / file, ignored)) found[file] = entry;
  return found;
}

// Compares the files of one folder with `recorded`: {"name": {"bytes", "sha256"}}.
void check_files(const fs::path& folder, const json& recorded, std::vector<std::string>& problems) {
  for (const auto& [file, entry] : recorded.items()) {
    const fs::path path = folder / file;
    const bool known = entry.is_object() && entry.contains("sha256") && entry["sha256"].is_string();
    const std::string wanted = known ? entry["sha256"].get<std::string>() : "none that is recorded";
    const auto sum = sha256_of_file(path);
    if (!sum.ok())
      problems.push_back(sum.error().to_string());
    else if (*sum != wanted)
      problems.push_back(path.string() + " has the SHA-256 " + *sum + " instead of " + wanted);
  }
}

Result<ordered_json> ask_text(const Model& model, const Picture& picture) {
  SAM3_ASSIGN_OR_RETURN(const ImageFeatures features, model.encode_image(picture));
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model.info());
  DetectOptions options;
  // The browser family cannot go lower than the threshold in its graph.
  options.threshold = info.family == "browser" ? 0.5 : 0;
  SAM3_ASSIGN_OR_RETURN(const std::vector<Detection> found,
                        model.detect(features, kMadeUpPrompt, options));
  ordered_json answers = ordered_json::array();
  for (const Detection& one : found) {
    if (answers.size() == kRecorded) break;
    answers.push_back({{"query", one.query},
                       {"score", one.score},
                       {"box", {one.box.x0, one.box.y0, one.box.x1, one.box.y1}},
                       {"area", one.mask().area()}});
  }
  return answers;
}

Result<ordered_json> ask_point(const Model& model, const Picture& picture) {
  SAM3_ASSIGN_OR_RETURN(const ImageEmbeddings embeddings, model.embed_image(picture));
  PointPrompt prompt;
  prompt.positive = {kMadeUpPoint};
  SAM3_ASSIGN_OR_RETURN(const Selection selection, model.segment(embeddings, prompt));
  return ordered_json{{"iou", selection.iou},
                      {"object_score", selection.object_score},
                      {"area", selection.mask().area()}};
}

// What the workflows that the package has answer: {"text"?, "point"?}.
Result<ordered_json> ask(const Model& model) {
  SAM3_ASSIGN_OR_RETURN(const ModelInfo info, model.info());
  const Picture picture = made_up_picture();
  ordered_json answers = ordered_json::object();
  for (const std::string& workflow : info.workflows) {
    SAM3_ASSIGN_OR_RETURN(answers[workflow], workflow == "text" ? ask_text(model, picture)
                                                                : ask_point(model, picture));
  }
  return answers;
}

class Comparison {
 public:
  explicit Comparison(Size picture)
      : side_(std::max(picture.width, picture.height)),
        pixels_(static_cast<double>(picture.width) * picture.height) {}

  void text(const json& recorded, const json& now) {
    for (const json& wanted : recorded) {
      const auto query = wanted.at("query").get<int>();
      const auto found = std::find_if(now.begin(), now.end(),
                                      [&](const json& one) { return one.at("query") == query; });
      const std::string what = "query " + std::to_string(query);
      if (found == now.end()) {
        // Its place among the best may go to one with nearly the same score.
        const double last = now.empty() ? 0 : now.back().at("score").get<double>();
        number(what + ": score", wanted.at("score").get<double>(), last, kScoreTolerance);
        continue;
      }
      number(what + ": score", wanted.at("score"), found->at("score"), kScoreTolerance);
      for (std::size_t i = 0; i < 4; ++i)
        number(what + ": box", wanted.at("box").at(i), found->at("box").at(i),
               kBoxTolerance * side_);
      number(what + ": mask area", wanted.at("area"), found->at("area"), kAreaTolerance * pixels_);
    }
  }

  void point(const json& recorded, const json& now) {
    number("click: predicted IoU", recorded.at("iou"), now.at("iou"), kScoreTolerance);
    number("click: object score", recorded.at("object_score"), now.at("object_score"),
           kScoreTolerance);
    number("click: mask area", recorded.at("area"), now.at("area"), kAreaTolerance * pixels_);
  }

  std::vector<std::string> problems;

 private:
  void number(const std::string& what, double recorded, double now, double tolerance) {
    if (std::fabs(recorded - now) <= tolerance) return;
    problems.push_back("self-test: " + what + " is " + std::to_string(now) + ", recorded was " +
                       std::to_string(recorded));
  }

  double side_;
  double pixels_;
};

// Adds a file to those that quantization.json lists, if there is such a record.
Status list_in_record(const fs::path& folder, const fs::path& file) {
  const fs::path path = folder / "quantization.json";
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  ordered_json record = ordered_json::parse(stream, nullptr, false);
  stream.close();
  if (!record.is_object() || (record.contains("files") && !record["files"].is_object())) return {};
  SAM3_ASSIGN_OR_RETURN(const std::string sum, sha256_of_file(file));
  record["files"][file.filename().string()] = {{"bytes", fs::file_size(file)}, {"sha256", sum}};
  return formats::write_json(path, record);
}

}  // namespace

std::vector<std::string> checksum_problems(const fs::path& folder) {
  std::ifstream stream(folder / "quantization.json", std::ios::binary);
  if (!stream) return {"the package has no quantization.json to verify its files with"};
  const json record = json::parse(stream, nullptr, false);
  if (!record.is_object() || !record.contains("graphs") || !record["graphs"].is_object())
    return {"quantization.json lists no graphs"};
  std::vector<std::string> problems;
  for (const auto& [graph, entry] : record["graphs"].items()) {
    if (!entry.is_object() || !entry.contains("files") || !entry["files"].is_object()) continue;
    // A package may hold the graphs of one workflow only.
    std::error_code ignored;
    if (fs::exists(folder / graph, ignored)) check_files(folder / graph, entry["files"], problems);
  }
  // Graphs that lie in the package itself, tokenizer and description.
  if (record.contains("files") && record["files"].is_object())
    check_files(folder, present(record["files"], folder), problems);
  return problems;
}

Status record_self_test(const Model& model, const fs::path& folder) {
  SAM3_ASSIGN_OR_RETURN(ordered_json answers, ask(model));
  const ordered_json document{{"picture", "a red square on a smooth ground, made by the program"},
                              {"prompt", kMadeUpPrompt},
                              {"version", version()},
                              {"answers", answers}};
  const fs::path path = folder / "self_test.json";
  SAM3_RETURN_IF_ERROR(formats::write_json(path, document));
  return list_in_record(folder, path);
}

Result<std::vector<std::string>> self_test_problems(const Model& model, const fs::path& folder) {
  const fs::path path = folder / "self_test.json";
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{ErrorCode::kNotFound, "no recorded answers", path.string(), ""};
  const json document = json::parse(stream, nullptr, false);
  if (!document.is_object() || !document.contains("answers") || !document["answers"].is_object() ||
      document["answers"].empty())
    return Error{ErrorCode::kBadData, "damaged: it holds no answers", path.string(), ""};
  SAM3_ASSIGN_OR_RETURN(const ordered_json now, ask(model));
  try {
    Comparison comparison(made_up_picture().size());
    for (const auto& [workflow, recorded] : document.at("answers").items()) {
      if (!now.contains(workflow)) continue;  // only the other workflow is here
      if (workflow == "text")
        comparison.text(recorded, now.at(workflow));
      else
        comparison.point(recorded, now.at(workflow));
    }
    return comparison.problems;
  } catch (const json::exception& error) {
    return Error{ErrorCode::kBadData, std::string("damaged: ") + error.what(), path.string(), ""};
  }
}

}  // namespace sam3::cli
