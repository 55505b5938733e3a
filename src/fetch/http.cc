#include "fetch/http.h"

#include <curl/curl.h>

#include <array>
#include <charconv>
#include <set>

#include "base/macros.h"

namespace sam3::fetch {
namespace {

constexpr int kMostRedirects = 10;
constexpr long kSlowBytesPerSecond = 1000;
constexpr std::size_t kMostHeaderBytes = 256 << 10;
constexpr std::size_t kMostRedirectBody = 64 << 10;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// One exchange, as libcurl's callbacks see it.
struct Exchange {
  HttpResponse response;
  std::string location;
  BodyReader* body = nullptr;
  std::optional<Error> error;  // of the body's reader, or of the headers
  bool begun = false;
  bool unwanted = false;
  std::size_t header_bytes = 0;
  std::size_t redirect_bytes = 0;

  bool is_redirect_answer() const { return is_redirect(response.status) && !location.empty(); }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // also of what comes after a 100
      response = {};
      location.clear();
      const std::size_t space = line.find(' ');
      if (space != std::string_view::npos)
        std::from_chars(line.data() + space + 1, line.data() + line.size(), response.status);
      return;
    }
    const std::size_t colon = line.find(':');
    if (begun || colon == std::string_view::npos) return;  // trailers say nothing we use
    const std::string name = lower_case(trimmed(line.substr(0, colon)));
    const std::string value(trimmed(line.substr(colon + 1)));
    if (name == "content-length") {
      std::int64_t length = 0;
      const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), length);
      if (code == std::errc{} && end == value.data() + value.size() && length >= 0)
        response.content_length = length;
      return;
    }
    const std::pair<std::string_view, std::string*> known[] = {
        {"location", &location},
        {"content-range", &response.content_range},
        {"etag", &response.etag},
        {"last-modified", &response.last_modified},
        {"retry-after", &response.retry_after},
        {"link", &response.link},
        {"x-error-code", &response.error_code}};
    for (const auto& [known_name, target] : known)
      if (name == known_name) *target = value;
  }

  // False ends the exchange.
  bool begin() {
    if (begun) return !unwanted && !error;
    begun = true;
    Result<bool> wanted = body->begin(response);
    if (!wanted.ok()) error = wanted.error();
    unwanted = wanted.ok() && !*wanted;
    return !unwanted && !error;
  }

  bool take_body(std::string_view bytes) {
    if (is_redirect_answer()) {
      redirect_bytes += bytes.size();
      return redirect_bytes <= kMostRedirectBody;
    }
    if (!begin()) return false;
    if (const Status status = body->read(bytes); !status) error = status.error();
    return !error;
  }
};

std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* exchange) {
  auto& self = *static_cast<Exchange*>(exchange);
  self.header_bytes += size;
  if (self.header_bytes > kMostHeaderBytes) return 0;
  self.take_header({bytes, size});
  return size;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* exchange) {
  return static_cast<Exchange*>(exchange)->take_body({bytes, size}) ? size : 0;
}

void only_http(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

// Another try cannot change these.
bool is_final(CURLcode code, bool reached) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
      return true;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return !reached;
    default:
      return false;
  }
}

struct HeaderList {
  ~HeaderList() { curl_slist_free_all(list); }
  void add(const std::string& line) {
    if (curl_slist* longer = curl_slist_append(list, line.c_str())) list = longer;
  }
  curl_slist* list = nullptr;
};

}  // namespace

struct HttpClient::State {
  ~State() { curl_easy_cleanup(curl); }

  Status exchange(const HttpRequest& request, bool trusted, Exchange& exchange);

  CURL* curl = nullptr;
  HttpOptions options;
  std::optional<Url> token_origin;
  std::array<char, CURL_ERROR_SIZE> message{};
  bool reached = false;  // a server has answered before
  HttpResponse last;
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::create(const HttpOptions& options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto state = std::make_unique<State>();
  state->curl = ready == CURLE_OK ? curl_easy_init() : nullptr;
  if (!state->curl) return Error{ErrorCode::kUnavailable, "libcurl cannot be started", "", ""};
  state->options = options;
  for (const char c : options.token)
    if (c < 0x21 || c > 0x7e)  // also bytes above 127, where char is signed
      return Error{ErrorCode::kInvalidArgument,
                   "the token has a blank or a character that no token has", "", ""};
  if (!options.token.empty()) {
    SAM3_ASSIGN_OR_RETURN(state->token_origin, parse_url(options.token_origin));
  }
  return HttpClient(std::move(state));
}

Status HttpClient::State::exchange(const HttpRequest& request, bool trusted, Exchange& exchange) {
  curl_easy_reset(curl);  // connections stay
  only_http(curl);
  HeaderList headers;
  headers.add("Accept: */*");
  if (trusted && token_origin && same_origin(*token_origin, request.url))
    headers.add("Authorization: Bearer " + options.token);
  if (request.offset > 0) {
    headers.add("Range: bytes=" + std::to_string(request.offset) + "-");
    if (!request.if_range.empty()) headers.add("If-Range: " + request.if_range);
  }
  const auto stall = static_cast<long>(options.stall_seconds < 1 ? 1 : options.stall_seconds);
  message[0] = '\0';
  curl_easy_setopt(curl, CURLOPT_URL, request.url.text.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.list);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, stall);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stall);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (exchange.error) return *exchange.error;
  reached = reached || exchange.response.status > 0;
  if (code == CURLE_OK || exchange.unwanted) return {};
  if (exchange.is_redirect_answer() && exchange.redirect_bytes > kMostRedirectBody) return {};
  const bool final = is_final(code, reached) || exchange.header_bytes > kMostHeaderBytes;
  return Error{final ? ErrorCode::kRuntime : ErrorCode::kUnavailable,
               message[0] ? message.data() : curl_easy_strerror(code), request.url.shown(), ""};
}

const HttpResponse& HttpClient::last() const { return state_->last; }

Result<HttpResponse> HttpClient::get(const HttpRequest& request, BodyReader& body) {
  state_->last = {};
  HttpRequest hop = request;
  bool trusted = true;
  std::set<std::string> visited;
  while (true) {
    if (!visited.insert(hop.url.text).second || visited.size() > kMostRedirects + 1)
      return Error{ErrorCode::kRuntime,
                   "the server's redirects do not end (" + hop.url.shown() + " after " +
                       std::to_string(visited.size()) + ")",
                   request.url.shown(), ""};
    Exchange exchange;
    exchange.body = &body;
    SAM3_RETURN_IF_ERROR(state_->exchange(hop, trusted, exchange));
    if (!exchange.is_redirect_answer()) {
      state_->last = exchange.response;
      if (!exchange.begin() && exchange.error) return *exchange.error;  // an empty body
      return exchange.response;
    }
    const Result<Url> target = redirect_target(hop.url, exchange.location);
    if (!target.ok())
      return Error{ErrorCode::kRuntime,
                   "the server's redirect is not followed: " + target.error().message,
                   request.url.shown(), ""};
    trusted = trusted && same_origin(hop.url, *target);
    hop.url = *target;
  }
}

}  // namespace sam3::fetch
