#include "graph/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "base/macros.h"
#include "onnx-ml.pb.h"

namespace sam3::graph {

namespace fs = std::filesystem;

struct ModelFile::Proto {
  onnx::ModelProto model;
  std::map<std::string, const onnx::TensorProto*, std::less<>> initializers;
  std::map<std::string, const onnx::NodeProto*, std::less<>>
      constants;  // Constant and Identity nodes
};

ModelFile::ModelFile() : proto_(std::make_unique<Proto>()) {}
ModelFile::~ModelFile() = default;
ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;

std::string to_string(ElementType type) {
  switch (type) {
    case ElementType::kUndefined:
      return "undefined";
    case ElementType::kFloat:
      return "float";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kFloat16:
      return "float16";
  }
  return "type " + std::to_string(static_cast<int>(type));
}

std::string ValueInfo::describe() const {
  std::string text = name + " " + to_string(type) + "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ",";
    if (dims[i] >= 0)
      text += std::to_string(dims[i]);
    else
      text += symbols[i].empty() ? "?" : symbols[i];
  }
  return text + "]";
}

bool is_lfs_pointer(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;  // to open a pipe would wait for a writer
  static constexpr char kStart[] = "version https://git-lfs.github.com/spec/";
  char start[sizeof kStart - 1];
  std::ifstream file(path, std::ios::binary);
  return file.read(start, sizeof start) && std::memcmp(start, kStart, sizeof start) == 0;
}

namespace {

Error file_error(ErrorCode code, const fs::path& path, std::string message) {
  return Error{code, std::move(message), path.string(), ""};
}

Error lfs_error(const fs::path& path) {
  return file_error(
      ErrorCode::kBadData, path,
      "this is a Git LFS pointer, not the file itself; fetch the content with `git lfs pull` "
      "or download the model again");
}

// Existence and kind of a file that must be read.
Status check_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fs::is_symlink(fs::symlink_status(path, error))
               ? file_error(ErrorCode::kNotFound, path,
                            "this link points to a file that does not exist")
               : file_error(ErrorCode::kNotFound, path, "no such file");
  if (!fs::is_regular_file(status))
    return file_error(ErrorCode::kBadData, path, "not a regular file");
  if (is_lfs_pointer(path)) return lfs_error(path);
  return {};
}

ValueInfo to_value_info(const onnx::ValueInfoProto& proto) {
  ValueInfo info;
  info.name = proto.name();
  const onnx::TypeProto_Tensor& tensor = proto.type().tensor_type();
  info.type = static_cast<ElementType>(tensor.elem_type());
  for (const auto& dim : tensor.shape().dim()) {
    info.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    info.symbols.push_back(dim.has_dim_param() ? dim.dim_param() : "");
  }
  return info;
}

// Calls visit(tensor) for every initializer of the graph and of its subgraphs.
template <typename Graph, typename Visit>
void for_each_initializer(Graph& graph, const Visit& visit) {
  auto& initializers = [&]() -> auto& {
    if constexpr (std::is_const_v<Graph>)
      return graph.initializer();
    else
      return *graph.mutable_initializer();
  }
  ();
  for (auto& tensor : initializers) visit(tensor);
  auto& nodes = [&]() -> auto& {
    if constexpr (std::is_const_v<Graph>)
      return graph.node();
    else
      return *graph.mutable_node();
  }
  ();
  for (auto& node : nodes) {
    for (int i = 0; i < node.attribute_size(); ++i) {
      if (!node.attribute(i).has_g()) continue;
      if constexpr (std::is_const_v<Graph>)
        for_each_initializer(node.attribute(i).g(), visit);
      else
        for_each_initializer(*node.mutable_attribute(i)->mutable_g(), visit);
    }
  }
}

struct ExternalSlice {
  std::string location;
  std::uint64_t end = 0;  // offset + length
};

std::optional<std::uint64_t> parse_unsigned(const std::string& text) {
  if (text.empty() || text.size() > 19 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoull(text);
}

std::optional<ExternalSlice> external_slice(const onnx::TensorProto& tensor) {
  ExternalSlice slice;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") slice.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const std::optional<std::uint64_t> number = parse_unsigned(entry.value());
    if (!number) return std::nullopt;
    (entry.key() == "offset" ? offset : length) = *number;
  }
  if (slice.location.empty()) return std::nullopt;
  slice.end = offset + std::min(length, std::numeric_limits<std::uint64_t>::max() - offset);
  return slice;
}

bool leaves_folder(const std::string& location) {
  const fs::path path = fs::path(location).lexically_normal();
  return path.is_absolute() || path.empty() || *path.begin() == "..";
}

// The numbers of a tensor whose data is in the model file.
std::optional<std::vector<double>> tensor_values(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  std::vector<double> values;
  const std::string& raw = tensor.raw_data();
  const auto from_raw = [&]<typename T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, raw.data() + at, sizeof(T));
      values.push_back(static_cast<double>(value));
    }
  };
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      values.assign(tensor.float_data().begin(), tensor.float_data().end());
      from_raw(float{});
      return values;
    case onnx::TensorProto::DOUBLE:
      values.assign(tensor.double_data().begin(), tensor.double_data().end());
      from_raw(double{});
      return values;
    case onnx::TensorProto::INT64:
      values.assign(tensor.int64_data().begin(), tensor.int64_data().end());
      from_raw(std::int64_t{});
      return values;
    case onnx::TensorProto::INT32:
      values.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      from_raw(std::int32_t{});
      return values;
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      values.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      from_raw(std::uint8_t{});
      return values;
    case onnx::TensorProto::INT8:
      values.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      from_raw(std::int8_t{});
      return values;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<ModelFile> ModelFile::read(const fs::path& path) {
  SAM3_RETURN_IF_ERROR(check_file(path));
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) return file_error(ErrorCode::kBadData, path, "cannot be read: " + error.message());
  if (bytes == 0) return file_error(ErrorCode::kBadData, path, "the file is empty");
  if (bytes > static_cast<std::uintmax_t>(std::numeric_limits<int>::max()))
    return file_error(
        ErrorCode::kBadData, path,
        "the file has " + std::to_string(bytes) +
            " bytes, more than a model file can hold; weights belong into a data file");
  std::ifstream stream(path, std::ios::binary);
  ModelFile file;
  file.path_ = path;
  {
    google::protobuf::io::IstreamInputStream input(&stream);
    google::protobuf::io::CodedInputStream coded(&input);
    coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
    if (!file.proto_->model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() ||
        !file.proto_->model.has_graph() || file.proto_->model.graph().node_size() == 0)
      return file_error(ErrorCode::kBadData, path,
                        "not an ONNX model, or damaged (" + std::to_string(bytes) + " bytes)");
  }
  SAM3_RETURN_IF_ERROR(file.index());
  return file;
}

Status ModelFile::index() {
  const onnx::GraphProto& graph = proto_->model.graph();
  for (const auto& tensor : graph.initializer()) proto_->initializers[tensor.name()] = &tensor;
  for (const auto& input : graph.input())
    if (!proto_->initializers.contains(input.name())) inputs_.push_back(to_value_info(input));
  for (const auto& output : graph.output()) outputs_.push_back(to_value_info(output));
  for (const auto& proto : graph.node()) {
    Node node{proto.op_type(), proto.name(), {}, {}};
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    for (const std::string& output : node.outputs) producers_[output] = nodes_.size();
    if ((proto.op_type() == "Constant" || proto.op_type() == "Identity") &&
        proto.output_size() == 1)
      proto_->constants[proto.output(0)] = &proto;
    nodes_.push_back(std::move(node));
  }
  std::map<std::string, std::uint64_t> needed;
  std::string bad;
  for_each_initializer(graph, [&](const onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const std::optional<ExternalSlice> slice = external_slice(tensor);
    if (!slice || leaves_folder(slice->location)) {
      bad = tensor.name();
      return;
    }
    needed[slice->location] = std::max(needed[slice->location], slice->end);
  });
  if (!bad.empty())
    return file_error(
        ErrorCode::kBadData, path_,
        "the external data of tensor '" + bad + "' names no file inside the model's folder");
  for (const auto& [location, bytes] : needed)
    external_.push_back({location, path_.parent_path() / location, bytes});
  return {};
}

namespace {

const ValueInfo* find(const std::vector<ValueInfo>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const ValueInfo& value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

}  // namespace

const ValueInfo* ModelFile::find_input(std::string_view name) const { return find(inputs_, name); }
const ValueInfo* ModelFile::find_output(std::string_view name) const {
  return find(outputs_, name);
}

const onnx::ModelProto& ModelFile::proto() const { return proto_->model; }

std::string ModelFile::producer() const {
  const onnx::ModelProto& model = proto_->model;
  return model.producer_version().empty() ? model.producer_name()
                                          : model.producer_name() + " " + model.producer_version();
}

std::int64_t ModelFile::opset() const {
  for (const auto& opset : proto_->model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return opset.version();
  return 0;
}

std::size_t ModelFile::node_count() const { return nodes_.size(); }

const Node* ModelFile::producer_of(std::string_view value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? nullptr : &nodes_[found->second];
}

std::optional<std::vector<double>> ModelFile::constant(std::string_view value) const {
  // A chain of Identity nodes longer than the graph would be a cycle.
  for (std::size_t step = 0; step <= nodes_.size(); ++step) {
    if (const auto found = proto_->initializers.find(value); found != proto_->initializers.end())
      return tensor_values(*found->second);
    const auto found = proto_->constants.find(value);
    if (found == proto_->constants.end()) return std::nullopt;
    const onnx::NodeProto& node = *found->second;
    if (node.op_type() == "Identity") {
      if (node.input_size() != 1) return std::nullopt;
      value = node.input(0);
      continue;
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "value") return tensor_values(attribute.t());
      if (attribute.name() == "value_float") return std::vector<double>{attribute.f()};
      if (attribute.name() == "value_int")
        return std::vector<double>{static_cast<double>(attribute.i())};
    }
    return std::nullopt;
  }
  return std::nullopt;
}

Status ModelFile::check_external_files() const {
  for (const ExternalFile& file : external_) {
    Status status = check_file(file.path);
    if (!status) {
      Error error = status.error();
      if (error.code == ErrorCode::kNotFound)
        error.message =
            "the weights of " + path_.filename().string() + " are missing: " + error.message;
      return error;
    }
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file.path, error);
    if (error || bytes < file.bytes_needed)
      return file_error(ErrorCode::kBadData, file.path,
                        "the file has " + std::to_string(error ? 0 : bytes) + " bytes, but " +
                            path_.filename().string() + " needs " +
                            std::to_string(file.bytes_needed) + "; the download is incomplete");
  }
  return {};
}

std::size_t ModelFile::unshare_initializers(std::string_view op_type,
                                            const std::vector<int>& inputs) {
  onnx::GraphProto& graph = *proto_->model.mutable_graph();
  std::set<std::string> taken;  // initializers that a node of this type already has
  std::vector<onnx::TensorProto> added;
  for (int n = 0; n < graph.node_size(); ++n) {
    onnx::NodeProto& node = *graph.mutable_node(n);
    if (node.op_type() != op_type) continue;
    for (const int input : inputs) {
      if (input >= node.input_size()) continue;
      const auto found = proto_->initializers.find(node.input(input));
      if (found == proto_->initializers.end() || taken.insert(found->first).second) continue;
      onnx::TensorProto copy = *found->second;
      copy.set_name(copy.name() + "/unshared_" + std::to_string(added.size()));
      node.set_input(input, copy.name());
      nodes_[static_cast<std::size_t>(n)].inputs[static_cast<std::size_t>(input)] = copy.name();
      added.push_back(std::move(copy));
    }
  }
  for (onnx::TensorProto& tensor : added) {
    onnx::TensorProto* stored = graph.add_initializer();
    *stored = std::move(tensor);
    proto_->initializers[stored->name()] = stored;
  }
  return added.size();
}

Result<std::string> ModelFile::serialize_with_locations(
    const std::map<std::string, std::string>& new_locations) const {
  onnx::ModelProto copy = proto_->model;
  for_each_initializer(*copy.mutable_graph(), [&](onnx::TensorProto& tensor) {
    for (auto& entry : *tensor.mutable_external_data()) {
      if (entry.key() != "location") continue;
      if (const auto found = new_locations.find(entry.value()); found != new_locations.end())
        entry.set_value(found->second);
    }
  });
  std::string bytes;
  if (!copy.SerializeToString(&bytes))
    return file_error(ErrorCode::kBadData, path_, "the model cannot be written as one message");
  return bytes;
}

}  // namespace sam3::graph
