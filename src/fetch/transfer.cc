#include "fetch/transfer.h"

#include <algorithm>
#include <charconv>

#include "base/macros.h"

namespace sam3::fetch {
namespace {

constexpr std::size_t kHeadBytes = 512;             // enough to know a web page or a pointer by
constexpr std::int64_t kProgressBytes = 64 * 1024;  // a try that brings as much was worth it

Error bad(std::string message, const Url& url) {
  return Error{ErrorCode::kBadData, std::move(message), url.shown(), ""};
}

std::string bytes_text(std::int64_t bytes) { return std::to_string(bytes) + " bytes"; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// What If-Range may name: a weak ETag does not promise the same bytes.
std::string strong_validator(const HttpResponse& response) {
  const bool strong = !response.etag.empty() && !response.etag.starts_with("W/");
  return strong ? response.etag : response.last_modified;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "bytes 5-9/10", "bytes 5-9/*", "bytes */10".
struct ContentRange {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> total;
};

ContentRange parse_content_range(std::string_view text) {
  ContentRange range;
  const std::size_t slash = text.find('/');
  if (!text.starts_with("bytes ") || slash == std::string_view::npos) return range;
  range.total = number(text.substr(slash + 1));
  const std::string_view span = text.substr(6, slash - 6);
  range.first = number(span.substr(0, span.find('-')));
  return range;
}

class TextBody : public BodyReader {
 public:
  TextBody(const Url& url, std::int64_t most) : url_(url), most_(most) {}

  Result<bool> begin(const HttpResponse& response) override { return response.status == 200; }

  Status read(std::string_view bytes) override {
    text_ += bytes;
    if (static_cast<std::int64_t>(text_.size()) > most_)
      return bad("the server sends more than the " + bytes_text(most_) + " that make sense here",
                 url_);
    return {};
  }

  std::string take() { return std::move(text_); }

 private:
  const Url& url_;
  std::int64_t most_;
  std::string text_;
};

class NoBody : public BodyReader {
 public:
  Result<bool> begin(const HttpResponse&) override { return false; }
  Status read(std::string_view) override { return {}; }
};

// Puts what comes into the part, after a look at how it begins.
class FileBody : public BodyReader {
 public:
  enum class Outcome { kTaken, kRefused, kRestart, kComplete };

  FileBody(const FileRequest& request, PartFile& part) : request_(request), part_(part) {}

  Outcome outcome() const { return outcome_; }

  Result<bool> begin(const HttpResponse& response) override {
    const ContentRange range = parse_content_range(response.content_range);
    if (response.status == 200) return begin_whole(response);
    if (response.status == 206) return begin_rest(response, range);
    outcome_ = Outcome::kRefused;
    if (response.status == 416 && part_.size() > 0) {
      const auto& wanted = request_.file.bytes;
      const bool complete = (range.total ? range.total : wanted) == part_.size();
      outcome_ = complete && !wanted ? Outcome::kComplete : Outcome::kRestart;
    }
    return false;
  }

  Status read(std::string_view bytes) override {
    if (!head_done_) {
      head_ += bytes;
      if (head_.size() < kHeadBytes) return {};
      return take_head();
    }
    return append(bytes);
  }

  // When the answer has ended.
  Status finish() { return outcome_ == Outcome::kTaken && !head_done_ ? take_head() : Status(); }

 private:
  Result<bool> begin_whole(const HttpResponse& response) {
    const auto& wanted = request_.file.bytes;
    if (wanted && response.content_length && *response.content_length != *wanted)
      wrong_size_ = "the server offers " + bytes_text(*response.content_length) +
                    " instead of the " + std::to_string(*wanted) + " that are listed";
    validator_ = strong_validator(response);
    return true;
  }

  Result<bool> begin_rest(const HttpResponse& response, const ContentRange& range) {
    const auto& wanted = request_.file.bytes;
    if (part_.size() == 0)
      return bad("the server answers with a part (206) where the whole was asked for",
                 request_.url);
    if (wanted && range.total && *range.total != *wanted)
      return bad("the server offers " + bytes_text(*range.total) + " instead of the " +
                     std::to_string(*wanted) + " that are listed",
                 request_.url);
    const bool other = !response.etag.empty() && part_.validator().starts_with('"') &&
                       response.etag != part_.validator();
    if (range.first != part_.size() || other) {
      outcome_ = Outcome::kRestart;
      return false;
    }
    head_done_ = true;
    return true;
  }

  // Only now what was there before may go: a login page in the file's place should not cost it.
  Status take_head() {
    head_done_ = true;
    if (const auto what = impostor(request_.file.path, head_))
      return bad("the server sends " + *what + " instead of the file", request_.url);
    if (!wrong_size_.empty()) return bad(wrong_size_, request_.url);
    if (part_.size() > 0) SAM3_RETURN_IF_ERROR(part_.restart());
    SAM3_RETURN_IF_ERROR(part_.set_validator(validator_));
    return append(head_);
  }

  Status append(std::string_view bytes) {
    const auto& wanted = request_.file.bytes;
    if (wanted && static_cast<std::int64_t>(bytes.size()) > *wanted - part_.size()) {
      part_.discard();
      return bad("the server sends more than the " + bytes_text(*wanted) + " that are listed",
                 request_.url);
    }
    SAM3_RETURN_IF_ERROR(part_.append(bytes));
    if (request_.counter) request_.counter(part_.size());
    return {};
  }

  const FileRequest& request_;
  PartFile& part_;
  Outcome outcome_ = Outcome::kTaken;
  bool head_done_ = false;
  std::string head_;
  std::string wrong_size_;
  std::string validator_;
};

Attempt get_part(HttpClient& client, const FileRequest& request, PartFile& part) {
  const auto& wanted = request.file.bytes;
  const bool resumable = !part.validator().empty() || !request.file.sha256.empty();
  if (part.size() > 0 && (!resumable || (wanted && part.size() > *wanted)))
    if (const Status begun = part.restart(); !begun) return {begun.error(), false, false, 0};
  if (wanted && part.size() == *wanted) return {};
  FileBody body(request, part);
  const auto response = client.get({request.url, part.size(), part.validator()}, body);
  if (!response.ok()) return failed_attempt(response.error());
  if (const Status ended = body.finish(); !ended) return {ended.error(), false, false, 0};
  switch (body.outcome()) {
    case FileBody::Outcome::kRefused:
      return refused_attempt(*response, request.url);
    case FileBody::Outcome::kRestart:  // asks for no part the next time, so this ends
      if (const Status begun = part.restart(); !begun) return {begun.error(), false, false, 0};
      return get_part(client, request, part);
    case FileBody::Outcome::kComplete:
    case FileBody::Outcome::kTaken:
      break;
  }
  if (!wanted || part.size() == *wanted) return {};
  return failed_attempt(
      Error{ErrorCode::kUnavailable,
            "the server ended after " + std::to_string(part.size()) + " of " + bytes_text(*wanted),
            request.url.shown(), ""});
}

Status get_whole(HttpClient& client, const FileRequest& request, const RetryOptions& retry,
                 PartFile& part) {
  std::int64_t best = part.size();
  return with_retries(retry, [&] {
    Attempt attempt = get_part(client, request, part);
    attempt.progressed = part.size() >= best + kProgressBytes;
    best = std::max(best, part.size());
    return attempt;
  });
}

}  // namespace

std::optional<std::string> impostor(std::string_view path, std::string_view head) {
  if (head.starts_with("version https://git-lfs.github.com/spec/")) return "a Git LFS pointer";
  const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string start = lower_case(head.substr(first, 14));
  const bool page = start.starts_with("<!doctype html") || start.starts_with("<html");
  if (page && !path.ends_with(".html") && !path.ends_with(".md")) return "a web page";
  return std::nullopt;
}

Result<std::string> get_text(HttpClient& client, const Url& url, const RetryOptions& retry,
                             std::int64_t most, HttpResponse* response) {
  std::string text;
  SAM3_RETURN_IF_ERROR(with_retries(retry, [&]() -> Attempt {
    TextBody body(url, most);
    const auto answer = client.get({url, 0, ""}, body);
    if (!answer.ok()) return failed_attempt(answer.error());
    if (response) *response = *answer;
    if (answer->status != 200) return refused_attempt(*answer, url);
    text = body.take();
    return {};
  }));
  return text;
}

Result<std::optional<Probe>> probe(HttpClient& client, const Url& url, const RetryOptions& retry) {
  std::optional<Probe> found;
  SAM3_RETURN_IF_ERROR(with_retries(retry, [&]() -> Attempt {
    NoBody body;
    const auto answer = client.get({url, 0, ""}, body);
    if (!answer.ok()) return failed_attempt(answer.error());
    if (answer->status == 404 || answer->status == 410) return {};
    if (answer->status != 200) return refused_attempt(*answer, url);
    found = Probe{answer->content_length, strong_validator(*answer)};
    return {};
  }));
  return found;
}

Status get_file(HttpClient& client, const FileRequest& request, const RetryOptions& retry) {
  for (bool first = true;; first = false) {
    SAM3_ASSIGN_OR_RETURN(PartFile part, PartFile::open(request.target, request.file.version));
    const bool resumed = part.size() > 0;
    if (request.counter) request.counter(part.size());
    SAM3_RETURN_IF_ERROR(get_whole(client, request, retry, part));
    const std::string sum = part.sha256();
    if (request.file.sha256.empty() || sum == request.file.sha256) return part.finish();
    part.discard();
    // What lay here before may be what is wrong.
    if (resumed && first) continue;
    return bad("the file has the SHA-256 " + sum + " instead of " + request.file.sha256,
               request.url);
  }
}

}  // namespace sam3::fetch
