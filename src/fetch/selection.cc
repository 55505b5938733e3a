// Which of the listed files make a model. The names are those of the published packages
// (Autognosi/sam3-onnx-vulkan and rusen/sam3-browser-int8) and of checkpoints of facebook/sam3.
#include <algorithm>
#include <array>
#include <set>

#include "fetch/listing.h"

namespace sam3::fetch {
namespace {

constexpr std::array<std::string_view, 3> kTextGraphs{"vision_encoder", "text_encoder", "detector"};
constexpr std::array<std::string_view, 2> kPointGraphs{"tracker_vision_encoder", "prompt_decoder"};
// Of the text workflow, but a model without them still answers phrases.
constexpr std::array<std::string_view, 2> kTextFolders{"tokenizer", "geometry_encoder"};
constexpr std::array<std::string_view, 7> kTokenizerFiles{
    "tokenizer.json", "tokenizer_config.json",   "clip_tokenizer.json", "vocab.json",
    "merges.txt",     "special_tokens_map.json", "added_tokens.json"};
constexpr std::array<std::string_view, 5> kPapers{"LICENSE", "LICENCE", "COPYING", "NOTICE",
                                                  "README"};

enum class Part { kText, kPoint, kShared, kWeights, kOther };

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Part part_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view folder = path.substr(0, slash);
    if (contains(kTextGraphs, folder) || contains(kTextFolders, folder)) return Part::kText;
    return contains(kPointGraphs, folder) ? Part::kPoint : Part::kOther;
  }
  if (contains(kTokenizerFiles, path)) return Part::kText;
  // Graphs beside each other are the browser family, which answers phrases only.
  for (const std::string_view ending : {".onnx", ".onnx.data", ".onnx_data"})
    if (path.ends_with(ending)) return Part::kText;
  if (path.ends_with(".safetensors")) return Part::kWeights;
  const bool paper = std::any_of(kPapers.begin(), kPapers.end(),
                                 [&](std::string_view name) { return path.starts_with(name); });
  return paper || path.ends_with(".json") ? Part::kShared : Part::kOther;
}

template <std::size_t N>
std::string missing_graphs(const Listing& listing, const std::array<std::string_view, N>& graphs) {
  std::string missing;
  for (const std::string_view graph : graphs) {
    const std::string path = std::string(graph) + "/model.onnx";
    if (!listing.find(path)) missing += (missing.empty() ? "" : ", ") + path;
  }
  return missing;
}

bool any_file(const Listing& listing, bool (*test)(std::string_view)) {
  return std::any_of(listing.files.begin(), listing.files.end(),
                     [&](const ListedFile& file) { return test(file.path); });
}

Status check_complete(std::optional<Workflow> only, const Listing& listing) {
  const bool browser = any_file(listing, [](std::string_view path) {
    return path.find('/') == std::string_view::npos && path.ends_with(".onnx");
  });
  const bool checkpoint =
      any_file(listing, [](std::string_view path) { return part_of(path) == Part::kWeights; });
  const std::string text = browser ? "" : missing_graphs(listing, kTextGraphs);
  const std::string point = missing_graphs(listing, kPointGraphs);
  const auto refused = [&](const std::string& what, const std::string& missing) -> Status {
    return Error{ErrorCode::kNotFound,
                 "there is no " + what + ": among the files listed, " + missing + " is missing", "",
                 ""};
  };
  if (only == Workflow::kText && !text.empty()) return refused("text workflow", text);
  if (only == Workflow::kPoint && !point.empty()) return refused("point workflow", point);
  if (!only && !text.empty() && !point.empty() && !checkpoint) return refused("SAM 3 model", text);
  return {};
}

}  // namespace

bool is_permissive(std::string_view licence) {
  std::string name(licence);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view known : {"apache license", "mit license", "bsd-", "apache-2"})
    if (name.starts_with(known)) return true;
  const std::set<std::string_view> kWhole{"mit", "bsd", "cc0-1.0", "unlicense", "0bsd", "isc"};
  return kWhole.contains(name);
}

Status select_files(std::optional<Workflow> only, bool strict, Listing& listing) {
  std::erase_if(listing.files, [&](const ListedFile& file) {
    switch (part_of(file.path)) {
      case Part::kText:
        return only == Workflow::kPoint;
      case Part::kPoint:
        return only == Workflow::kText;
      case Part::kShared:
        return false;
      case Part::kWeights:
        return only.has_value();
      case Part::kOther:
        return strict || only.has_value();
    }
    return false;
  });
  return check_complete(only, listing);
}

}  // namespace sam3::fetch
