// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a fleet runs: a thread of its own calls `cancel`, because a signal handler may call very few functions.
// A second Ctrl-C ends the process at once.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace myriarm::cli {

class Interrupt {
 public:
  explicit Interrupt(std::function<void()> cancel);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;

  bool pressed() const { return pressed_; }

 private:
  std::function<void()> cancel_;
  std::atomic<bool> pressed_ = false;
  std::atomic<bool> done_ = false;
  struct sigaction before_ = {};
  std::thread watcher_;
};

}  // namespace myriarm::cli
