// Checked reading of JSON objects: every call is an error that names the place instead of an
// exception.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sam3/result.h"

namespace sam3::text {

using Json = nlohmann::json;

// kBadData with the place of the damage.
Error bad_json(std::string what);
// kUnsupported.
Error unsupported_json(std::string what);

// The whole document, which must be an object.
Result<Json> parse_json(std::string_view text);

// The member, or nullptr if it is absent or null. `object` may be of any type.
const Json* find_member(const Json& object, const char* key);
// `where` is the name of `object` for the message.
Result<const Json*> need_member(const Json& object, const char* key, std::string_view where);

Result<std::string> need_string(const Json& object, const char* key, std::string_view where);
Result<bool> bool_or(const Json& object, const char* key, bool value, std::string_view where);

// Token ids are whole numbers from 0 to 2^31 - 1.
Result<std::int32_t> to_id(const Json& value, std::string_view where);
Result<std::int32_t> need_id(const Json& object, const char* key, std::string_view where);

}  // namespace sam3::text
