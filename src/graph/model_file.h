// An ONNX model file as data: what it declares, how its nodes hang together, which files hold its
// weights. Weights outside the file are never read here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace onnx {
class ModelProto;
}

namespace sam3::graph {

// Element types by ONNX's own numbers (TensorProto.DataType).
enum class ElementType {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
};

// "float", "uint8", …; "type 15" for a type that is not listed above.
std::string to_string(ElementType type);

// A declared input or output.
struct ValueInfo {
  std::string name;
  ElementType type = ElementType::kUndefined;
  std::vector<std::int64_t> dims;    // -1 where the size is not a number
  std::vector<std::string> symbols;  // the name of such a size, or ""
  std::string describe() const;      // "pixel_values float[1,3,336,336]"
};

struct Node {
  std::string op_type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// A file with weights: where it must lie, and how long it must be at least.
struct ExternalFile {
  std::string location;        // as written in the model
  std::filesystem::path path;  // beside the model file, links not resolved
  std::uint64_t bytes_needed = 0;
};

class ModelFile {
 public:
  // Reads and parses `path`. Errors: kNotFound; kBadData for a Git LFS pointer, an empty or damaged
  // file, a file that is no ONNX model, or an external data location outside the model's folder.
  static Result<ModelFile> read(const std::filesystem::path& path);
  ~ModelFile();
  ModelFile(ModelFile&&) noexcept;
  ModelFile& operator=(ModelFile&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const onnx::ModelProto& proto() const;
  // Declared inputs that are not initializers, and outputs, in file order.
  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const ValueInfo* find_input(std::string_view name) const;
  const ValueInfo* find_output(std::string_view name) const;
  std::string producer() const;  // exporter's name and version
  std::int64_t opset() const;    // of the default domain; 0 if none
  std::size_t node_count() const;

  // The node that computes `value`, or null for inputs and initializers.
  const Node* producer_of(std::string_view value) const;
  // Values of a numeric initializer or Constant node whose data is inside the model file, looked up
  // through Identity; nothing for anything else.
  std::optional<std::vector<double>> constant(std::string_view value) const;

  const std::vector<ExternalFile>& external_files() const { return external_; }
  // kNotFound or kBadData if a weight file is missing, a Git LFS pointer, or too short; sizes are
  // named in the message.
  Status check_external_files() const;
  // Gives every node of type `op_type` initializers of its own at its inputs `inputs`: a shared one
  // is declared again under another name with the same data (external data is referred to, not
  // copied). Returns how many were added. Nodes keep their results.
  std::size_t unshare_initializers(std::string_view op_type, const std::vector<int>& inputs);

  // The model as bytes in which external data named `location` is looked for under
  // `new_locations[location]`.
  Result<std::string> serialize_with_locations(
      const std::map<std::string, std::string>& new_locations) const;

 private:
  struct Proto;
  ModelFile();
  Status index();

  std::filesystem::path path_;
  std::unique_ptr<Proto> proto_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t, std::less<>> producers_;
  std::vector<ExternalFile> external_;
};

// True if the file starts like a Git LFS pointer.
bool is_lfs_pointer(const std::filesystem::path& path);

}  // namespace sam3::graph
