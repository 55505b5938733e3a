#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace sam3 {
namespace {

TEST(ThreadPool, CallsEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      for (const auto& call : calls) EXPECT_EQ(call, 1);
    }
  }
}

TEST(ThreadPool, SerialPoolStaysInTheCallingThread) {
  ThreadPool pool(1);
  std::set<std::thread::id> seen;
  pool.run(10, [&](std::int64_t) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
}

TEST(ThreadPool, MayBeSharedByCallers) {
  ThreadPool pool(3);
  const ParallelFor runner = pool.runner();
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        runner(20, [&](std::int64_t i) { sum += static_cast<int>(i); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 50 * 190);
}

TEST(AvailableProcessors, FollowsTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(available_processors(), 1);
  EXPECT_LE(available_processors(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_processors(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace sam3
