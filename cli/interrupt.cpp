// SPDX-License-Identifier: Apache-2.0
// The signal handler posts a semaphore, which POSIX allows in a handler; a thread waits for the semaphore.
#include "interrupt.h"

#include <semaphore.h>

#include <cerrno>

namespace myriarm::cli {
namespace {

sem_t wake;
volatile std::sig_atomic_t signalled = 0;

void on_signal(int) {
  int error = errno;
  signalled = 1;
  sem_post(&wake);
  errno = error;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> cancel) : cancel_(std::move(cancel)) {
  signalled = 0;
  sem_init(&wake, 0, 0);
  watcher_ = std::thread([this] {
    while (sem_wait(&wake) != 0) {
    }
    if (!signalled) return;
    pressed_ = true;
    if (!done_) cancel_();
  });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_, nullptr);
  done_ = true;
  sem_post(&wake);
  watcher_.join();
  sem_destroy(&wake);
}

}  // namespace myriarm::cli
