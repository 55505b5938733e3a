#include "text/json_fields.h"

#include <limits>
#include <utility>

#include "base/macros.h"

namespace sam3::text {
namespace {

std::string place(std::string_view where, const char* key) {
  return "\"" + std::string(where) + (where.empty() ? "" : ".") + key + "\"";
}

}  // namespace

Error bad_json(std::string what) {
  return {ErrorCode::kBadData, "tokenizer JSON: " + std::move(what), "", ""};
}

Error unsupported_json(std::string what) {
  return {ErrorCode::kUnsupported, "tokenizer JSON: " + std::move(what) + " is not supported", "",
          ""};
}

Result<Json> parse_json(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return bad_json("the " + std::to_string(text.size()) + " bytes are not valid JSON");
  if (!json.is_object()) return bad_json("the document is not an object");
  return json;
}

const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> need_member(const Json& object, const char* key, std::string_view where) {
  const Json* member = find_member(object, key);
  if (!member) return bad_json(place(where, key) + " is missing");
  return member;
}

Result<std::string> need_string(const Json& object, const char* key, std::string_view where) {
  SAM3_ASSIGN_OR_RETURN(const Json* member, need_member(object, key, where));
  if (!member->is_string()) return bad_json(place(where, key) + " is not a string");
  return *member->get_ptr<const std::string*>();
}

Result<bool> bool_or(const Json& object, const char* key, bool value, std::string_view where) {
  const Json* member = find_member(object, key);
  if (!member) return value;
  if (!member->is_boolean()) return bad_json(place(where, key) + " is neither true nor false");
  return *member->get_ptr<const bool*>();
}

Result<std::int32_t> to_id(const Json& value, std::string_view where) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > kMost)
    return bad_json("\"" + std::string(where) + "\" is not a token id");
  return static_cast<std::int32_t>(number);
}

Result<std::int32_t> need_id(const Json& object, const char* key, std::string_view where) {
  SAM3_ASSIGN_OR_RETURN(const Json* member, need_member(object, key, where));
  return to_id(*member, std::string(where) + "." + key);
}

}  // namespace sam3::text
