#include "fetch/url.h"

#include <gmock/gmock.h>

namespace sam3::fetch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Url, Parts) {
  const Url url = parse_url("HTTP://Example.ORG/a b?key=1#part").value();
  EXPECT_EQ(url.scheme, "http");
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, "80");
  EXPECT_THAT(url.text, HasSubstr("/a%20b?key=1"));
  EXPECT_THAT(url.text, Not(HasSubstr("#part")));
  EXPECT_THAT(url.shown(), Not(HasSubstr("key")));
  EXPECT_EQ(parse_url("https://example.org").value().port, "443");
  EXPECT_EQ(parse_url("http://127.0.0.1:8000/x/").value().port, "8000");
}

TEST(Url, OtherSchemesAreRefused) {
  for (const char* text : {"file:///etc/passwd", "ftp://example.org/x", "gopher://example.org",
                           "dict://example.org", "", "://", "example.org/x", "http://"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(parse_url(std::string("http://a/\0b", 11)).ok());
}

TEST(Url, PasswordsAreRefusedAndNotRepeated) {
  for (const char* text : {"http://me:secret@example.org/x", "ftp://me:secret@example.org/x"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok());
    EXPECT_THAT(url.error().message, Not(HasSubstr("secret")));
  }
}

TEST(Url, Redirects) {
  const Url from = parse_url("https://example.org/a/b?x=1").value();
  EXPECT_EQ(redirect_target(from, "/c").value().text, "https://example.org/c");
  EXPECT_EQ(redirect_target(from, "c").value().text, "https://example.org/a/c");
  EXPECT_EQ(redirect_target(from, "//other.org/c").value().text, "https://other.org/c");
  EXPECT_EQ(redirect_target(from, "https://other.org/c?y=2").value().text,
            "https://other.org/c?y=2");
  for (const char* location : {"file:///etc/passwd", "ftp://other.org/c", "http://example.org/c",
                               "http://me:secret@example.org/"})
    EXPECT_FALSE(redirect_target(from, location).ok()) << location;
  const auto secret = redirect_target(from, "http://other.org/c?signature=abc");
  ASSERT_FALSE(secret.ok());
  EXPECT_THAT(secret.error().message, Not(HasSubstr("abc")));
}

TEST(Url, Origin) {
  const Url url = parse_url("https://example.org/a").value();
  EXPECT_TRUE(same_origin(url, parse_url("https://EXAMPLE.org:443/b").value()));
  for (const char* other : {"http://example.org/a", "https://example.org:444/a",
                            "https://www.example.org/a", "https://example.org.evil.org/a"})
    EXPECT_FALSE(same_origin(url, parse_url(other).value())) << other;
}

TEST(Url, Encoding) {
  EXPECT_EQ(percent_encoded("a-b_c.d~E9"), "a-b_c.d~E9");
  EXPECT_EQ(percent_encoded("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(percent_encoded("a b/c?d#e%\xc3\xbc", "/"), "a%20b/c%3Fd%23e%25%C3%BC");
}

}  // namespace
}  // namespace sam3::fetch
