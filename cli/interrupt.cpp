// SPDX-License-Identifier: Apache-2.0
// The signal handler posts a semaphore, which POSIX allows in a handler; a thread waits for the semaphore.
#include "interrupt.h"

#include <semaphore.h>

#include <cerrno>

namespace myriarm::cli {
namespace {

constexpr unsigned kSignalsThatKill = 3;
constexpr int kSignalStatus = 128;

sem_t wake;
std::atomic<unsigned> signals = 0;
std::atomic<int> last_signal = SIGINT;
std::atomic<bool> running = false;
static_assert(std::atomic<unsigned>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

void on_signal(int number) {
  int error = errno;
  last_signal = number;
  if (++signals >= kSignalsThatKill && running) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // takes effect when the handler returns
  }
  sem_post(&wake);
  errno = error;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> cancel) : cancel_(std::move(cancel)) {
  signals = 0;
  running = true;
  sem_init(&wake, 0, 0);
  watcher_ = std::thread([this] {
    while (sem_wait(&wake) != 0) {
    }
    if (signals != 0 && !done_) cancel_();
  });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESTART);
  for (size_t i = 0; i < kSignals.size(); i++) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (kSignals[i] == SIGINT || before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kSignals.size(); i++) sigaction(kSignals[i], &before_[i], nullptr);
  done_ = true;
  sem_post(&wake);
  watcher_.join();
  sem_destroy(&wake);
}

unsigned Interrupt::count() const { return signals; }

int Interrupt::status() const { return kSignalStatus + last_signal; }

void Interrupt::run_has_ended() { running = false; }

}  // namespace myriarm::cli
