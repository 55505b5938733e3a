#include "runtime/tensor_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "runtime/engine.h"

namespace sam3::runtime {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class TensorMemoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { Engine::create({}).value(); }
  void SetUp() override { release_unused_memory(); }
  void TearDown() override { release_unused_memory(); }

  static void* take(std::size_t size) { return tensor_memory()->Alloc(tensor_memory(), size); }
  static void give(void* block) { tensor_memory()->Free(tensor_memory(), block); }
};

TEST_F(TensorMemoryTest, BlocksAreAlignedAndWritable) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, kMiB, 4 * kMiB, 5 * kMiB + 3}) {
    void* block = take(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U) << size;
    std::memset(block, 1, size);
    give(block);
  }
  EXPECT_EQ(take(0), nullptr);
  give(nullptr);
}

TEST_F(TensorMemoryTest, ALargeBlockServesTheNextOneOfAboutItsSize) {
  void* first = take(20 * kMiB);
  EXPECT_EQ(memory_use().large, 20 * kMiB);
  give(first);
  EXPECT_EQ(memory_use().large, 0U);
  EXPECT_EQ(memory_use().unused, 20 * kMiB);
  void* much_smaller = take(10 * kMiB);
  EXPECT_NE(much_smaller, first);
  void* smaller = take(18 * kMiB);
  EXPECT_EQ(smaller, first);
  EXPECT_EQ(memory_use().unused, 0U);
  give(much_smaller);
  give(smaller);
  EXPECT_EQ(memory_use().large, 0U);
  release_unused_memory();
  EXPECT_EQ(memory_use().unused, 0U);
}

TEST_F(TensorMemoryTest, WhatIsKeptIsBounded) {
  void* blocks[5];
  for (void*& block : blocks) block = take(100 * kMiB);
  for (void* block : blocks) give(block);
  EXPECT_EQ(memory_use().unused, 200 * kMiB);
  give(take(300 * kMiB));
  EXPECT_EQ(memory_use().unused, 200 * kMiB);
}

TEST_F(TensorMemoryTest, TooMuchIsAnError) {
  EXPECT_THROW(take(std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace sam3::runtime
