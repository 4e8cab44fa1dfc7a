// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a fleet runs: a thread of its own calls `cancel`, because a signal handler may call very few functions.
// Until the run has ended, the third Ctrl-C ends the process at once. Afterwards Ctrl-C is only counted, so that results
// are written; what writes them asks for the count.
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

  /// How often Ctrl-C was pressed.
  unsigned count() const;
  /// To be called when the run has returned.
  void run_has_ended();

 private:
  std::function<void()> cancel_;
  std::atomic<bool> done_ = false;
  struct sigaction before_ = {};
  std::thread watcher_;
};

}  // namespace myriarm::cli
