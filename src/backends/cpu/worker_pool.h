// SPDX-License-Identifier: Apache-2.0
// Threads that wait for work, so that a fleet that runs thousands of times does not start new threads each time.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace myriarm::cpu {

/// How many threads the host runs at once, at least 1.
unsigned host_threads();

class WorkerPool {
 public:
  /// `threads` in all, including the caller's; the others are started when first needed.
  explicit WorkerPool(unsigned threads) : threads_(threads) {}
  ~WorkerPool();
  unsigned size() const { return threads_; }
  /// Calls work() on at most `wanted` threads at once and returns when all calls have; throws what one of them threw.
  void run(unsigned wanted, const std::function<void()>& work);

 private:
  void guarded(const std::function<void()>& work);
  void loop(unsigned index, unsigned seen);  // seen: the last call of run() before the thread existed

  unsigned threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr failure_;
  unsigned generation_ = 0, wanted_ = 0, running_ = 0;
  bool stopping_ = false;
};

}  // namespace myriarm::cpu
