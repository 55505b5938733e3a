// Names of devices and what the loaded ONNX Runtime has for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::runtime {

// A device as the user asks for it: "cpu", "auto", "cuda", "cuda:1", …
struct DeviceRequest {
  std::string name = "auto";
  int index = 0;
};

// kInvalidArgument for an unknown name or index; the message lists the known names.
Result<DeviceRequest> parse_device(std::string_view text);

// All names that parse_device accepts, "auto" first.
std::vector<std::string> device_names();

// ONNX Runtime's name of the execution provider behind a device name; "" for "auto".
std::string provider_of(std::string_view device);

}  // namespace sam3::runtime
