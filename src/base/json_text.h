// JSON values in messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace sam3 {

// A value of a hostile file as it stands there, cut to `most` bytes. What holds lists or objects is
// only named: writing it out would need as much stack as it is deep.
template <typename Json>
std::string shown_json(const Json& value, std::size_t most = 60) {
  const auto is_structured = [](const Json& part) { return part.is_structured(); };
  if (value.is_structured() && std::any_of(value.begin(), value.end(), is_structured))
    return std::string("a nested ") + value.type_name();
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

}  // namespace sam3
