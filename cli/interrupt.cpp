// SPDX-License-Identifier: Apache-2.0
// The signal handler posts a semaphore, which POSIX allows in a handler; a thread waits for the semaphore.
#include "interrupt.h"

#include <semaphore.h>

#include <cerrno>

namespace myriarm::cli {
namespace {

constexpr unsigned kPressesThatKill = 3;

sem_t wake;
std::atomic<unsigned> presses = 0;
std::atomic<bool> running = false;
static_assert(std::atomic<unsigned>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

void on_signal(int number) {
  int error = errno;
  if (++presses >= kPressesThatKill && running) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // takes effect when the handler returns
  }
  sem_post(&wake);
  errno = error;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> cancel) : cancel_(std::move(cancel)) {
  presses = 0;
  running = true;
  sem_init(&wake, 0, 0);
  watcher_ = std::thread([this] {
    while (sem_wait(&wake) != 0) {
    }
    if (presses != 0 && !done_) cancel_();
  });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESTART);
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_, nullptr);
  done_ = true;
  sem_post(&wake);
  watcher_.join();
  sem_destroy(&wake);
}

unsigned Interrupt::count() const { return presses; }

void Interrupt::run_has_ended() { running = false; }

}  // namespace myriarm::cli
