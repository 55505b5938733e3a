#include "fetch/url.h"

#include <curl/curl.h>

#include <memory>
#include <optional>

namespace sam3::fetch {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::optional<std::string> part(CURLU* handle, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(handle, what, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string copy(text);
  curl_free(text);
  return copy;
}

Error bad_url(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "", ""};
}

Result<Url> taken_apart(CURLU* handle, const std::string& text) {
  if (part(handle, CURLUPART_USER) || part(handle, CURLUPART_PASSWORD))
    return bad_url("an address with a user name or password in it is not used; give a token");
  const std::string scheme = part(handle, CURLUPART_SCHEME).value_or("");
  if (scheme != "http" && scheme != "https")
    return bad_url("'" + text + "' is neither an http nor an https address");
  curl_url_set(handle, CURLUPART_FRAGMENT, nullptr, 0);
  const auto whole = part(handle, CURLUPART_URL);
  const auto host = part(handle, CURLUPART_HOST);
  if (!whole || !host || host->empty()) return bad_url("'" + text + "' is not an address");
  Url url{*whole, scheme, *host, part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("")};
  for (char& c : url.host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return url;
}

}  // namespace

Result<Url> parse_url(const std::string& text) {
  const Handle handle(curl_url(), &curl_url_cleanup);
  const bool has_nul = text.find('\0') != std::string::npos;
  if (has_nul || !handle ||
      curl_url_set(handle.get(), CURLUPART_URL, text.c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return bad_url("'" + text + "' is not an address");
  return taken_apart(handle.get(), text);
}

Result<Url> redirect_target(const Url& from, const std::string& location) {
  const Handle handle(curl_url(), &curl_url_cleanup);
  constexpr unsigned kFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE;
  if (!handle ||
      curl_url_set(handle.get(), CURLUPART_URL, from.text.c_str(), kFlags) != CURLUE_OK ||
      curl_url_set(handle.get(), CURLUPART_URL, location.c_str(), kFlags) != CURLUE_OK)
    return bad_url("'" + location.substr(0, location.find('?')) + "' is not an address");
  Result<Url> target = taken_apart(handle.get(), location.substr(0, location.find('?')));
  if (target.ok() && from.scheme == "https" && target->scheme != "https")
    return bad_url("'" + target->shown() + "' leaves https");
  return target;
}

bool same_origin(const Url& a, const Url& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

std::string percent_encoded(std::string_view text, std::string_view keep) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       keep.find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      encoded += c;
    else
      encoded.append({'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]});
  }
  return encoded;
}

}  // namespace sam3::fetch
