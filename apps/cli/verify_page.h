// A page with the worst answers of the gates side by side.
#pragma once

#include <filesystem>
#include <vector>

#include "quantize/gates.h"
#include "sam3/result.h"

namespace sam3::cli {

// Writes `folder`/index.html and the pictures that it shows; the folder is made.
Status write_gate_page(const std::filesystem::path& folder,
                       const std::vector<quantize::GateResult>& gates,
                       const std::vector<quantize::GateCase>& cases);

// "0.9820"
std::string four_digits(double value);

}  // namespace sam3::cli
