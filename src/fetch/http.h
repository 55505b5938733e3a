// GET over http and https with libcurl: one answer, its redirects followed, none of its rules bent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fetch/url.h"
#include "sam3/result.h"

namespace sam3::fetch {

struct HttpOptions {
  std::string token;         // sent as a bearer token, to `token_origin` only
  std::string token_origin;  // an address of the server that it is meant for
  std::string user_agent = "sam3";
  // A server that sends less than about 1 KB/s for so long, or does not answer for so long, is
  // given up.
  double stall_seconds = 30;
};

// What a server answered, without the body.
struct HttpResponse {
  long status = 0;
  std::optional<std::int64_t> content_length;
  std::string content_range;
  std::string etag;
  std::string last_modified;
  std::string retry_after;
  std::string link;
  std::string error_code;  // X-Error-Code, by which hubs say why
};

struct HttpRequest {
  Url url;
  std::int64_t offset = 0;  // asks for what follows these bytes, if not 0
  std::string if_range;     // with offset: only if this ETag or date is still right
};

// Takes a body as it comes.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // Before the first byte, for every final answer. False: the body is not wanted.
  virtual Result<bool> begin(const HttpResponse& response) = 0;
  virtual Status read(std::string_view bytes) = 0;
};

// Not for several threads at once. Connections are kept open between calls.
class HttpClient {
 public:
  // kInvalidArgument for a token that cannot stand in a header.
  static Result<HttpClient> create(const HttpOptions& options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // The final answer, whatever its status; redirects are followed ten times, to http and https
  // only, never from https to http, and the token never to another origin. Errors: those of
  // `body`; kUnavailable when the connection fails or breaks off (another try may help);
  // kRuntime for what another try does not help (no such host on first contact, bad certificate,
  // redirects in a circle or to where they must not lead).
  Result<HttpResponse> get(const HttpRequest& request, BodyReader& body);
  // The last final answer; status 0 if the last call had none.
  const HttpResponse& last() const;

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace sam3::fetch
