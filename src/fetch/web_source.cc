// A folder of a plain web server, which tells nothing about what it holds.
#include "base/macros.h"
#include "fetch/source.h"

namespace sam3::fetch {
namespace {

constexpr const char* kTextFiles[] = {"vision_encoder/model.onnx", "vision_encoder/model.onnx.data",
                                      "text_encoder/model.onnx",   "text_encoder/model.onnx.data",
                                      "detector/model.onnx",       "detector/model.onnx.data"};
constexpr const char* kPointFiles[] = {
    "tracker_vision_encoder/model.onnx", "tracker_vision_encoder/model.onnx.data",
    "prompt_decoder/model.onnx", "prompt_decoder/model.onnx.data"};
constexpr const char* kTokenizerFiles[] = {"tokenizer/tokenizer.json",
                                           "tokenizer/tokenizer_config.json"};
constexpr const char* kBrowserFiles[] = {
    "sam3_image_encoder.onnx", "sam3_image_encoder.onnx.data",    "sam3_language_encoder.onnx",
    "sam3_decoder.onnx",       "sam3_language_encoder.onnx.data", "sam3_decoder.onnx.data",
    "clip_tokenizer.json"};
constexpr const char* kSharedFiles[] = {"LICENSE", "NOTICE"};

class WebSource : public Source {
 public:
  WebSource(HttpClient client, SourceOptions options, std::string base)
      : client_(std::move(client)), options_(std::move(options)), base_(std::move(base)) {}

  Result<Listing> list() override {
    Listing listing;
    for (const char* name : {"quantization.json", "model.json"})
      SAM3_RETURN_IF_ERROR(add_record(name, listing));
    if (options_.only != Workflow::kPoint) {
      SAM3_RETURN_IF_ERROR(add_found(kTextFiles, listing));
      if (!listing.files.empty()) SAM3_RETURN_IF_ERROR(add_found(kTokenizerFiles, listing));
    }
    if (options_.only != Workflow::kText) SAM3_RETURN_IF_ERROR(add_found(kPointFiles, listing));
    const bool five_graphs = listing.find(kTextFiles[0]) || listing.find(kPointFiles[0]);
    if (!five_graphs && options_.only != Workflow::kPoint)
      SAM3_RETURN_IF_ERROR(add_found(kBrowserFiles, listing));
    SAM3_RETURN_IF_ERROR(add_found(kSharedFiles, listing));
    // Some servers answer 403 for what they do not have; only now is it known that nothing is had.
    if (listing.files.empty() && refusal_) return *refusal_;
    if (listing.find("LICENSE")) listing.licence_page = base_ + "LICENSE";
    return listing;
  }

  Result<std::string> text(const ListedFile& file) override {
    SAM3_ASSIGN_OR_RETURN(const Url url, address_of(file.path));
    return get_text(client_, url, options_.retry, kMostTextBytes);
  }

  Status get(const ListedFile& file, const std::filesystem::path& target,
             const ByteCounter& counter) override {
    SAM3_ASSIGN_OR_RETURN(const Url url, address_of(file.path));
    return get_file(client_, {url, file, target, counter}, options_.retry);
  }

  bool holds_other_files() const override { return false; }

 private:
  Result<Url> address_of(const std::string& path) const {
    return parse_url(base_ + percent_encoded(path, "/"));
  }

  // True if the last call failed because the file is not there.
  bool is_absent(const Error& error) {
    const long status = client_.last().status;
    if (status == 403 && !refusal_) refusal_ = error;
    return status == 403 || status == 404 || status == 410;
  }

  Status add_record(const char* name, Listing& listing) {
    SAM3_ASSIGN_OR_RETURN(const Url url, address_of(name));
    const auto text = get_text(client_, url, options_.retry, kMostTextBytes);
    if (!text.ok()) return is_absent(text.error()) ? Status() : text.error();
    if (const auto what = impostor(name, *text))
      return Error{ErrorCode::kBadData, "the server sends " + *what + " instead of the file",
                   url.shown(), ""};
    Result<std::vector<ListedFile>> files = parse_record(*text);
    if (!files.ok()) return Error{files.error().code, files.error().message, url.shown(), ""};
    for (ListedFile& file : *files)
      if (!listing.find(file.path)) listing.files.push_back(std::move(file));
    ListedFile* own = listing.find(name);
    if (!own) {
      listing.files.push_back({name, std::nullopt, "", "", std::nullopt});
      own = &listing.files.back();
    }
    own->content = *text;
    return {};
  }

  // Those of the names that are there and not yet listed.
  template <std::size_t N>
  Status add_found(const char* const (&names)[N], Listing& listing) {
    for (const char* name : names) {
      if (listing.find(name)) continue;
      SAM3_ASSIGN_OR_RETURN(const Url url, address_of(name));
      const auto found = probe(client_, url, options_.retry);
      if (!found.ok()) {
        if (!is_absent(found.error())) return found.error();
        continue;
      }
      if (!*found) continue;
      const Probe& what = **found;
      const std::string bytes = what.bytes ? std::to_string(*what.bytes) : "?";
      const std::string version =
          what.validator.empty() ? "" : url.text + " " + bytes + " " + what.validator;
      listing.files.push_back({name, what.bytes, "", version, std::nullopt});
    }
    return {};
  }

  HttpClient client_;
  SourceOptions options_;
  std::string base_;  // ends with a slash
  std::optional<Error> refusal_;
};

}  // namespace

Result<std::unique_ptr<Source>> web_source(const std::string& address,
                                           const SourceOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const Url url, parse_url(address));
  if (url.text.find('?') != std::string::npos)
    return Error{ErrorCode::kInvalidArgument,
                 "'" + url.shown() + "' has a query behind it, so files in it cannot be named", "",
                 ""};
  std::string base = url.text;
  for (const std::string_view name : {"/quantization.json", "/model.json"})
    if (base.ends_with(name)) base.resize(base.size() - name.size());
  if (!base.ends_with('/')) base += '/';
  SourceOptions own = options;
  own.http.token_origin = base;
  SAM3_ASSIGN_OR_RETURN(HttpClient client, HttpClient::create(own.http));
  return std::unique_ptr<Source>(
      std::make_unique<WebSource>(std::move(client), std::move(own), std::move(base)));
}

}  // namespace sam3::fetch
