// Work in parallel without owning threads: the caller passes a runner.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sam3 {

// Calls body(i) once for every i in [0, count), in any order, possibly at the same time, and
// returns when all calls have returned. `body` must not throw.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;

// Runs everything in the calling thread.
void run_serially(std::int64_t count, const std::function<void(std::int64_t)>& body);

// A fixed number of threads. run() may be called from several threads; the calls wait for each
// other. The calling thread works too, so ThreadPool(1) starts no thread.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void run(std::int64_t count, const std::function<void(std::int64_t)>& body);
  // A runner that uses this pool; the pool must outlive it.
  ParallelFor runner();

 private:
  void work();
  void drain(std::unique_lock<std::mutex>& lock);

  std::mutex one_job_;  // held for the length of a job
  std::mutex mutex_;    // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::int64_t next_ = 0;
  std::int64_t count_ = 0;
  std::int64_t running_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

// Processors that this process may use: the smaller of the affinity mask and the cgroup's CPU
// quota (version 1 or 2, rounded up), at least 1.
int available_processors();

}  // namespace sam3
