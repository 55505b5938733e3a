#include "eval/json_fields.h"

#include <cmath>
#include <limits>

#include "base/json_text.h"
#include "base/macros.h"

namespace sam3::eval {
namespace {

using nlohmann::json;

// Whole numbers up to here are exact in a double.
constexpr double kExact = 9007199254740992.0;

std::optional<std::int64_t> whole(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) <= kExact) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

Error bad_json(const std::string& where, const std::string& what) {
  return {ErrorCode::kBadData, where.empty() ? what : where + ": " + what, "", ""};
}

Result<json> parse_json(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return bad_json("", "this is no JSON, at byte " + std::to_string(error.byte));
  } catch (const json::exception& error) {
    return bad_json("", std::string("this JSON cannot be read: ") + error.what());
  }
}

Result<Fields> Fields::of(const json& value, const std::string& where) {
  if (!value.is_object()) return bad_json(where, shown_json(value) + " is no object");
  return Fields(value, where);
}

const json* Fields::find(const char* key) const {
  const auto member = value_->find(key);
  return member == value_->end() || member->is_null() ? nullptr : &*member;
}

Error Fields::error(const char* key, const std::string& what) const {
  return bad_json(where_->empty() ? key : *where_ + "." + key, what);
}

Result<std::int64_t> Fields::integer(const char* key) const {
  const json* value = find(key);
  if (!value) return error(key, "missing");
  const auto number = whole(*value);
  if (!number) return error(key, shown_json(*value) + " is no whole number");
  return *number;
}

Result<std::int64_t> Fields::integer_or(const char* key, std::int64_t otherwise) const {
  if (!find(key)) return otherwise;
  return integer(key);
}

Result<double> Fields::number(const char* key) const {
  const json* value = find(key);
  if (!value) return error(key, "missing");
  if (!value->is_number() || !std::isfinite(value->get<double>()))
    return error(key, shown_json(*value) + " is no number");
  return value->get<double>();
}

Result<std::string> Fields::text_or(const char* key, const std::string& otherwise) const {
  const json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_string()) return error(key, shown_json(*value) + " is no text");
  return value->get<std::string>();
}

Result<bool> Fields::flag_or(const char* key, bool otherwise) const {
  const json* value = find(key);
  if (!value) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  const auto number = whole(*value);
  if (!number || *number < 0 || *number > 1)
    return error(key, shown_json(*value) + " is not 0 or 1");
  return *number == 1;
}

Result<const json*> Fields::list(const char* key) const {
  const json* value = find(key);
  if (!value) return error(key, "missing");
  if (!value->is_array()) return error(key, shown_json(*value) + " is no list");
  return value;
}

Result<std::vector<double>> numbers(const json& value, const std::string& where) {
  if (!value.is_array()) return bad_json(where, shown_json(value) + " is no list of numbers");
  std::vector<double> result;
  result.reserve(value.size());
  for (const json& entry : value) {
    if (!entry.is_number() || !std::isfinite(entry.get<double>()))
      return bad_json(where, shown_json(entry) + " is no number");
    result.push_back(entry.get<double>());
  }
  return result;
}

}  // namespace sam3::eval
