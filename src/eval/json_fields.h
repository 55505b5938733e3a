// Members of JSON objects, with errors that say where.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::eval {

// kBadData, "WHERE: WHAT".
Error bad_json(const std::string& where, const std::string& what);

// kBadData with the byte where the text stops being JSON.
Result<nlohmann::json> parse_json(std::string_view text);

// An object whose place in the file is known: "annotations[3]". Both outlive it.
class Fields {
 public:
  // kBadData unless `value` is an object.
  static Result<Fields> of(const nlohmann::json& value, const std::string& where);

  // nullptr for a member that is missing or null.
  const nlohmann::json* find(const char* key) const;
  Error error(const char* key, const std::string& what) const;

  // Whole numbers, also written as 1.0.
  Result<std::int64_t> integer(const char* key) const;
  Result<std::int64_t> integer_or(const char* key, std::int64_t otherwise) const;
  Result<double> number(const char* key) const;
  Result<std::string> text_or(const char* key, const std::string& otherwise) const;
  // true, false, 0 or 1.
  Result<bool> flag_or(const char* key, bool otherwise) const;
  // A list; kBadData if it is missing.
  Result<const nlohmann::json*> list(const char* key) const;

 private:
  Fields(const nlohmann::json& value, const std::string& where) : value_(&value), where_(&where) {}

  const nlohmann::json* value_;
  const std::string* where_;
};

// All numbers of a list; kBadData for another kind or one that is not finite.
Result<std::vector<double>> numbers(const nlohmann::json& value, const std::string& where);

}  // namespace sam3::eval
