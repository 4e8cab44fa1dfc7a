// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP while a fleet runs: a thread of its own calls `cancel`, because a signal handler may call very
// few functions. Until the run has ended, the third such signal ends the process at once. Afterwards they are only counted,
// so that results are written; what writes them asks for the count.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace myriarm::cli {

class Interrupt {
 public:
  /// SIGTERM and SIGHUP stay ignored if they are: nohup asks for that.
  explicit Interrupt(std::function<void()> cancel);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;

  /// How many signals have come.
  unsigned count() const;
  /// The exit status that tells of the last one: 128 and its number.
  int status() const;
  /// To be called when the run has returned.
  void run_has_ended();

 private:
  /// In the order in which they are handled: once Ctrl-C is, all are.
  static constexpr std::array kSignals = {SIGHUP, SIGTERM, SIGINT};

  std::function<void()> cancel_;
  std::atomic<bool> done_ = false;
  std::array<struct sigaction, kSignals.size()> before_ = {};
  std::thread watcher_;
};

}  // namespace myriarm::cli
