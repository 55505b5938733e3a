#include "convert/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "base/macros.h"

namespace sam3::convert {

namespace {

using Tensors = std::map<std::string, StoredTensor, std::less<>>;
using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit

Error bad(std::string message) { return Error{ErrorCode::kBadData, std::move(message), "", ""}; }

StoredType stored_type(const std::string& name) {
  if (name == "F32") return StoredType::kF32;
  if (name == "F16") return StoredType::kF16;
  if (name == "BF16") return StoredType::kBF16;
  return StoredType::kOther;
}

std::uint64_t type_bytes(StoredType type) { return type == StoredType::kF32 ? 4 : 2; }

std::optional<std::uint64_t> whole_number(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

// One entry of the header.
Result<StoredTensor> parse_entry(const std::string& name, const json& entry,
                                 std::uint64_t data_start, std::uint64_t data_bytes) {
  const std::string what = "tensor '" + name + "'";
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    return bad(what + " lacks dtype, shape or data_offsets");
  const auto begin = whole_number(entry["data_offsets"][0]);
  const auto end = whole_number(entry["data_offsets"][1]);
  if (!begin || !end || *begin > *end || *end > data_bytes)
    return bad(what + " lies at " + shown_json(entry["data_offsets"]) + " of " +
               std::to_string(data_bytes) + " bytes of data");
  StoredTensor tensor;
  for (const json& dim : entry["shape"]) {
    const auto size = whole_number(dim);
    if (!size || *size > (std::uint64_t{1} << 62))
      return bad(what + " has impossible sizes " + shown_json(entry["shape"]));
    tensor.dims.push_back(static_cast<std::int64_t>(*size));
  }
  const auto count = graph::element_count(tensor.dims);
  if (!count) return bad(what + " has impossible sizes " + shown_json(entry["shape"]));
  tensor.type_name = entry["dtype"].get<std::string>();
  tensor.type = stored_type(tensor.type_name);
  tensor.offset = data_start + *begin;
  tensor.bytes = *end - *begin;
  if (tensor.type == StoredType::kOther) return tensor;
  if (*count * type_bytes(tensor.type) != tensor.bytes)
    return bad(what + " has " + std::to_string(tensor.bytes) + " bytes, but its sizes " +
               shown_json(entry["shape"]) + " ask for " +
               std::to_string(*count * type_bytes(tensor.type)));
  return tensor;
}

Status check_overlap(const Tensors& tensors) {
  std::vector<std::pair<const StoredTensor*, const std::string*>> order;
  for (const auto& [name, tensor] : tensors)
    if (tensor.bytes > 0) order.emplace_back(&tensor, &name);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first->offset < b.first->offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const StoredTensor& before = *order[i - 1].first;
    if (before.offset + before.bytes > order[i].first->offset)
      return bad("tensors '" + *order[i - 1].second + "' and '" + *order[i].second +
                 "' lie over each other");
  }
  return {};
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

// Widens the 16-bit values in the second half of `into` to floats over all of it, front to back:
// value i is read before anything is written over it.
void widen(std::span<std::byte> into, StoredType type) {
  const std::size_t count = into.size() / 4;
  const std::byte* from = into.data() + count * 2;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + i * 2, 2);
    const float value = type == StoredType::kF16
                            ? half_to_float(bits)
                            : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
    std::memcpy(into.data() + i * 4, &value, 4);
  }
}

Status read_tensor(const graph::WeightFile& file, const StoredTensor& tensor,
                   std::span<std::byte> into) {
  if (tensor.type == StoredType::kOther)
    return Error{ErrorCode::kUnsupported, "values of type " + tensor.type_name + " are not read",
                 "", ""};
  if (tensor.type == StoredType::kF32) return file.read(tensor.offset, into);
  SAM3_RETURN_IF_ERROR(file.read(tensor.offset, into.subspan(into.size() / 2)));
  widen(into, tensor.type);
  return {};
}

}  // namespace

Result<Tensors> parse_safetensors_header(std::string_view header, std::uint64_t file_bytes) {
  const json root = json::parse(header, nullptr, false);
  if (root.is_discarded() || !root.is_object())
    return bad("the header is no JSON object; this is no safetensors file, or a damaged one");
  const std::uint64_t data_start = kLengthBytes + header.size();
  if (data_start > file_bytes) return bad("the header is longer than the file");
  Tensors tensors;
  for (const auto& [name, entry] : root.items()) {
    if (name == "__metadata__") continue;
    SAM3_ASSIGN_OR_RETURN(StoredTensor tensor,
                          parse_entry(name, entry, data_start, file_bytes - data_start));
    tensors.emplace(name, std::move(tensor));
  }
  SAM3_RETURN_IF_ERROR(check_overlap(tensors));
  return tensors;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  const auto failed = [&](std::string message) {
    return Error{ErrorCode::kBadData, std::move(message), path.string(), ""};
  };
  if (graph::is_lfs_pointer(path))
    return failed(
        "this is a Git LFS pointer, not the file itself; fetch the content with `git lfs pull` or "
        "download the checkpoint again");
  SAM3_ASSIGN_OR_RETURN(graph::WeightFile file, graph::WeightFile::open(path));
  if (file.size() < kLengthBytes)
    return failed("the file has " + std::to_string(file.size()) + " bytes, no safetensors file");
  std::uint64_t length = 0;
  SAM3_RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kMostHeaderBytes || length > file.size() - kLengthBytes)
    return failed("the header would have " + std::to_string(length) + " bytes, the file has " +
                  std::to_string(file.size()) + "; this is no safetensors file, or a cut one");
  std::string header(length, '\0');
  SAM3_RETURN_IF_ERROR(file.read(kLengthBytes, std::as_writable_bytes(std::span(header))));
  auto tensors = parse_safetensors_header(header, file.size());
  if (!tensors) return failed(tensors.error().message);
  return SafetensorsFile(std::move(file), *std::move(tensors));
}

graph::Weight SafetensorsFile::weight(const StoredTensor& tensor) const {
  return {graph::ElementType::kFloat, tensor.dims,
          [file = file_, tensor](std::span<std::byte> into) -> Status {
            return read_tensor(file, tensor, into);
          }};
}

}  // namespace sam3::convert
