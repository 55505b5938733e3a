#include "convert/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/macros.h"

namespace sam3::convert {

namespace fs = std::filesystem;

namespace {

std::string sizes_text(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

// The files that an index names, each once.
Result<std::set<std::string>> read_index(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto root = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [&](std::string message) {
    return Error{ErrorCode::kBadData, std::move(message), path.string(), ""};
  };
  if (!root.is_object() || !root.contains("weight_map") || !root["weight_map"].is_object())
    return bad("not an index of safetensors files: no weight_map");
  std::set<std::string> names;
  for (const auto& [key, value] : root["weight_map"].items()) {
    if (!value.is_string()) return bad("the file of tensor '" + key + "' is no string");
    const auto name = value.get<std::string>();
    if (name.empty() || fs::path(name).filename() != fs::path(name))
      return bad("'" + name + "' is no name of a file in the same folder");
    names.insert(name);
  }
  return names;
}

std::uint64_t mix(std::uint64_t x) {  // splitmix64, finaliser
  x ^= x >> 30U;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27U;
  x *= 0x94D049BB133111EBU;
  return x ^ x >> 31U;
}

// Nearly normal, mean 0 and deviation 1: the sum of four uniform values of 16 bits.
float nearly_normal(std::uint64_t bits) {
  constexpr double kMean = 2.0 * 65535;
  static const double kScale = std::sqrt(3.0) / 65536;
  const std::uint64_t sum =
      (bits & 0xFFFFU) + (bits >> 16U & 0xFFFFU) + (bits >> 32U & 0xFFFFU) + (bits >> 48U);
  return static_cast<float>((static_cast<double>(sum) - kMean) * kScale);
}

// Index of the first infinity or NaN.
std::optional<std::size_t> find_not_finite(std::span<const std::byte> floats) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  for (std::size_t i = 0; i < floats.size() / 4; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats.data() + i * 4, 4);
    if ((bits & kExponent) == kExponent) return i;
  }
  return std::nullopt;
}

// The weight, whose reading fails if it holds infinity or NaN.
graph::Weight finite(graph::Weight weight, const std::string& key, const fs::path& folder) {
  weight.read = [read = std::move(weight.read), key, folder](std::span<std::byte> into) -> Status {
    SAM3_RETURN_IF_ERROR(read(into));
    const auto at = find_not_finite(into);
    if (!at) return {};
    return Error{ErrorCode::kBadData,
                 "value " + std::to_string(*at) + " of tensor '" + key +
                     "' is infinity or NaN; the checkpoint is damaged",
                 folder.string(), ""};
  };
  return weight;
}

bool ends_with_any(std::string_view key, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends)
    if (key.ends_with(end)) return true;
  return false;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const fs::path& folder) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Error{ErrorCode::kNotFound, "no such folder", folder.string(), ""};
  std::set<std::string> names = {"model.safetensors"};
  const fs::path index = folder / "model.safetensors.index.json";
  if (!fs::exists(folder / "model.safetensors", ignored)) {
    if (!fs::exists(index, ignored))
      return Error{ErrorCode::kNotFound,
                   "neither model.safetensors nor model.safetensors.index.json is there; a "
                   "checkpoint of facebook/sam3 has one of them",
                   folder.string(), ""};
    SAM3_ASSIGN_OR_RETURN(names, read_index(index));
  }
  for (const std::string& name : names) {
    SAM3_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(folder / name));
    checkpoint.files_.push_back(std::move(file));
  }
  return checkpoint;
}

std::string Checkpoint::holds_text() const {
  std::size_t count = 0;
  for (const SafetensorsFile& file : files_) count += file.tensors().size();
  if (count == 0) return "; it is empty";
  const auto has = [&](std::string_view start) {
    return std::any_of(files_.begin(), files_.end(), [&](const SafetensorsFile& file) {
      const auto at = file.tensors().lower_bound(start);
      return at != file.tensors().end() && at->first.starts_with(start);
    });
  };
  std::string missing;
  for (const char* part : {"detector_model.", "tracker_model.", "tracker_neck."})
    if (!has(part)) missing += (missing.empty() ? "" : ", ") + std::string(part) + "*";
  return missing.empty() ? "" : "; of " + std::to_string(count) + " tensors none is " + missing;
}

Result<graph::Weight> Checkpoint::find(const std::string& key,
                                       const std::vector<std::int64_t>& dims) const {
  constexpr std::string_view kTracker = "tracker_model.";
  const std::string doubled =
      key.starts_with(kTracker) ? std::string(kTracker) + key : std::string();
  for (const SafetensorsFile& file : files_) {
    auto found = file.tensors().find(key);
    if (found == file.tensors().end() && !doubled.empty()) found = file.tensors().find(doubled);
    if (found == file.tensors().end()) continue;
    if (found->second.dims != dims)
      return Error{ErrorCode::kBadData,
                   "tensor '" + key + "' has sizes " + sizes_text(found->second.dims) +
                       ", but config.json asks for " + sizes_text(dims),
                   folder_.string(), ""};
    if (found->second.type == StoredType::kOther)
      return Error{ErrorCode::kUnsupported,
                   "tensor '" + key + "' is of type " + found->second.type_name +
                       "; those of a checkpoint are F32, F16 or BF16",
                   folder_.string(), ""};
    return finite(file.weight(found->second), key, folder_);
  }
  return Error{ErrorCode::kNotFound, "the checkpoint has no tensor '" + key + "'" + holds_text(),
               folder_.string(), ""};
}

Result<graph::Weight> RandomWeights::find(const std::string& key,
                                          const std::vector<std::int64_t>& dims) const {
  float mean = 0;
  float deviation = 0.02F;
  if (key.find("norm") != std::string::npos) {
    mean = key.ends_with(".weight") ? 1.0F : 0.0F;
    deviation = 0;
  } else if (key.ends_with(".bias")) {
    deviation = 0;
  } else if (ends_with_any(key, {"positional_embedding", "reference_points.weight"})) {
    deviation = 1;
  }
  std::uint64_t start = mix(seed_ + 0x9E3779B97F4A7C15U);
  for (const char c : key) start = mix(start ^ static_cast<unsigned char>(c));
  return graph::Weight{graph::ElementType::kFloat, dims, [=](std::span<std::byte> into) -> Status {
                         const std::size_t count = into.size() / sizeof(float);
                         for (std::size_t i = 0; i < count; ++i) {
                           float value = mean;
                           if (deviation > 0)
                             value +=
                                 deviation * nearly_normal(mix(start + i * 0x9E3779B97F4A7C15U));
                           std::memcpy(into.data() + i * sizeof value, &value, sizeof value);
                         }
                         return {};
                       }};
}

}  // namespace sam3::convert
