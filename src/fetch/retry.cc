#include "fetch/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "base/log.h"

namespace sam3::fetch {
namespace {

// Times the longest pause: a server that asks for more is better asked another day.
constexpr double kMostPatience = 10;
constexpr double kYears = 1e9;  // seconds; more than anyone waits

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<long long>(std::ceil(seconds))) + " s";
}

const char* meaning(long status) {
  switch (status) {
    case 400:
      return "bad request";
    case 401:
      return "a token is needed, or the one given is not accepted";
    case 403:
      return "access is refused";
    case 404:
      return "not found";
    case 408:
      return "the server waited too long";
    case 410:
      return "gone";
    case 416:
      return "range not satisfiable";
    case 429:
      return "too many requests";
    case 500:
      return "the server has failed";
    case 502:
    case 504:
      return "the server behind the gateway does not answer";
    case 503:
      return "the server is not available";
    default:
      return status < 300 ? "an answer that was not asked for" : "the server refuses";
  }
}

ErrorCode code_of(long status) {
  if (status == 404 || status == 410) return ErrorCode::kNotFound;
  return status < 300 ? ErrorCode::kBadData : ErrorCode::kUnavailable;
}

}  // namespace

Status with_retries(const RetryOptions& options, const std::function<Attempt()>& attempt) {
  int failures = 0;
  while (true) {
    Attempt result = attempt();
    if (!result.error) return {};
    if (!result.again) return *result.error;
    failures = result.progressed ? 1 : failures + 1;
    if (failures > options.retries) {
      if (options.retries > 0)
        result.error->message += " (after " + std::to_string(options.retries) + " more tries)";
      return *result.error;
    }
    if (result.pause > kMostPatience * options.longest_pause) {
      result.error->message += "; it asks to wait " + seconds_text(result.pause);
      return *result.error;
    }
    const double pause = result.pause > 0 ? result.pause
                                          : std::min(options.longest_pause,
                                                     options.first_pause * std::exp2(failures - 1));
    log_line(LogLevel::kWarning,
             result.error->to_string() + "; trying again in " + seconds_text(pause));
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

Attempt failed_attempt(const Error& error) {
  return {error, error.code == ErrorCode::kUnavailable, false, 0};
}

Attempt refused_attempt(const HttpResponse& response, const Url& url) {
  const long status = response.status;
  Attempt attempt;
  attempt.error =
      Error{code_of(status),
            "the server answers " + std::to_string(status) + " (" + meaning(status) + ")",
            url.shown(), ""};
  attempt.again =
      status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
  if (attempt.again) attempt.pause = seconds_of_retry_after(response.retry_after);
  return attempt;
}

double seconds_of_retry_after(const std::string& value) {
  long long seconds = 0;
  const char* end = value.data() + value.size();
  const auto [after, code] = std::from_chars(value.data(), end, seconds);
  if (after == end && code == std::errc::result_out_of_range) return kYears;
  if (after == end && code == std::errc{})
    return std::clamp(static_cast<double>(seconds), 0.0, kYears);
  const time_t date = curl_getdate(value.c_str(), nullptr);
  if (date < 0) return 0;
  return std::clamp(std::difftime(date, std::time(nullptr)), 0.0, kYears);
}

}  // namespace sam3::fetch
