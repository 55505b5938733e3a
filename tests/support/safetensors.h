// Reads safetensors files: an 8-byte little-endian header length, a JSON header, then the values.
// For tests only: every fault throws std::runtime_error, which fails the test that caused it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sam3::test {

// One tensor, row-major. `dtype` is the file's own name: F32, F64, I64, I32, U8, I8, BOOL, ...
struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  // Product of the shape; 1 for a scalar.
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
  }

  // The values as T, which must be the type that `dtype` names.
  template <typename T>
  std::vector<T> values() const {
    if (dtype != dtype_of<T>()) throw std::runtime_error("tensor is " + dtype);
    std::vector<T> result(bytes.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

 private:
  template <typename T>
  static std::string dtype_of() {
    if (std::is_same_v<T, float>) return "F32";
    if (std::is_same_v<T, double>) return "F64";
    static_assert(std::is_floating_point_v<T> || std::is_integral_v<T>);
    return (std::is_signed_v<T> ? "I" : "U") + std::to_string(8 * sizeof(T));
  }
};

// All tensors of one file, kept in memory.
class Safetensors {
 public:
  explicit Safetensors(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + ": cannot be opened");
    const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    std::uint64_t header_bytes = 0;
    if (content.size() < sizeof header_bytes) fail("no header");
    std::memcpy(&header_bytes, content.data(), sizeof header_bytes);
    const std::size_t room = content.size() - sizeof header_bytes;
    if (header_bytes > room) fail("header longer than the file");
    const char* header = content.data() + sizeof header_bytes;
    const char* values = header + header_bytes;
    const nlohmann::json entries = nlohmann::json::parse(header, values);
    for (const auto& [name, entry] : entries.items()) {
      if (name == "__metadata__") {
        metadata_ = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
      const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
      if (begin > end || end > room - header_bytes) fail(name + " lies outside the file");
      Tensor tensor;
      tensor.dtype = entry.at("dtype").get<std::string>();
      tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
      tensor.bytes.resize(end - begin);
      if (end > begin) std::memcpy(tensor.bytes.data(), values + begin, end - begin);
      tensors_.emplace(name, std::move(tensor));
    }
  }

  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  const Tensor& operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail("no tensor " + name);
    return found->second;
  }
  // By name, in alphabetical order.
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(path_ + ": " + what);
  }

  std::string path_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace sam3::test
