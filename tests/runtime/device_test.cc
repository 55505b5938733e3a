#include "runtime/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine.h"

namespace sam3::runtime {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Device, ParsesNamesAndIndices) {
  EXPECT_EQ(parse_device("cpu").value().name, "cpu");
  EXPECT_EQ(parse_device("cuda:2").value().index, 2);
  for (const char* bad : {"banana", "", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU"}) {
    const auto device = parse_device(bad);
    ASSERT_FALSE(device.ok()) << bad;
    EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(device.error().message, HasSubstr("openvino"));
  }
}

TEST(Engine, ReportsRequestedAndEffectiveDevice) {
  const auto engine = Engine::create({.device = "auto", .threads = 1}).value();
  EXPECT_EQ(engine->requested_device(), "auto");
  EXPECT_EQ(engine->effective_device(), "cpu");
  EXPECT_THAT(engine->library().devices, Contains("cpu"));
  EXPECT_EQ(engine->threads(), 1);
}

TEST(Engine, ADeviceThatCannotBeHadIsAnError) {
  const auto engine = Engine::create({.device = "coreml"});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(engine.error().message, HasSubstr("'coreml' cannot be had"));
  EXPECT_EQ(Engine::create({.device = "cpu:1"}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(Engine::create({.device = "cpu:0"}).ok());
  EXPECT_EQ(Engine::create({.device = "banana"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Engine::create({.threads = -1}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Engine, LivesTwiceInAProcess) {
  for (int round = 0; round < 2; ++round) {
    auto engine = Engine::create({.threads = 1 + round});
    ASSERT_TRUE(engine.ok());
    EXPECT_EQ((*engine)->threads(), 1 + round);
  }
}

}  // namespace
}  // namespace sam3::runtime
