#include "quantize/gates.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/macros.h"

namespace sam3::quantize {

namespace fs = std::filesystem;

namespace {

constexpr double kGoodIou = 0.9;
constexpr std::array kTextGraphs{"vision_encoder",     "text_encoder",          "detector",
                                 "sam3_image_encoder", "sam3_language_encoder", "sam3_decoder"};
constexpr std::array kPointGraphs{"tracker_vision_encoder", "prompt_decoder"};

struct TextAnswer {
  std::string prompt;
  std::vector<Detection> detections;
  std::vector<Mask> masks;
};

struct PictureAnswers {
  std::vector<TextAnswer> text;
  std::vector<Mask> points;
};

Result<std::vector<TextAnswer>> ask_text(const Model& model, const GateCase& one,
                                         double threshold) {
  SAM3_ASSIGN_OR_RETURN(const ImageFeatures features, model.encode_image(one.picture));
  DetectOptions options;
  options.threshold = threshold;
  std::vector<TextAnswer> answers;
  for (const std::string& prompt : one.prompts) {
    TextAnswer answer{prompt, {}, {}};
    SAM3_ASSIGN_OR_RETURN(answer.detections, model.detect(features, prompt, options));
    for (const Detection& found : answer.detections) answer.masks.push_back(found.mask());
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<std::vector<Mask>> ask_points(const Model& model, const Picture& picture,
                                     const std::vector<GatePoint>& points) {
  SAM3_ASSIGN_OR_RETURN(const ImageEmbeddings embeddings, model.embed_image(picture));
  std::vector<Mask> masks;
  for (const GatePoint& point : points) {
    SAM3_ASSIGN_OR_RETURN(const Selection selection, model.segment(embeddings, point.prompt));
    masks.push_back(selection.mask());
  }
  return masks;
}

std::vector<eval::Instance> instances(const TextAnswer& answer) {
  std::vector<eval::Instance> result;
  for (std::size_t i = 0; i < answer.detections.size(); ++i)
    result.push_back({answer.detections[i].box, &answer.masks[i],
                      static_cast<double>(answer.detections[i].score), 0});
  return result;
}

void keep_worst(GateResult& result, GateDifference difference, std::size_t most) {
  if (difference.score >= 1) return;
  result.worst.push_back(std::move(difference));
  std::stable_sort(result.worst.begin(), result.worst.end(),
                   [](const auto& a, const auto& b) { return a.score < b.score; });
  if (result.worst.size() > most) result.worst.pop_back();
}

// "4 pictures, 92 prompts"
std::string samples_text(std::size_t pictures, std::int64_t prompts) {
  return std::to_string(pictures) + (pictures == 1 ? " picture, " : " pictures, ") +
         std::to_string(prompts) + (prompts == 1 ? " prompt" : " prompts");
}

class Gates {
 public:
  Gates(const fs::path& candidate, const fs::path& reference, const std::vector<GateCase>& cases,
        const GateOptions& options, const fs::path& scratch)
      : candidate_(candidate),
        reference_(reference),
        cases_(cases),
        options_(options),
        scratch_(scratch) {}

  Result<std::vector<GateResult>> run() {
    SAM3_RETURN_IF_ERROR(find_graphs());
    SAM3_RETURN_IF_ERROR(ask_reference());
    SAM3_RETURN_IF_ERROR(run_workflow(text_graphs_, "text graphs"));
    SAM3_RETURN_IF_ERROR(run_workflow(point_graphs_, "point graphs"));
    return std::move(results_);
  }

 private:
  static bool has(const fs::path& package, const std::string& graph) {
    std::error_code ignored;
    return fs::exists(package / graph / "model.onnx", ignored) ||
           fs::exists(package / (graph + ".onnx"), ignored);
  }

  Status find_graphs() {
    const auto wanted = [&](const std::string& graph) {
      return options_.graphs.empty() || std::find(options_.graphs.begin(), options_.graphs.end(),
                                                  graph) != options_.graphs.end();
    };
    const auto both = [&](const std::string& graph) {
      return has(candidate_, graph) && has(reference_, graph);
    };
    for (const std::string graph : kTextGraphs)
      if (both(graph) && wanted(graph)) text_graphs_.push_back(graph);
    for (const std::string graph : kPointGraphs)
      if (both(graph) && wanted(graph)) point_graphs_.push_back(graph);
    for (const std::string& graph : options_.graphs)
      if (!both(graph))
        return Error{ErrorCode::kInvalidArgument,
                     "the graph '" + graph + "' is not in both packages", "", ""};
    if (text_graphs_.empty() && point_graphs_.empty())
      return Error{ErrorCode::kInvalidArgument, "the two packages have no graph in common",
                   candidate_.string(), ""};
    has_text_ = std::any_of(kTextGraphs.begin(), kTextGraphs.end(),
                            [&](const char* graph) { return has(reference_, graph); });
    std::size_t prompts = 0;
    for (const GateCase& one : cases_) prompts += one.prompts.size();
    if (prompts > 0 || (!has_text_ && !cases_.empty())) return {};
    return Error{ErrorCode::kInvalidArgument, "there is no picture with a prompt to compare by", "",
                 ""};
  }

  Status ask_reference() {
    SAM3_ASSIGN_OR_RETURN(const Model model, Model::open(reference_, options_.model));
    for (const GateCase& one : cases_) {
      PictureAnswers answers;
      if (has_text_) {
        SAM3_ASSIGN_OR_RETURN(answers.text, ask_text(model, one, options_.threshold));
      }
      std::vector<Detection> found;
      for (const TextAnswer& answer : answers.text)
        found.insert(found.end(), answer.detections.begin(), answer.detections.end());
      points_.push_back(has_text_ ? gate_points(one.picture, found) : grid_points(one.picture));
      if (!point_graphs_.empty()) {
        SAM3_ASSIGN_OR_RETURN(answers.points, ask_points(model, one.picture, points_.back()));
      }
      expected_.push_back(std::move(answers));
    }
    return {};
  }

  Status run_workflow(const std::vector<std::string>& graphs, const std::string& together) {
    for (const std::string& graph : graphs) SAM3_RETURN_IF_ERROR(run_gate({graph}, graph));
    return graphs.size() < 2 ? Status() : run_gate(graphs, together);
  }

  Status run_gate(const std::vector<std::string>& swapped, const std::string& name) {
    const fs::path folder = scratch_ / std::to_string(results_.size());
    std::error_code code;
    fs::create_directories(folder, code);
    SAM3_RETURN_IF_ERROR(compose_package(reference_, candidate_, swapped, folder));
    SAM3_ASSIGN_OR_RETURN(const Model model, Model::open(folder, options_.model));
    GateResult result;
    result.graph = name;
    result.limit = options_.limit;
    const bool text =
        std::find(text_graphs_.begin(), text_graphs_.end(), swapped.front()) != text_graphs_.end();
    Status status = text ? compare_text(model, result) : compare_points(model, result);
    if (!status) {
      Error error = status.error();
      error.message = "with " + name + " of the candidate: " + error.message;
      return error;
    }
    if (options_.progress) options_.progress(result);
    results_.push_back(std::move(result));
    return {};
  }

  Status compare_text(const Model& model, GateResult& result) {
    result.metric = "detection F1";
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      SAM3_ASSIGN_OR_RETURN(std::vector<TextAnswer> answers,
                            ask_text(model, cases_[i], options_.threshold));
      for (std::size_t p = 0; p < answers.size(); ++p) {
        const TextAnswer& expected = expected_[i].text[p];
        const eval::MatchCounts counts =
            eval::match_instances(instances(answers[p]), instances(expected)).counts;
        result.text += counts;
        ++result.prompts;
        keep_worst(result,
                   {i, answers[p].prompt, counts.f1(), expected.masks, std::move(answers[p].masks)},
                   options_.worst);
      }
    }
    result.value = result.text.f1();
    result.samples = samples_text(cases_.size(), result.prompts);
    return {};
  }

  Status compare_points(const Model& model, GateResult& result) {
    result.metric = "mask IoU";
    result.least = 1;
    double sum = 0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      SAM3_ASSIGN_OR_RETURN(std::vector<Mask> answers,
                            ask_points(model, cases_[i].picture, points_[i]));
      for (std::size_t p = 0; p < answers.size(); ++p) {
        const Mask& expected = expected_[i].points[p];
        // Two empty masks agree.
        const bool empty = expected.area() == 0 && answers[p].area() == 0;
        const double iou = empty ? 1 : mask_iou(expected, answers[p]);
        sum += iou;
        result.least = std::min(result.least, iou);
        result.good += iou >= kGoodIou;
        ++result.prompts;
        keep_worst(result,
                   {i,
                    points_[i][p].what + " " + std::to_string(p + 1),
                    iou,
                    {expected},
                    {std::move(answers[p])}},
                   options_.worst);
      }
    }
    result.value = result.prompts > 0 ? sum / static_cast<double>(result.prompts) : 1;
    result.samples = samples_text(cases_.size(), result.prompts);
    return {};
  }

  const fs::path candidate_;
  const fs::path reference_;
  const std::vector<GateCase>& cases_;
  const GateOptions& options_;
  const fs::path scratch_;
  bool has_text_ = false;  // the reference
  std::vector<std::string> text_graphs_;
  std::vector<std::string> point_graphs_;
  std::vector<PictureAnswers> expected_;
  std::vector<std::vector<GatePoint>> points_;
  std::vector<GateResult> results_;
};

}  // namespace

std::optional<Point> inner_point(const Mask& mask) {
  const int width = mask.width();
  const int height = mask.height();
  // Steps to the nearest pixel outside; a border of zeros stands for what is beyond the picture.
  const auto stride = static_cast<std::size_t>(width) + 2;
  std::vector<int> steps(stride * (static_cast<std::size_t>(height) + 2));
  const auto index = [&](int x, int y) {
    return static_cast<std::size_t>(y + 1) * stride + static_cast<std::size_t>(x + 1);
  };
  const auto relax = [&](std::size_t at, std::initializer_list<std::size_t> neighbours) {
    for (const std::size_t neighbour : neighbours)
      steps[at] = std::min(steps[at], steps[neighbour] + 1);
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      if (!mask.at(x, y)) continue;
      const std::size_t at = index(x, y);
      steps[at] = width + height;
      relax(at, {at - 1, at - stride - 1, at - stride, at - stride + 1});
    }
  std::optional<Point> best;
  int most = 0;
  for (int y = height - 1; y >= 0; --y)
    for (int x = width - 1; x >= 0; --x) {
      const std::size_t at = index(x, y);
      if (steps[at] == 0) continue;
      relax(at, {at + 1, at + stride - 1, at + stride, at + stride + 1});
      if (steps[at] > most) {
        most = steps[at];
        best = Point{x + 0.5, y + 0.5};
      }
    }
  return best;
}

std::vector<GatePoint> gate_points(const Picture& picture, const std::vector<Detection>& found) {
  std::vector<GatePoint> points;
  const auto click = [&](const char* what, Point at) {
    PointPrompt prompt;
    prompt.positive = {at};
    points.push_back({what, prompt});
  };
  click("centre click", {picture.size().width / 2.0, picture.size().height / 2.0});
  for (const Detection& detection : found) {
    if (const auto inside = inner_point(detection.mask())) click("click inside", *inside);
    const Box& box = detection.box;
    if (box.x1 <= box.x0 || box.y1 <= box.y0) continue;
    PointPrompt prompt;
    prompt.box = box;
    points.push_back({"box", prompt});
  }
  return points;
}

std::vector<GatePoint> grid_points(const Picture& picture) {
  constexpr int kClicks = 4;  // along each axis
  const double width = picture.size().width;
  const double height = picture.size().height;
  std::vector<GatePoint> points;
  for (int row = 0; row < kClicks; ++row)
    for (int column = 0; column < kClicks; ++column) {
      PointPrompt prompt;
      prompt.positive = {{width * (column + 0.5) / kClicks, height * (row + 0.5) / kClicks}};
      points.push_back({"grid click", prompt});
    }
  PointPrompt prompt;
  prompt.box = Box{width / 4, height / 4, width * 3 / 4, height * 3 / 4};
  points.push_back({"middle box", prompt});
  return points;
}

Status compose_package(const fs::path& reference, const fs::path& candidate,
                       const std::vector<std::string>& swapped, const fs::path& folder) {
  const std::set<std::string> graphs(swapped.begin(), swapped.end());
  std::error_code code;
  const auto link_all = [&](const fs::path& package, bool of_swapped) {
    for (const auto& entry : fs::directory_iterator(package, code)) {
      // A graph is a folder, or a file with its data beside it: name.onnx, name.onnx.data.
      std::string name = entry.path().filename().string();
      const bool is_graph_file = name.find(".onnx") != std::string::npos;
      const std::string graph = is_graph_file ? name.substr(0, name.find(".onnx")) : name;
      if (graphs.contains(graph) != of_swapped) continue;
      fs::create_symlink(fs::absolute(entry.path()), folder / name, code);
      if (code) return;
    }
  };
  link_all(reference, false);
  if (!code) link_all(candidate, true);
  if (code)
    return Error{ErrorCode::kRuntime, "links cannot be made: " + code.message(), folder.string(),
                 ""};
  return {};
}

Result<std::vector<GateResult>> run_gates(const fs::path& candidate, const fs::path& reference,
                                          const std::vector<GateCase>& cases,
                                          const GateOptions& options, const fs::path& scratch) {
  return Gates(candidate, reference, cases, options, scratch).run();
}

}  // namespace sam3::quantize
