#include "rewrite/rewrites.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sam3::rewrite {

namespace {

constexpr std::array kNames{
    std::pair{"detector-stages", &Rewrites::detector_stages},
    std::pair{"kept-masks", &Rewrites::kept_masks},
    std::pair{"attention", &Rewrites::attention},
};

}  // namespace

std::vector<std::string> rewrite_names() {
  std::vector<std::string> names;
  for (const auto& [name, member] : kNames) names.emplace_back(name);
  return names;
}

namespace {

Error unknown(std::string_view text) {
  std::string names;
  for (const std::string& name : rewrite_names()) names += (names.empty() ? "" : ", ") + name;
  return Error{ErrorCode::kInvalidArgument,
               "rewrite '" + std::string(text) +
                   "' is neither all, none or plain alone nor a list of -NAME; the names are " +
                   names,
               "", ""};
}

}  // namespace

Result<Rewrites> parse_rewrites(std::string_view text) {
  Rewrites rewrites;
  if (text == "all") return rewrites;
  if (text == "none") return kNone;
  if (text == "plain") return Rewrites{false, false, false, true};
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& entry) {
      return part.size() > 1 && part[0] == '-' && part.substr(1) == entry.first;
    });
    if (found == kNames.end()) return unknown(text);
    rewrites.*found->second = false;
    if (comma == rest.size()) return rewrites;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace sam3::rewrite
