// Damaged and unknown tokenizer files: a clear error, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/text_fixtures.h"

namespace sam3 {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json small() { return test::read_json_fixture("small_tokenizer.json"); }

void expect_error(const Json& json, ErrorCode code, const std::string& part) {
  const auto result = Tokenizer::from_tokenizer_json(json.dump());
  ASSERT_FALSE(result.ok()) << part;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_THAT(result.error().message, HasSubstr(part));
}

// The small file with the value at a JSON pointer replaced.
void expect_error_with(const char* pointer, const Json& value, ErrorCode code,
                       const std::string& part) {
  SCOPED_TRACE(pointer);
  Json json = small();
  json[Json::json_pointer(pointer)] = value;
  expect_error(json, code, part);
}

TEST(DamagedTokenizer, CutFile) {
  const std::string whole = test::read_text_fixture("small_tokenizer.json");
  for (std::size_t size = 0; size + 2 < whole.size(); size += 499) {
    const auto result = Tokenizer::from_tokenizer_json(whole.substr(0, size));
    ASSERT_FALSE(result.ok()) << size;
    EXPECT_EQ(result.error().code, ErrorCode::kBadData);
  }
  EXPECT_FALSE(Tokenizer::from_clip_json("{\"encoder\": {").ok());
}

TEST(DamagedTokenizer, NotATokenizer) {
  for (const char* text : {"", "null", "[]", "3", "{}", "\xff\xfe", "version https://git-lfs"}) {
    EXPECT_FALSE(Tokenizer::from_tokenizer_json(text).ok()) << text;
    EXPECT_FALSE(Tokenizer::from_clip_json(text).ok()) << text;
  }
}

TEST(DamagedTokenizer, AnyValueOfAnotherType) {
  const Json whole = small();
  const Json flat = [&] {  // without the large tables, which the next test covers
    Json json = whole;
    json["model"]["vocab"] = Json::object();
    json["model"]["merges"] = Json::array();
    return json.flatten();
  }();
  for (const auto& [pointer, old] : flat.items()) {
    for (const Json& value : {Json(nullptr), Json(true), Json(-1), Json(1e300), Json("?"),
                              Json::array(), Json::object(), Json::array({Json::array()})}) {
      Json json = whole;
      json[Json::json_pointer(pointer)] = value;
      const auto result = Tokenizer::from_tokenizer_json(json.dump());
      if (result.ok()) {
        EXPECT_TRUE(result->encode("the dog's", 8).ok()) << pointer << value;
      } else {
        EXPECT_FALSE(result.error().message.empty());
      }
    }
  }
}

TEST(DamagedTokenizer, NamesTheDamage) {
  const auto bad = ErrorCode::kBadData;
  expect_error_with("/model/vocab", 3, bad, "model.vocab");
  expect_error_with("/model/vocab/a", -4, bad, "\"a\" is not a token id");
  expect_error_with("/model/vocab/a", 3000000000u, bad, "\"a\" is not a token id");
  expect_error_with("/model/merges", "x", bad, "model.merges");
  expect_error_with("/model/merges/2", Json{"in", "zzz"}, bad, "merge 2 needs token \"zzz\"");
  expect_error_with("/model/merges/2", Json{"q", "q"}, bad, "merge 2 needs token \"qq\"");
  expect_error_with("/model/merges/2", Json{"q"}, bad, "merge 2 is not a pair");
  expect_error_with("/model/merges/2", "a b c", bad, "merge 2 is not a pair");
  expect_error_with("/model/merges/2", Json{1, 2}, bad, "merge 2 is not a pair");
  expect_error_with("/model/unk_token", "<unk>", bad, "<unk>");
  expect_error_with("/added_tokens", Json::object(), bad, "added_tokens");
  expect_error_with("/added_tokens/0/id", "x", bad, "added_tokens.id");
  expect_error_with("/added_tokens/0/id", 5, bad, "has id 5 but another");
  expect_error_with("/post_processor/cls", Json::array(), bad, "post_processor.cls");
  expect_error_with("/pre_tokenizer", nullptr, bad, "pre_tokenizer");
  expect_error_with("/normalizer/normalizers", 1, bad, "normalizers");
  expect_error_with("/padding", Json::object(), bad, "padding.pad_id");
  expect_error_with("/truncation", {{"max_length", 1}}, bad, "max_length");
}

TEST(DamagedTokenizer, NeedsMarks) {
  Json json = small();
  json["added_tokens"] = Json::array();
  json["post_processor"] = nullptr;
  expect_error(json, ErrorCode::kBadData, "<|startoftext|>");
}

TEST(UnknownTokenizer, NamesTheStep) {
  const auto unsupported = ErrorCode::kUnsupported;
  expect_error_with("/normalizer", {{"type", "NFKD"}}, unsupported, "NFKD");
  expect_error_with("/normalizer/normalizers/1/pattern/Regex", "(?i)x", unsupported, "(?i)x");
  expect_error_with("/pre_tokenizer", {{"type", "Whitespace"}}, unsupported, "Whitespace");
  expect_error_with("/pre_tokenizer/pretokenizers/1", nullptr, ErrorCode::kBadData, "type");
  expect_error_with("/pre_tokenizer/pretokenizers", Json::array(), unsupported, "ByteLevel");
  expect_error_with("/pre_tokenizer/pretokenizers/0/behavior", "Sometimes", unsupported,
                    "Sometimes");
  expect_error_with("/pre_tokenizer/pretokenizers/0/type", "ByteLevel", unsupported,
                    "after ByteLevel");
  expect_error_with("/model/type", "WordPiece", unsupported, "WordPiece");
  expect_error_with("/model/byte_fallback", true, unsupported, "byte_fallback");
  expect_error_with("/model/ignore_merges", true, unsupported, "ignore_merges");
  expect_error_with("/model/dropout", 0.1, unsupported, "dropout");
  expect_error_with("/model/continuing_subword_prefix", "##", unsupported,
                    "continuing_subword_prefix");
  expect_error_with("/added_tokens/0/lstrip", true, unsupported, "lstrip");
  expect_error_with("/post_processor/type", "Sequence", unsupported, "Sequence");
  expect_error_with("/padding", {{"pad_id", 0}, {"direction", "Left"}}, unsupported, "Left");
  expect_error_with("/truncation", {{"max_length", 9}, {"direction", "Left"}}, unsupported, "Left");
}

TEST(UnknownTokenizer, DeepNestingIsAnError) {
  std::string normalizer = R"({"type": "NFC"})";
  for (int i = 0; i < 20; ++i)
    normalizer = R"({"type": "Sequence", "normalizers": [)" + normalizer + "]}";
  expect_error_with("/normalizer", Json::parse(normalizer), ErrorCode::kUnsupported, "deep");
  const std::string brackets = test::repeat("[", 1000000);
  EXPECT_FALSE(Tokenizer::from_tokenizer_json(brackets).ok());
  EXPECT_FALSE(Tokenizer::from_tokenizer_json(brackets + test::repeat("]", 1000000)).ok());
}

TEST(DamagedTokenizer, BrowserFile) {
  const Json whole = test::read_json_fixture("small_tokenizer.json").at("model");
  Json json = {{"encoder", whole.at("vocab")}, {"merges", whole.at("merges")}};
  const auto error = [&] { return Tokenizer::from_clip_json(json.dump()).error().message; };
  EXPECT_THAT(error(), HasSubstr("byte_encoder"));
  json["byte_encoder"] = {{"0", "a"}};
  EXPECT_THAT(error(), HasSubstr("byte_encoder.1"));
  json["byte_encoder"] = test::read_json_fixture("clip_tokenizer.json").at("byte_encoder");
  EXPECT_TRUE(Tokenizer::from_clip_json(json.dump()).ok());
  json["encoder"].erase("<|endoftext|>");
  EXPECT_THAT(error(), HasSubstr("<|endoftext|>"));
}

}  // namespace
}  // namespace sam3
