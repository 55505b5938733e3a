// An ONNX model that can be changed and written, whose weights are read only when they are written:
// the largest of them needs memory, never all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model_file.h"
#include "onnx-ml.pb.h"
#include "sam3/result.h"

namespace sam3::graph {

// Bytes of one element; 0 for types that are not listed in ElementType.
std::size_t element_bytes(ElementType type);

// The number of elements, or nothing for a negative size or a product beyond 2^62.
std::optional<std::uint64_t> element_count(std::span<const std::int64_t> dims);

// Where bytes lie that need not be copied.
struct Place {
  std::string location;  // file, as the model names it
  std::uint64_t offset = 0;
};

// The values of an initializer, row-major and little-endian, made when they are asked for.
struct Weight {
  ElementType type = ElementType::kUndefined;
  std::vector<std::int64_t> dims;
  // Fills bytes() bytes. May be called more than once, and from several threads.
  std::function<Status(std::span<std::byte>)> read;
  // Of a weight as it came with its model: its place outside the model file, if it lies there.
  std::optional<Place> place = std::nullopt;

  std::uint64_t bytes() const;
};

// A weight that holds its values.
Weight make_weight(ElementType type, std::vector<std::int64_t> dims, std::string bytes);
template <typename T>
Weight make_weight(ElementType type, std::vector<std::int64_t> dims, const std::vector<T>& values) {
  return make_weight(
      type, std::move(dims),
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

// The values of a weight as T, whose size must be that of the elements.
template <typename T>
Result<std::vector<T>> read_values(const Weight& weight) {
  std::vector<T> values(weight.bytes() / sizeof(T));
  if (Status status = weight.read(std::as_writable_bytes(std::span(values))); !status)
    return status.error();
  return values;
}

// A file that weights lie in, opened once.
class WeightFile {
 public:
  static Result<WeightFile> open(const std::filesystem::path& path);
  std::uint64_t size() const;
  // kBadData if [offset, offset + into.size()) is not in the file.
  Status read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  struct State;
  explicit WeightFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

struct WrittenModel {
  std::uint64_t model_bytes = 0;
  std::uint64_t weight_bytes = 0;
};

struct EditableModel {
  // Without initializers in the main graph: those are in `weights`.
  onnx::ModelProto proto;
  std::map<std::string, Weight, std::less<>> weights;

  // Errors of ModelFile::read and check_external_files; kBadData for a weight whose sizes or
  // place in its file make no sense, and for nodes that check_order refuses.
  static Result<EditableModel> read(const std::filesystem::path& path);
  static Result<EditableModel> from(const ModelFile& file);

  // Writes `path` and, beside it, `path`.data with all weights of at least 1 KiB, one after the
  // other. Neither may exist. A failed call leaves neither behind.
  Result<WrittenModel> write(const std::filesystem::path& path) const;

  // The model as bytes. Weights that have a place are referred to, in the file that
  // `locations` gives for its name (or by that name); all others are in the bytes.
  Result<std::string> serialize(const std::map<std::string, std::string>& locations) const;
};

// kBadData if the nodes of a graph need each other in a circle or a value that nothing makes, or
// make one that is there already, and if an input or an output is declared twice.
Status check_order(const onnx::GraphProto& graph, const EditableModel& model);

}  // namespace sam3::graph
