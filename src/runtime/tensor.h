// Tensors that go into and come out of a session. Values: cheap to copy, never changed after they
// were made, safe to read from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sam3::runtime {

// Values of kFloat16 and kInt32 are passed on from graph to graph and not looked at.
enum class TensorType { kFloat, kUint8, kInt64, kBool, kFloat16, kInt32, kOther };

std::string to_string(TensorType type);
// "1x32x40"
std::string shape_text(std::span<const std::int64_t> dims);

class Tensor {
 public:
  Tensor() = default;
  // `values` holds the product of `dims` elements, the last axis fastest.
  Tensor(std::vector<std::int64_t> dims, std::vector<float> values);
  Tensor(std::vector<std::int64_t> dims, std::vector<std::uint8_t> values);
  Tensor(std::vector<std::int64_t> dims, std::vector<std::int64_t> values);
  static Tensor booleans(std::vector<std::int64_t> dims, std::vector<std::uint8_t> values);

  bool empty() const { return !storage_; }
  TensorType type() const { return type_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  std::size_t element_count() const { return count_; }
  std::size_t byte_count() const;

  // Elements; the type must be the one asked for.
  std::span<const float> floats() const;
  std::span<const std::int64_t> int64s() const;
  // Of kUint8 and kBool (0 or 1).
  std::span<const std::uint8_t> bytes() const;

 private:
  friend class Session;
  Tensor(TensorType type, std::vector<std::int64_t> dims, std::shared_ptr<const void> storage,
         const void* data);

  TensorType type_ = TensorType::kOther;
  std::vector<std::int64_t> dims_;
  std::size_t count_ = 0;
  std::shared_ptr<const void> storage_;  // keeps `data_` alive
  const void* data_ = nullptr;
};

}  // namespace sam3::runtime
