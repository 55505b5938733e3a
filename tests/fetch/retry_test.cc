#include "fetch/retry.h"

#include <gmock/gmock.h>

#include <ctime>

namespace sam3::fetch {
namespace {

using testing::HasSubstr;

const Error kDropped{ErrorCode::kUnavailable, "dropped", "", ""};
const RetryOptions kQuick{3, 0, 1};

TEST(Retries, EndWhenItIsDone) {
  int calls = 0;
  EXPECT_TRUE(with_retries(kQuick, [&] {
                return ++calls < 3 ? failed_attempt(kDropped) : Attempt{};
              }).ok());
  EXPECT_EQ(calls, 3);
}

TEST(Retries, AreCounted) {
  int calls = 0;
  const Status status = with_retries(kQuick, [&] {
    ++calls;
    return failed_attempt(kDropped);
  });
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(status.error().message, HasSubstr("3 more tries"));
}

TEST(Retries, ProgressBeginsTheCountAnew) {
  int calls = 0;
  const Status status = with_retries(kQuick, [&] {
    Attempt attempt = failed_attempt(kDropped);
    attempt.progressed = ++calls <= 10;
    return attempt;
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(calls, 13);
}

TEST(Retries, NotForWhatTheyDoNotHelp) {
  int calls = 0;
  EXPECT_FALSE(with_retries(kQuick, [&] {
                 ++calls;
                 return failed_attempt({ErrorCode::kBadData, "wrong", "", ""});
               }).ok());
  EXPECT_EQ(calls, 1);
}

TEST(Retries, LongWaitsAreRefused) {
  int calls = 0;
  const Status status = with_retries(kQuick, [&] {
    ++calls;
    Attempt attempt = failed_attempt(kDropped);
    attempt.pause = 11;
    return attempt;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(status.error().message, HasSubstr("11 s"));
}

TEST(Retries, OfStatuses) {
  const Url url = parse_url("http://example.org/x?secret").value();
  for (const long status : {408L, 429L, 500L, 502L, 503L, 504L}) {
    HttpResponse response;
    response.status = status;
    response.retry_after = "7";
    const Attempt attempt = refused_attempt(response, url);
    EXPECT_TRUE(attempt.again) << status;
    EXPECT_EQ(attempt.pause, 7) << status;
    EXPECT_THAT(attempt.error->to_string(), HasSubstr(std::to_string(status)));
    EXPECT_THAT(attempt.error->to_string(), testing::Not(HasSubstr("secret")));
  }
  for (const long status : {204L, 304L, 400L, 401L, 403L, 404L, 410L, 416L, 501L}) {
    HttpResponse response;
    response.status = status;
    EXPECT_FALSE(refused_attempt(response, url).again) << status;
  }
}

TEST(Retries, RetryAfterHeader) {
  EXPECT_EQ(seconds_of_retry_after("120"), 120);
  EXPECT_EQ(seconds_of_retry_after("-5"), 0);
  EXPECT_EQ(seconds_of_retry_after(""), 0);
  EXPECT_EQ(seconds_of_retry_after("soon"), 0);
  EXPECT_EQ(seconds_of_retry_after("99999999999999999999"), 1e9);
  EXPECT_EQ(seconds_of_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0);
  const std::time_t later = std::time(nullptr) + 600;
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&later));
  EXPECT_NEAR(seconds_of_retry_after(text), 600, 5);
}

}  // namespace
}  // namespace sam3::fetch
