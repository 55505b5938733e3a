// sam3 inspect: what the program makes of a model, a prompt, or a picture.
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/utf8.h"
#include "checksum/sha256.h"
#include "commands.h"
#include "common.h"
#include "formats/npy.h"
#include "self_test.h"

namespace sam3::cli {
namespace {

using nlohmann::ordered_json;

// Strings of any bytes become valid JSON.
std::string dump(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json to_json(const GraphInfo& graph) {
  return {{"name", graph.name},     {"file", graph.file},      {"producer", graph.producer},
          {"opset", graph.opset},   {"nodes", graph.nodes},    {"weight_bytes", graph.weight_bytes},
          {"inputs", graph.inputs}, {"outputs", graph.outputs}};
}

ordered_json to_json(const ModelInfo& info) {
  ordered_json document{{"folder", info.folder},         {"name", info.name},
                        {"family", info.family},         {"workflows", info.workflows},
                        {"image_size", info.image_size}, {"text_length", info.text_length},
                        {"queries", info.queries},       {"mask_bits", info.mask_bits},
                        {"problems", info.problems},     {"graphs", ordered_json::array()}};
  for (const GraphInfo& graph : info.graphs) document["graphs"].push_back(to_json(graph));
  return document;
}

std::string to_text(const ModelInfo& info) {
  std::string text = "model      " + info.name + " (" + info.folder + ")\nfamily     " +
                     info.family + "\nworkflows ";
  for (const std::string& workflow : info.workflows) text += " " + workflow;
  text += "\npicture    " + std::to_string(info.image_size) + " x " +
          std::to_string(info.image_size) + " pixels\nprompt     " +
          std::to_string(info.text_length) + " tokens\n";
  if (info.queries > 0) text += "queries    " + std::to_string(info.queries) + "\n";
  if (!info.mask_bits.empty()) text += "mask bits  " + info.mask_bits + "\n";
  for (const GraphInfo& graph : info.graphs) {
    text += "\n" + graph.name + ": " + graph.producer + ", opset " + std::to_string(graph.opset) +
            ", " + std::to_string(graph.nodes) + " nodes, " + std::to_string(graph.weight_bytes) +
            " bytes of weights\n";
    for (const std::string& input : graph.inputs) text += "  in   " + input + "\n";
    for (const std::string& output : graph.outputs) text += "  out  " + output + "\n";
  }
  for (const std::string& problem : info.problems) text += "\nproblem: " + problem + "\n";
  return text;
}

int inspect_model(const InspectOptions& options) {
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  auto info = model->info();
  if (!info.ok()) return fail(info.error());
  if (options.verify) {
    const auto problems = checksum_problems(info->folder);
    info->problems.insert(info->problems.end(), problems.begin(), problems.end());
  }
  const int printed = print(options.json ? dump(to_json(*info)) : to_text(*info));
  return info->problems.empty() ? printed : kFailed;
}

int inspect_tokens(const InspectOptions& options) {
  if (options.arguments.size() != 1)
    return usage("inspect tokens takes one prompt, not " +
                 std::to_string(options.arguments.size()));
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  const auto tokens = model->tokenize(options.arguments[0]);
  if (!tokens.ok()) return fail(tokens.error());
  if (!tokens->dropped.empty() && !options.run.quiet)
    note("sam3: the prompt is too long; this part does not fit: " + tokens->dropped.substr(0, 200) +
         (tokens->dropped.size() > 200 ? " …" : ""));
  if (options.json) {
    return print(
        dump({{"ids", tokens->ids}, {"mask", tokens->mask}, {"dropped", tokens->dropped}}));
  }
  std::string text = "ids ";
  for (const std::int64_t id : tokens->ids) text += " " + std::to_string(id);
  text += "\nmask";
  for (const std::int64_t bit : tokens->mask) text += " " + std::to_string(bit);
  return print(text + "\n");
}

int write_input(const InspectOptions& options, const Picture& picture) {
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  const auto input = model->model_input(picture);
  if (!input.ok()) return fail(input.error());
  const auto info = model->info();
  if (!info.ok()) return fail(info.error());
  const std::array<std::int64_t, 3> shape{3, info->image_size, info->image_size};
  const Status written = formats::write_npy(options.input, shape, std::span<const float>(*input));
  return written.ok() ? kDone : fail(written.error());
}

int inspect_pixels(const InspectOptions& options) {
  if (options.arguments.empty()) return usage("inspect pixels takes a picture and positions x,y");
  const std::string& file = options.arguments[0];
  std::vector<std::pair<int, int>> positions;
  const auto loaded = read_picture(file, read_options(options.run));
  if (!loaded.ok()) return fail(loaded.error());
  const Picture& picture = loaded->picture;
  if (!options.run.quiet)
    for (const std::string& warning : loaded->warnings) note("sam3: " + file + ": " + warning);
  for (std::size_t i = 1; i < options.arguments.size(); ++i) {
    const auto point = parse_point(options.arguments[i]);
    if (!point.ok()) return fail(point.error());
    const bool inside =
        point->x >= 0 && point->y >= 0 && point->x < picture.width() && point->y < picture.height();
    if (!inside)
      return usage("the position " + options.arguments[i] + " lies outside the picture of " +
                   std::to_string(picture.width()) + "x" + std::to_string(picture.height()) +
                   " pixels");
    positions.emplace_back(static_cast<int>(point->x), static_cast<int>(point->y));
  }
  ordered_json pixels = ordered_json::array();
  std::string text =
      std::to_string(picture.width()) + "x" + std::to_string(picture.height()) + "\n";
  for (const auto& [x, y] : positions) {
    const std::uint8_t* pixel = picture.row(y) + std::size_t{3} * static_cast<std::size_t>(x);
    pixels.push_back({pixel[0], pixel[1], pixel[2]});
    text += std::to_string(x) + "," + std::to_string(y) + ": " + std::to_string(pixel[0]) + " " +
            std::to_string(pixel[1]) + " " + std::to_string(pixel[2]) + "\n";
  }
  ordered_json document{
      {"width", picture.width()}, {"height", picture.height()}, {"pixels", pixels}};
  if (!loaded->warnings.empty()) document["warnings"] = loaded->warnings;
  const int printed = print(options.json ? dump(document) : text);
  return options.input.empty() || printed != kDone ? printed : write_input(options, picture);
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  set_up_log(options.run);
  if (!options.input.empty() && options.what != "pixels")
    return usage("--input goes with inspect pixels only");
  if (options.verify && options.what != "model")
    return usage("--verify goes with inspect model only");
  if (options.what == "model") return inspect_model(options);
  if (options.what == "tokens") return inspect_tokens(options);
  if (options.what == "pixels") return inspect_pixels(options);
  return usage("inspect knows model, tokens and pixels, not '" + options.what + "'");
}

}  // namespace sam3::cli
