// quantization.json: what was done to a package, and the checksums of its files.
#pragma once

#include <filesystem>
#include <vector>

#include "quantize/package.h"
#include "sam3/result.h"

namespace sam3::quantize {

// Writes `folder`/quantization.json about all files in `folder`. `source` is the package that it
// was made from: what its own record says of checkpoint and export is carried over.
Status write_record(const std::filesystem::path& folder, const std::filesystem::path& source,
                    const std::vector<GraphResult>& graphs, const PackageOptions& options);

}  // namespace sam3::quantize
