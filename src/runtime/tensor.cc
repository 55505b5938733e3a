#include "runtime/tensor.h"

#include <utility>

namespace sam3::runtime {

std::string to_string(TensorType type) {
  switch (type) {
    case TensorType::kFloat:
      return "float";
    case TensorType::kUint8:
      return "uint8";
    case TensorType::kInt64:
      return "int64";
    case TensorType::kBool:
      return "bool";
    case TensorType::kFloat16:
      return "float16";
    case TensorType::kInt32:
      return "int32";
    case TensorType::kOther:
      break;
  }
  return "another type";
}

std::string shape_text(std::span<const std::int64_t> dims) {
  std::string text;
  for (const std::int64_t dim : dims) {
    if (!text.empty()) text += "x";
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

Tensor::Tensor(TensorType type, std::vector<std::int64_t> dims, std::shared_ptr<const void> storage,
               const void* data)
    : type_(type), dims_(std::move(dims)), count_(1), storage_(std::move(storage)), data_(data) {
  for (const std::int64_t dim : dims_) count_ *= static_cast<std::size_t>(dim);
}

namespace {

template <typename T>
std::pair<std::shared_ptr<const void>, const void*> share(std::vector<T> values) {
  auto shared = std::make_shared<const std::vector<T>>(std::move(values));
  const void* data = shared->data();
  return {std::move(shared), data};
}

}  // namespace

Tensor::Tensor(std::vector<std::int64_t> dims, std::vector<float> values) {
  auto [storage, data] = share(std::move(values));
  *this = Tensor(TensorType::kFloat, std::move(dims), std::move(storage), data);
}

Tensor::Tensor(std::vector<std::int64_t> dims, std::vector<std::uint8_t> values) {
  auto [storage, data] = share(std::move(values));
  *this = Tensor(TensorType::kUint8, std::move(dims), std::move(storage), data);
}

Tensor::Tensor(std::vector<std::int64_t> dims, std::vector<std::int64_t> values) {
  auto [storage, data] = share(std::move(values));
  *this = Tensor(TensorType::kInt64, std::move(dims), std::move(storage), data);
}

Tensor Tensor::booleans(std::vector<std::int64_t> dims, std::vector<std::uint8_t> values) {
  Tensor tensor(std::move(dims), std::move(values));
  tensor.type_ = TensorType::kBool;
  return tensor;
}

std::size_t Tensor::byte_count() const {
  switch (type_) {
    case TensorType::kFloat:
    case TensorType::kInt32:
      return count_ * 4;
    case TensorType::kInt64:
      return count_ * 8;
    case TensorType::kFloat16:
      return count_ * 2;
    default:
      return count_;
  }
}

std::span<const float> Tensor::floats() const {
  return {static_cast<const float*>(data_), type_ == TensorType::kFloat ? count_ : 0};
}

std::span<const std::int64_t> Tensor::int64s() const {
  return {static_cast<const std::int64_t*>(data_), type_ == TensorType::kInt64 ? count_ : 0};
}

std::span<const std::uint8_t> Tensor::bytes() const {
  const bool bytes = type_ == TensorType::kUint8 || type_ == TensorType::kBool;
  return {static_cast<const std::uint8_t*>(data_), bytes ? count_ : 0};
}

}  // namespace sam3::runtime
