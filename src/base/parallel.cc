#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace sam3 {

void run_serially(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Takes indices until none is left. The lock is released while a body runs.
void ThreadPool::drain(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::int64_t index = next_++;
    const auto* body = body_;
    ++running_;
    lock.unlock();
    (*body)(index);
    lock.lock();
    if (--running_ == 0 && next_ >= count_) done_.notify_all();
  }
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || next_ < count_; });
    if (stop_) return;
    drain(lock);
  }
}

void ThreadPool::run(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  if (count <= 0) return;
  if (workers_.empty() || count == 1) return run_serially(count, body);
  std::lock_guard job(one_job_);
  std::unique_lock lock(mutex_);
  body_ = &body;
  next_ = 0;
  count_ = count;
  wake_.notify_all();
  drain(lock);
  done_.wait(lock, [this] { return running_ == 0 && next_ >= count_; });
  body_ = nullptr;
  next_ = count_ = 0;
}

ParallelFor ThreadPool::runner() {
  return [this](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    run(count, body);
  };
}

namespace {

// Quota of this process's cgroup in processors; infinity without one.
double cgroup_quota() {
  double quota = INFINITY;
  std::ifstream self("/proc/self/cgroup");
  std::string line;
  while (std::getline(self, line)) {
    const std::size_t colon = line.find(':', line.find(':') + 1);
    if (colon == std::string::npos) continue;
    std::string path = line.substr(colon + 1);
    const bool version_2 = line.rfind("0::", 0) == 0;
    const bool cpu_1 = line.find(":cpu,") != std::string::npos ||
                       line.find(",cpu:") != std::string::npos ||
                       line.find(":cpu:") != std::string::npos;
    if (!version_2 && !cpu_1) continue;
    // A limit may stand at any level above; in a container only the root is visible.
    while (true) {
      const std::string at = path == "/" ? "" : path;
      if (version_2) {
        std::ifstream file("/sys/fs/cgroup" + at + "/cpu.max");
        std::string limit;
        double period = 0;
        if (file >> limit >> period && limit != "max" && period > 0)
          quota = std::min(quota, std::strtod(limit.c_str(), nullptr) / period);
      } else {
        std::ifstream limit_file("/sys/fs/cgroup/cpu" + at + "/cpu.cfs_quota_us");
        std::ifstream period_file("/sys/fs/cgroup/cpu" + at + "/cpu.cfs_period_us");
        double limit = 0;
        double period = 0;
        if (limit_file >> limit && period_file >> period && limit > 0 && period > 0)
          quota = std::min(quota, limit / period);
      }
      if (at.empty()) break;
      path = path.substr(0, path.rfind('/'));
      if (path.empty()) path = "/";
    }
  }
  return quota;
}

}  // namespace

int available_processors() {
  // A mask of fixed size fails on machines with more processors than it has bits.
  int count = 0;
  for (int bits = 1024; bits <= 65536; bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(bits));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    if (sched_getaffinity(0, bytes, set) == 0) count = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (count > 0) break;
  }
  if (count < 1) count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const double quota = cgroup_quota();
  if (std::isfinite(quota)) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(1, count);
}

}  // namespace sam3
