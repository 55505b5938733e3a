// Addresses of http and https: what may be followed, and with what.
#pragma once

#include <string>
#include <string_view>

#include "sam3/result.h"

namespace sam3::fetch {

struct Url {
  std::string text;    // as it is sent, without fragment
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case
  std::string port;    // also when it is the scheme's own

  // For messages: without query, which is where signed addresses keep what should stay secret.
  std::string shown() const { return text.substr(0, text.find('?')); }
};

// kInvalidArgument for what is no address, for other schemes, and for one with a user name or
// password in it (Error::message then does not repeat the address).
Result<Url> parse_url(const std::string& text);

// Where a redirect from `from` leads; `location` may be relative. Errors as above, and for a way
// from https to http.
Result<Url> redirect_target(const Url& from, const std::string& location);

// Same scheme, host and port: who may see a token that was meant for the other.
bool same_origin(const Url& a, const Url& b);

// Everything but letters, digits and -._~ as %XX; `keep` names further bytes to leave as they are.
std::string percent_encoded(std::string_view text, std::string_view keep = "");

}  // namespace sam3::fetch
