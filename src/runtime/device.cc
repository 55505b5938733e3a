#include "runtime/device.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sam3::runtime {
namespace {

struct KnownDevice {
  std::string_view name;
  std::string_view provider;
};

constexpr std::array kDevices{
    KnownDevice{"auto", ""},
    KnownDevice{"cpu", "CPUExecutionProvider"},
    KnownDevice{"cuda", "CUDAExecutionProvider"},
    KnownDevice{"tensorrt", "TensorrtExecutionProvider"},
    KnownDevice{"openvino", "OpenVINOExecutionProvider"},
    KnownDevice{"coreml", "CoreMLExecutionProvider"},
    KnownDevice{"directml", "DmlExecutionProvider"},
    KnownDevice{"vulkan", "WebGpuExecutionProvider"},
};

const KnownDevice* find(std::string_view name) {
  const auto* found = std::find_if(kDevices.begin(), kDevices.end(),
                                   [&](const KnownDevice& device) { return device.name == name; });
  return found == kDevices.end() ? nullptr : found;
}

}  // namespace

Result<DeviceRequest> parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  DeviceRequest request{std::string(text.substr(0, colon)), 0};
  bool good = find(request.name) != nullptr;
  if (good && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), request.index);
    good = error == std::errc{} && end == digits.data() + digits.size() && request.index >= 0;
  }
  if (good) return request;
  std::string known;
  for (const KnownDevice& device : kDevices)
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  return Error{ErrorCode::kInvalidArgument,
               "unknown device '" + std::string(text) + "'; known are " + known +
                   ", each with an optional :index",
               "", ""};
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const KnownDevice& device : kDevices) names.emplace_back(device.name);
  return names;
}

std::string provider_of(std::string_view device) {
  const KnownDevice* known = find(device);
  return known ? std::string(known->provider) : "";
}

}  // namespace sam3::runtime
