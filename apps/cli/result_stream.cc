#include "result_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common.h"
#include "formats/json.h"
#include "formats/output_paths.h"
#include "formats/write_json.h"

namespace sam3::cli {
namespace {

class StandardOutput : public ResultStream {
 public:
  Status write(const nlohmann::ordered_json& document) override {
    if (print(formats::dump_json(document) + "\n") == kDone) return {};
    return Error{ErrorCode::kRuntime, "the results cannot be written to standard output", "", ""};
  }
};

class Lines : public ResultStream {
 public:
  explicit Lines(formats::JsonLinesFile file) : file_(std::move(file)) {}
  Status write(const nlohmann::ordered_json& document) override { return file_.write(document); }

 private:
  formats::JsonLinesFile file_;
};

// "[", a line per document, "]"; each write goes over the last line.
class GrowingArray : public ResultStream {
 public:
  GrowingArray(std::filesystem::path path, std::ofstream stream)
      : path_(std::move(path)), stream_(std::move(stream)) {
    stream_ << "[" << kEnd << std::flush;
  }
  Status write(const nlohmann::ordered_json& document) override {
    stream_.seekp(-static_cast<std::streamoff>(kEnd.size()), std::ios::end);
    stream_ << (first_ ? "\n" : ",\n") << formats::dump_json(document) << kEnd << std::flush;
    first_ = false;
    if (stream_) return {};
    return Error{ErrorCode::kRuntime, "cannot be written; is the disk full?", path_.string(), ""};
  }

 private:
  static constexpr std::string_view kEnd = "\n]\n";
  std::filesystem::path path_;
  std::ofstream stream_;
  bool first_ = true;
};

}  // namespace

Result<std::unique_ptr<ResultStream>> ResultStream::open(const std::string& target) {
  if (target == "-") return std::unique_ptr<ResultStream>(std::make_unique<StandardOutput>());
  const std::string ending = formats::lower_ending(target);
  if (std::find(std::begin(formats::kJsonLinesEndings), std::end(formats::kJsonLinesEndings),
                ending) != std::end(formats::kJsonLinesEndings)) {
    auto file = formats::JsonLinesFile::create(target);
    if (!file.ok()) return file.error();
    return std::unique_ptr<ResultStream>(std::make_unique<Lines>(std::move(*file)));
  }
  if (Status good = formats::check_output_path(target, formats::kJsonEndings); !good)
    return good.error();
  std::ofstream stream(target, std::ios::binary | std::ios::trunc);
  if (!stream) return Error{ErrorCode::kInvalidArgument, "this file cannot be written", target, ""};
  return std::unique_ptr<ResultStream>(std::make_unique<GrowingArray>(target, std::move(stream)));
}

}  // namespace sam3::cli
