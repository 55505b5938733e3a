#include "graph/editable_model.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <set>

#include "base/macros.h"

namespace sam3::graph {

namespace fs = std::filesystem;

namespace {

// Smaller weights stay in the model file. Large ones start at a page, so that they can be mapped.
constexpr std::uint64_t kExternalBytes = 1024;
constexpr std::uint64_t kLargeBytes = 65536;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAlignment = 64;

Error bad(const fs::path& path, std::string message) {
  return Error{ErrorCode::kBadData, std::move(message), path.string(), ""};
}

// What a tensor of the model file says about its external data.
struct Slice {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Slice slice_of(const onnx::TensorProto& tensor) {
  Slice slice;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") slice.location = entry.value();
    // ModelFile::read has seen that these are numbers.
    if (entry.key() == "offset") slice.offset = std::stoull(entry.value());
    if (entry.key() == "length") slice.length = std::stoull(entry.value());
  }
  return slice;
}

template <typename Wide, typename Stored>
std::string narrowed(const Wide& values) {
  std::string bytes;
  for (const auto value : values) {
    const auto stored = static_cast<Stored>(value);
    bytes.append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  return bytes;
}

// The bytes of a tensor whose data is in the model file.
std::string inline_bytes(const onnx::TensorProto& tensor) {
  if (tensor.has_raw_data()) return tensor.raw_data();
  switch (static_cast<ElementType>(tensor.data_type())) {
    case ElementType::kFloat:
      return narrowed<decltype(tensor.float_data()), float>(tensor.float_data());
    case ElementType::kInt64:
      return narrowed<decltype(tensor.int64_data()), std::int64_t>(tensor.int64_data());
    case ElementType::kInt32:
      return narrowed<decltype(tensor.int32_data()), std::int32_t>(tensor.int32_data());
    case ElementType::kFloat16:
      return narrowed<decltype(tensor.int32_data()), std::uint16_t>(tensor.int32_data());
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return narrowed<decltype(tensor.int32_data()), std::uint8_t>(tensor.int32_data());
    default:
      return {};
  }
}

class Reader {
 public:
  explicit Reader(fs::path path) : path_(std::move(path)) {}

  Result<Weight> weight(const onnx::TensorProto& tensor) {
    Weight weight;
    weight.type = static_cast<ElementType>(tensor.data_type());
    weight.dims.assign(tensor.dims().begin(), tensor.dims().end());
    const std::size_t element = element_bytes(weight.type);
    if (element == 0)
      return bad(path_, "tensor '" + tensor.name() + "' has elements of " + to_string(weight.type) +
                            ", which are not supported");
    if (!element_count(weight.dims)) return bad(path_, impossible(tensor));
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return external(tensor, weight);
    std::string bytes = inline_bytes(tensor);
    if (bytes.size() != weight.bytes())
      return bad(path_, "tensor '" + tensor.name() + "' has " + std::to_string(bytes.size()) +
                            " bytes, but its sizes ask for " + std::to_string(weight.bytes()));
    return make_weight(weight.type, weight.dims, std::move(bytes));
  }

 private:
  static std::string impossible(const onnx::TensorProto& tensor) {
    std::string text = "tensor '" + tensor.name() + "' has impossible sizes [";
    for (int i = 0; i < tensor.dims_size(); ++i)
      text += (i ? "," : "") + std::to_string(tensor.dims(i));
    return text + "]";
  }

  Result<Weight> external(const onnx::TensorProto& tensor, Weight weight) {
    const Slice slice = slice_of(tensor);
    const std::uint64_t bytes = weight.bytes();
    if (slice.length && *slice.length != bytes)
      return bad(path_, "tensor '" + tensor.name() + "' has " + std::to_string(*slice.length) +
                            " bytes of external data, but its sizes ask for " +
                            std::to_string(bytes));
    auto found = files_.find(slice.location);
    if (found == files_.end()) {
      SAM3_ASSIGN_OR_RETURN(WeightFile file,
                            WeightFile::open(path_.parent_path() / slice.location));
      found = files_.emplace(slice.location, std::move(file)).first;
    }
    const WeightFile& file = found->second;
    if (slice.offset > file.size() || bytes > file.size() - slice.offset)
      return bad(path_, "tensor '" + tensor.name() + "' lies at bytes " +
                            std::to_string(slice.offset) + " + " + std::to_string(bytes) + " of " +
                            slice.location + ", which has " + std::to_string(file.size()));
    weight.read = [file, offset = slice.offset](std::span<std::byte> into) {
      return file.read(offset, into);
    };
    weight.place = Place{slice.location, slice.offset};
    return weight;
  }

  fs::path path_;
  std::map<std::string, WeightFile> files_;
};

// True if something below the main graph refers to a data file, which is then not followed.
bool has_hidden_external(const onnx::GraphProto& graph, bool is_main) {
  if (!is_main)
    for (const auto& tensor : graph.initializer())
      if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return true;
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t() && attribute.t().data_location() == onnx::TensorProto::EXTERNAL)
        return true;
      if (attribute.has_g() && has_hidden_external(attribute.g(), false)) return true;
    }
  return false;
}

void set_entry(onnx::TensorProto& tensor, const char* key, const std::string& value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

onnx::TensorProto& declare(onnx::ModelProto& proto, const std::string& name, const Weight& weight) {
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(static_cast<int>(weight.type));
  for (const std::int64_t dim : weight.dims) tensor.add_dims(dim);
  return tensor;
}

Status set_inside(onnx::TensorProto& tensor, const Weight& weight) {
  std::string bytes(weight.bytes(), '\0');
  SAM3_RETURN_IF_ERROR(weight.read(std::as_writable_bytes(std::span(bytes))));
  tensor.set_raw_data(std::move(bytes));
  return {};
}

void set_outside(onnx::TensorProto& tensor, const Place& place, std::uint64_t bytes) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry(tensor, "location", place.location);
  set_entry(tensor, "offset", std::to_string(place.offset));
  set_entry(tensor, "length", std::to_string(bytes));
}

class Writer {
 public:
  Writer(const EditableModel& model, fs::path path)
      : model_(model), path_(std::move(path)), data_path_(path_.string() + ".data") {}

  Result<WrittenModel> write() {
    for (const fs::path& file : {path_, data_path_}) {
      std::error_code error;
      if (fs::exists(fs::symlink_status(file, error)))
        return Error{ErrorCode::kInvalidArgument, "the file is there already", file.string(), ""};
    }
    const Status status = write_all();
    if (status.ok()) return written_;
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(data_path_, ignored);
    return status.error();
  }

 private:
  Status write_all() {
    onnx::ModelProto proto = model_.proto;
    for (const auto& [name, weight] : model_.weights) {
      onnx::TensorProto& tensor = declare(proto, name, weight);
      Status status =
          weight.bytes() < kExternalBytes ? set_inside(tensor, weight) : outside(weight, tensor);
      if (!status) {
        Error error = status.error();
        if (error.graph.empty()) error.graph = name;
        return error;
      }
    }
    if (data_.is_open()) {
      data_.close();
      if (!data_) return write_error(data_path_);
    }
    std::string bytes;
    if (!proto.SerializeToString(&bytes))
      return bad(path_, "the model cannot be written as one message");
    std::ofstream file(path_, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return write_error(path_);
    written_.model_bytes = bytes.size();
    return {};
  }

  Status outside(const Weight& weight, onnx::TensorProto& tensor) {
    const std::uint64_t bytes = weight.bytes();
    if (!data_.is_open()) {
      data_.open(data_path_, std::ios::binary);
      if (!data_) return write_error(data_path_);
    }
    const std::uint64_t alignment = bytes < kLargeBytes ? kAlignment : kPage;
    const std::uint64_t offset = (written_.weight_bytes + alignment - 1) / alignment * alignment;
    // The buffer goes with the call: the largest weight decides what is needed, not their order.
    std::vector<std::byte> buffer(bytes);
    SAM3_RETURN_IF_ERROR(weight.read(buffer));
    const std::string padding(offset - written_.weight_bytes, '\0');
    data_.write(padding.data(), static_cast<std::streamsize>(padding.size()));
    data_.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(bytes));
    if (!data_) return write_error(data_path_);
    set_outside(tensor, {data_path_.filename().string(), offset}, bytes);
    written_.weight_bytes = offset + bytes;
    return {};
  }

  static Error write_error(const fs::path& path) {
    return Error{ErrorCode::kRuntime, std::string("cannot be written: ") + std::strerror(errno),
                 path.string(), ""};
  }

  const EditableModel& model_;
  fs::path path_;
  fs::path data_path_;
  std::ofstream data_;
  WrittenModel written_;
};

}  // namespace

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kUndefined:
      return 0;
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return 1;
    case ElementType::kFloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
      return 4;
    case ElementType::kInt64:
      return 8;
  }
  return 0;
}

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> dims) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 59;  // times 8 bytes still fits
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(dim);
    if (size != 0 && count > kMost / size) return std::nullopt;
    count *= size;
  }
  return count;
}

std::uint64_t Weight::bytes() const {
  return element_count(dims).value_or(0) * element_bytes(type);
}

Weight make_weight(ElementType type, std::vector<std::int64_t> dims, std::string bytes) {
  auto held = std::make_shared<const std::string>(std::move(bytes));
  const auto read = [held](std::span<std::byte> into) -> Status {
    if (into.size() != held->size())
      return Error{ErrorCode::kInvalidArgument,
                   "a weight of " + std::to_string(held->size()) + " bytes was asked for " +
                       std::to_string(into.size()),
                   "", ""};
    if (!into.empty()) std::memcpy(into.data(), held->data(), into.size());
    return {};
  };
  return Weight{type, std::move(dims), read};
}

struct WeightFile::State {
  ~State() { ::close(descriptor); }
  fs::path path;
  int descriptor = -1;
  std::uint64_t size = 0;
};

Result<WeightFile> WeightFile::open(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kBadData,
                 std::string("cannot be opened: ") + std::strerror(errno), path.string(), ""};
  auto state = std::make_shared<State>();
  state->path = path;
  state->descriptor = descriptor;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return bad(path, "not a regular file");
  state->size = static_cast<std::uint64_t>(status.st_size);
  return WeightFile(std::move(state));
}

std::uint64_t WeightFile::size() const { return state_->size; }

Status WeightFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > state_->size || into.size() > state_->size - offset)
    return bad(state_->path, "bytes " + std::to_string(offset) + " + " +
                                 std::to_string(into.size()) + " are beyond the end");
  while (!into.empty()) {
    const ssize_t got =
        ::pread(state_->descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return bad(state_->path, got == 0 ? std::string("the file was cut while it was read")
                                        : std::string("cannot be read: ") + std::strerror(errno));
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

namespace {

template <typename Values>
Status check_declared_once(const Values& values, const std::string& role) {
  std::set<std::string, std::less<>> names;
  for (const auto& value : values)
    if (!names.insert(value.name()).second)
      return Error{ErrorCode::kBadData, "the " + role + " '" + value.name() + "' is declared twice",
                   "", ""};
  return {};
}

}  // namespace

Status check_order(const onnx::GraphProto& graph, const EditableModel& model) {
  std::set<std::string, std::less<>> known;
  for (const auto& [name, weight] : model.weights) known.insert(name);
  SAM3_RETURN_IF_ERROR(check_declared_once(graph.input(), "input"));
  SAM3_RETURN_IF_ERROR(check_declared_once(graph.output(), "output"));
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.sparse_initializer()) known.insert(tensor.values().name());
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input())
      if (!input.empty() && !known.contains(input))
        return Error{ErrorCode::kBadData,
                     "node '" + node.name() + "' (" + node.op_type() + ") needs '" + input +
                         "', which nothing before it makes",
                     "", ""};
    for (const std::string& output : node.output())
      if (!known.insert(output).second && !output.empty())
        return Error{ErrorCode::kBadData,
                     "node '" + node.name() + "' (" + node.op_type() + ") makes '" + output +
                         "', which is there already",
                     "", ""};
  }
  for (const auto& output : graph.output())
    if (!known.contains(output.name()))
      return Error{ErrorCode::kBadData, "nothing makes the output '" + output.name() + "'", "", ""};
  return {};
}

Result<EditableModel> EditableModel::read(const fs::path& path) {
  SAM3_ASSIGN_OR_RETURN(const ModelFile file, ModelFile::read(path));
  return from(file);
}

Result<EditableModel> EditableModel::from(const ModelFile& file) {
  const fs::path& path = file.path();
  SAM3_RETURN_IF_ERROR(file.check_external_files());
  EditableModel model;
  model.proto = file.proto();
  if (has_hidden_external(model.proto.graph(), true))
    return bad(path, "a tensor outside the main graph's initializers has external data");
  Reader reader(path);
  for (const auto& tensor : model.proto.graph().initializer()) {
    SAM3_ASSIGN_OR_RETURN(Weight weight, reader.weight(tensor));
    if (!model.weights.emplace(tensor.name(), std::move(weight)).second)
      return bad(path, "tensor '" + tensor.name() + "' is declared twice");
  }
  model.proto.mutable_graph()->clear_initializer();
  if (Status status = check_order(model.proto.graph(), model); !status)
    return bad(path, status.error().message);
  return model;
}

Result<std::string> EditableModel::serialize(
    const std::map<std::string, std::string>& locations) const {
  onnx::ModelProto copy = proto;
  for (const auto& [name, weight] : weights) {
    onnx::TensorProto& tensor = declare(copy, name, weight);
    if (!weight.place) {
      SAM3_RETURN_IF_ERROR(set_inside(tensor, weight));
      continue;
    }
    const auto found = locations.find(weight.place->location);
    const std::string& file = found == locations.end() ? weight.place->location : found->second;
    set_outside(tensor, {file, weight.place->offset}, weight.bytes());
  }
  std::string bytes;
  if (!copy.SerializeToString(&bytes))
    return Error{ErrorCode::kBadData, "the changed model cannot be written as one message", "", ""};
  return bytes;
}

Result<WrittenModel> EditableModel::write(const fs::path& path) const {
  return Writer(*this, path).write();
}

}  // namespace sam3::graph
