#include "runtime/tensor_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace sam3::runtime {
namespace {

constexpr std::size_t kAlignment = 64;  // of a cache line, and more than any vector unit asks for
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLarge = std::size_t{4} << 20;         // least size of a large block
constexpr std::size_t kMostUnused = std::size_t{256} << 20;  // bytes

constexpr std::size_t round_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// A block of whole pages; null if there is no memory. Not in large pages: on virtual machines the
// kernel took twice the time to find and clear them.
void* map_block(std::size_t size) {
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

class LargeBlocks {
 public:
  // Throws std::bad_alloc.
  void* take(std::size_t wanted) {
    const std::size_t size = round_up(wanted, kPage);
    std::lock_guard lock(mutex_);
    // Up to a quarter more than is needed may lie idle.
    if (const auto kept = unused_.lower_bound(size);
        kept != unused_.end() && kept->first <= size + size / 4) {
      const auto [found, block] = *kept;
      unused_.erase(kept);
      use_.unused -= found;
      return started(block, found);
    }
    void* block = map_block(size);
    if (!block) {
      release_all();
      block = map_block(size);
    }
    if (!block) throw std::bad_alloc();
    return started(block, size);
  }

  // False if the block is none of these.
  bool give(void* block) {
    std::lock_guard lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return false;
    const std::size_t size = found->second;
    sizes_.erase(found);
    use_.large -= size;
    if (size > kMostUnused) {
      munmap(block, size);
      return true;
    }
    // The largest ones go first: they are the soonest to be in the way.
    while (use_.unused + size > kMostUnused) release(std::prev(unused_.end()));
    unused_.emplace(size, block);
    use_.unused += size;
    return true;
  }

  void release_unused() {
    std::lock_guard lock(mutex_);
    release_all();
  }

  MemoryUse use() {
    std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  void* started(void* block, std::size_t size) {
    sizes_[block] = size;
    use_.large += size;
    return block;
  }

  void release(std::multimap<std::size_t, void*>::iterator kept) {
    munmap(kept->second, kept->first);
    use_.unused -= kept->first;
    unused_.erase(kept);
  }

  void release_all() {
    while (!unused_.empty()) release(unused_.begin());
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;  // of the blocks in use
  std::multimap<std::size_t, void*> unused_;
  MemoryUse use_;
};

// Never destroyed: the engine may outlive every object of ours.
LargeBlocks& large_blocks() {
  static auto* const blocks = new LargeBlocks;
  return *blocks;
}

void* ORT_API_CALL allocate(OrtAllocator*, std::size_t size) {
  if (size == 0) return nullptr;
  if (size >= kLarge) return large_blocks().take(size);
  void* block = std::aligned_alloc(kAlignment, round_up(size, kAlignment));
  if (!block) throw std::bad_alloc();
  return block;
}

void ORT_API_CALL release(OrtAllocator*, void* block) {
  if (!large_blocks().give(block)) std::free(block);
}

struct TensorMemory : OrtAllocator {
  TensorMemory()
      : OrtAllocator{}, info(Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault)) {
    version = ORT_API_VERSION;
    Alloc = allocate;
    Reserve = allocate;
    Free = release;
    Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* {
      return static_cast<const TensorMemory*>(self)->info;
    };
  }
  Ort::MemoryInfo info;
};

}  // namespace

OrtAllocator* tensor_memory() {
  static auto* const memory = new TensorMemory;
  return memory;
}

void release_unused_memory() { large_blocks().release_unused(); }

MemoryUse memory_use() { return large_blocks().use(); }

}  // namespace sam3::runtime
