// Reads safetensors files: a header that says where each tensor lies, and the tensors.
// Source: the format's description in the repository huggingface/safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/editable_model.h"
#include "sam3/result.h"

namespace sam3::convert {

enum class StoredType { kF32, kF16, kBF16, kOther };

struct StoredTensor {
  StoredType type = StoredType::kF32;
  std::string type_name;  // as the file has it
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
};

class SafetensorsFile {
 public:
  // Reads and checks the header. kBadData for a Git LFS pointer and for anything that is not as the
  // format asks: sizes that do not fit the bytes, places beyond the file or over each other.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
  // The tensor as float; one of type kOther cannot be read (kUnsupported). The file stays open as
  // long as the weight.
  graph::Weight weight(const StoredTensor& tensor) const;

 private:
  SafetensorsFile(graph::WeightFile file, std::map<std::string, StoredTensor, std::less<>> tensors)
      : file_(std::move(file)), tensors_(std::move(tensors)) {}

  graph::WeightFile file_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

// The tensors of a header of a file with `file_bytes` bytes, for SafetensorsFile and for tests.
// `header` is the JSON text; offsets become places in the file.
Result<std::map<std::string, StoredTensor, std::less<>>> parse_safetensors_header(
    std::string_view header, std::uint64_t file_bytes);

}  // namespace sam3::convert
