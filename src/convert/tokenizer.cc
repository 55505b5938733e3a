// The tokenizer's files of a package.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "convert/convert.h"

namespace sam3::convert {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr int kBytes = 256;

// What may lie beside tokenizer.json and is part of a tokenizer.
constexpr const char* kCompanions[] = {
    "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt",
    "processor_config.json", "preprocessor_config.json"};

Error at_file(ErrorCode code, std::string message, const fs::path& path) {
  return Error{code, std::move(message), path.string(), ""};
}

std::optional<fs::path> find_tokenizer(const fs::path& from) {
  std::error_code ignored;
  for (const fs::path& folder : {from, from / "tokenizer"})
    if (fs::is_regular_file(folder / "tokenizer.json", ignored)) return folder;
  return std::nullopt;
}

Status copy_one(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::copy_file(from, to, code);
  if (code) return at_file(ErrorCode::kRuntime, "cannot be copied: " + code.message(), from);
  return {};
}

// The character that stands for a byte in CLIP's vocabulary: itself if it shows, else the next of
// those from U+0100.
json byte_encoder() {
  json encoder = json::object();
  int hidden = 0;
  for (int byte = 0; byte < kBytes; ++byte) {
    const bool shows =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int code = shows ? byte : kBytes + hidden++;
    std::string text;
    append_utf8(static_cast<char32_t>(code), text);
    encoder[std::to_string(byte)] = text;
  }
  return encoder;
}

// {"encoder", "merges", "byte_encoder"} from a tokenizer.json; merges as pairs.
Result<json> clip_tokenizer(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object() || !root.contains("model") || !root["model"].is_object() ||
      !root["model"].contains("vocab") || !root["model"]["vocab"].is_object() ||
      !root["model"].contains("merges") || !root["model"]["merges"].is_array())
    return at_file(ErrorCode::kBadData, "this holds no byte-pair vocabulary with merges", path);
  json merges = json::array();
  for (const json& merge : root["model"]["merges"]) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.push_back(merge);
    } else if (merge.is_string() && merge.get<std::string>().find(' ') != std::string::npos) {
      const auto both = merge.get<std::string>();
      merges.push_back({both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1)});
    } else {
      return at_file(ErrorCode::kBadData, "a merge is " + shown_json(merge) + ", not a pair", path);
    }
  }
  json encoder = root["model"]["vocab"];
  if (root.contains("added_tokens") && root["added_tokens"].is_array())
    for (const json& token : root["added_tokens"])
      if (token.is_object() && token.contains("content") && token["content"].is_string() &&
          token.contains("id"))
        encoder[token["content"].get<std::string>()] = token["id"];
  return json{{"encoder", encoder}, {"merges", merges}, {"byte_encoder", byte_encoder()}};
}

}  // namespace

Status write_tokenizer(const fs::path& from, const fs::path& to, Family family) {
  const auto folder = find_tokenizer(from);
  if (!folder)
    return at_file(ErrorCode::kNotFound,
                   "no tokenizer.json here or in tokenizer/; name a folder that has one", from);
  if (family == Family::kBrowser) {
    SAM3_ASSIGN_OR_RETURN(const json content, clip_tokenizer(*folder / "tokenizer.json"));
    const fs::path path = to / "clip_tokenizer.json";
    std::ofstream file(path, std::ios::binary);
    file << content.dump();
    file.close();
    if (!file) return at_file(ErrorCode::kRuntime, "cannot be written", path);
    return {};
  }
  std::error_code code;
  fs::create_directories(to / "tokenizer", code);
  SAM3_RETURN_IF_ERROR(copy_one(*folder / "tokenizer.json", to / "tokenizer" / "tokenizer.json"));
  for (const char* name : kCompanions)
    if (fs::is_regular_file(*folder / name, code))
      SAM3_RETURN_IF_ERROR(copy_one(*folder / name, to / "tokenizer" / name));
  return {};
}

}  // namespace sam3::convert
