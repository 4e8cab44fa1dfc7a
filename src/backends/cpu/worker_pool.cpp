// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace myriarm::cpu {

unsigned host_threads() {
  static const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  return threads;
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::run(unsigned wanted, const std::function<void()>& work) {
  if (wanted > threads_) wanted = threads_;
  if (wanted <= 1) return work();
  try {
    while (workers_.size() < wanted - 1) {
      // A new thread has missed the calls so far, and must not take one of them for its own.
      workers_.emplace_back(
          [this, index = static_cast<unsigned>(workers_.size()) + 1, seen = generation_] { loop(index, seen); });
    }
  } catch (const std::system_error&) {
    // The host refuses more threads: the existing ones do the work.
  }
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    wanted_ = wanted;
    running_ = static_cast<unsigned>(workers_.size());
    generation_++;
  }
  start_.notify_all();
  guarded(work);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerPool::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void WorkerPool::loop(unsigned index, unsigned seen) {
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    const std::function<void()>* work = index < wanted_ ? work_ : nullptr;
    lock.unlock();
    if (work != nullptr) guarded(*work);
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace myriarm::cpu
