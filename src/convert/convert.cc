#include "convert/convert.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/macros.h"

namespace sam3::convert {

namespace fs = std::filesystem;

std::vector<GraphRecipe> graph_recipes(const Config& config, const WeightSource& source,
                                       const ConvertOptions& options) {
  std::vector<GraphRecipe> recipes;
  const auto add = [&](const std::string& name, auto build) {
    const fs::path file = options.family == Family::kFiveGraph ? fs::path(name) / "model.onnx"
                                                               : fs::path(name + ".onnx");
    recipes.push_back({name, file, std::move(build)});
  };
  if (options.family == Family::kBrowser) {
    add("sam3_image_encoder", [&] { return build_browser_image_encoder(config, source); });
    add("sam3_language_encoder", [&] { return build_browser_language_encoder(config, source); });
    add("sam3_decoder", [&] { return build_browser_decoder(config, source); });
    return recipes;
  }
  GraphOptions graphs = options.graphs;
  graphs.free_prompt_length = options.exemplars;
  add("vision_encoder", [&] { return build_vision_encoder(config, source); });
  add("text_encoder", [&] { return build_text_encoder(config, source); });
  add("detector", [&, graphs] { return build_detector(config, source, graphs); });
  add("tracker_vision_encoder",
      [&, graphs] { return build_tracker_vision_encoder(config, source, graphs); });
  add("prompt_decoder", [&] { return build_prompt_decoder(config, source); });
  if (options.exemplars)
    add("geometry_encoder", [&] { return build_geometry_encoder(config, source); });
  return recipes;
}

Status write_graphs(const Config& config, const WeightSource& source, const ConvertOptions& options,
                    const fs::path& folder) {
  for (const GraphRecipe& recipe : graph_recipes(config, source, options)) {
    const auto failed = [&](Error error) {
      error.graph = error.graph.empty() ? recipe.name : recipe.name + ": " + error.graph;
      return error;
    };
    auto model = recipe.build();
    if (!model) return failed(model.error());
    if (options.transform)
      if (Status status = options.transform(recipe.name, *model); !status)
        return failed(status.error());
    const fs::path file = folder / recipe.file;
    std::error_code code;
    fs::create_directories(file.parent_path(), code);
    const auto written = model->write(file);
    if (!written) return failed(written.error());
    if (options.progress) options.progress(recipe.name, *written);
  }
  return {};
}

Status write_description(const Config& config, Family family, const Description& description,
                         const fs::path& folder) {
  nlohmann::ordered_json json;
  json["format"] = 1;
  json["name"] = description.name;
  json["family"] = family == Family::kFiveGraph ? "five-graph" : "browser";
  json["image_size"] = config.vision.image;
  json["mean"] = {0.5, 0.5, 0.5};
  json["std"] = {0.5, 0.5, 0.5};
  json["licence"] = description.licence;
  json["provenance"] = description.provenance;
  const fs::path path = folder / "model.json";
  std::ofstream file(path);
  file << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) return Error{ErrorCode::kRuntime, "cannot be written", path.string(), ""};
  return {};
}

}  // namespace sam3::convert
