// Trying again: how often, after which pauses.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "fetch/http.h"
#include "sam3/result.h"

namespace sam3::fetch {

struct RetryOptions {
  int retries = 5;            // in a row without progress
  double first_pause = 1;     // seconds; doubled each time
  double longest_pause = 30;  // Retry-After may ask for ten times as much
};

// One try.
struct Attempt {
  std::optional<Error> error;  // nothing: done
  bool again = false;          // another try may help
  bool progressed = false;     // it brought something, so the count begins anew
  double pause = 0;            // seconds that the server asks for; 0: as the options say
};

// Tries until it is done, another try is pointless, or there were too many; returns the last error,
// which then says so. Pauses in the calling thread; each is told to the log.
Status with_retries(const RetryOptions& options, const std::function<Attempt()>& attempt);

// What a transport error means for the next try.
Attempt failed_attempt(const Error& error);

// A status that is not what was asked for, as a sentence about `url`; 429 and the passing troubles
// of servers (408, 5xx) may be tried again.
Attempt refused_attempt(const HttpResponse& response, const Url& url);

// The seconds that a Retry-After header asks for: a number, or a date; 0 if it is neither.
double seconds_of_retry_after(const std::string& value);

}  // namespace sam3::fetch
