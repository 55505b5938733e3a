// What a package says about itself, and whether it is so: checksums and recorded answers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sam3/sam3.h"

namespace sam3::cli {

// What differs from the sizes and checksums that quantization.json records, a sentence each.
std::vector<std::string> checksum_problems(const std::filesystem::path& folder);

// Asks the made-up picture and writes the answers to `folder`/self_test.json.
Status record_self_test(const Model& model, const std::filesystem::path& folder);

// Asks it again and compares; a sentence for each difference that rounding on another device cannot
// explain. kNotFound without a self_test.json, kBadData for one that is damaged.
Result<std::vector<std::string>> self_test_problems(const Model& model,
                                                    const std::filesystem::path& folder);

}  // namespace sam3::cli
