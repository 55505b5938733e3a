#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sam3 {
namespace {

TEST(Log, LinesGoToTheHookAndNowhereElse) {
  std::vector<std::string> lines;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  log_line(LogLevel::kError, "nobody listens");
  set_log_hook([&](LogLevel level, std::string_view message) {
    lines.push_back((level == LogLevel::kWarning ? "warning " : "other ") + std::string(message));
  });
  log_line(LogLevel::kWarning, "100 %s");
  set_log_hook(nullptr);
  log_line(LogLevel::kWarning, "nobody listens any more");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(lines, std::vector<std::string>{"warning 100 %s"});
}

}  // namespace
}  // namespace sam3
