// SPDX-License-Identifier: Apache-2.0
// Holds threads that translate at a place that the test knows.
#pragma once

#include <condition_variable>
#include <mutex>

namespace myriarm::test {

class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    someone_waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  void wait_for_someone() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return someone_waits_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false, someone_waits_ = false;
};

}  // namespace myriarm::test
