// SPDX-License-Identifier: Apache-2.0
// Checks of pipes.c by the clauses of eventfd(2), timerfd_create(2), signalfd(2), timer_create(2) and its relatives.
#pragma once

#include "printing.h"

static long put(int fd, uint64_t value) { return write(fd, &value, 8); }
static long take(int fd) {
  uint64_t value = 77;
  const long got = read(fd, &value, 8);
  return got == 8 ? (long)value : -1;
}

static void counters(void) {
  CHECK(syscall(SYS_eventfd2, 0, 2));
  const int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
  CHECK(fcntl(fd, F_GETFD));
  CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
  SHOW(events_of(fd, POLLIN | POLLOUT));
  CHECK(read(fd, block, 7));
  CHECK(write(fd, block, 7));
  CHECK(take(fd));
  CHECK(take(fd));
  SHOW(events_of(fd, POLLIN | POLLOUT));
  CHECK(put(fd, 5));
  CHECK(put(fd, 0));
  CHECK(put(fd, 6));
  memset(block, 1, 16);
  CHECK(read(fd, block, 16));
  SHOW(block[0] == 11 && block[7] == 0 && block[8] == 1);
  CHECK(put(fd, ~0ull));
  CHECK(put(fd, ~0ull - 1));
  SHOW(events_of(fd, POLLIN | POLLOUT));
  CHECK(put(fd, 1));
  CHECK(put(fd, 0));
  CHECK(take(fd) == (long)(~0ull - 1));
  CHECK(put(fd, ~0ull - 2));
  SHOW(events_of(fd, POLLIN | POLLOUT));
  CHECK(put(fd, 2));
  CHECK(put(fd, 1));
  CHECK(write(fd, nowhere, 8));
  CHECK(take(fd) == (long)(~0ull - 1));
  put(fd, 4);
  CHECK(read(fd, nowhere, 8));
  CHECK(take(fd));
  struct iovec halves[2] = {{block, 4}, {block + 4, 4}};
  CHECK(put(fd, 4));
  struct stat status;
  CHECK(fstat(fd, &status));
  SHOW(status.st_mode & ~0777u);
  CHECK(pread(fd, block, 8, 0));
  CHECK(ftruncate(fd, 0));
  CHECK(close(fd));
  const int semaphore = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
  CHECK(take(semaphore));
  CHECK(take(semaphore));
  CHECK(take(semaphore));
  CHECK(put(semaphore, 3));
  CHECK(take(semaphore));
  close(semaphore);
  const int blocking = eventfd(0, 0);
  CHECK(AMID_ALARMS(0, take(blocking)));
  SHOW(runs > 0);
  CHECK(put(blocking, ~0ull - 1));
  CHECK(AMID_ALARMS(0, put(blocking, 1)));
  SHOW(runs > 0);
  close(blocking);
}

#define MS 1000000L
static struct itimerspec spec(long interval, long value) {
  return (struct itimerspec){{interval / 1000000000, interval % 1000000000}, {value / 1000000000, value % 1000000000}};
}
static void nap(long time) {
  struct timespec left = {time / 1000000000, time % 1000000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

static void timer_files(void) {
  CHECK(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
  CHECK(timerfd_create(CLOCK_MONOTONIC_RAW, 0));
  CHECK(timerfd_create(77, 0));
  CHECK(timerfd_create(CLOCK_MONOTONIC, 1));
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), real = timerfd_create(CLOCK_REALTIME, 0);
  const int boot = timerfd_create(CLOCK_BOOTTIME, 0);
  SHOW(fd > 0 && real > 0 && boot > 0);
  CHECK(fcntl(fd, F_GETFD));
  CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
  struct itimerspec set = spec(0, 0), old = spec(5, 5);
  CHECK(timerfd_gettime(fd, &old));
  SHOW(old.it_value.tv_sec | old.it_value.tv_nsec | old.it_interval.tv_sec | old.it_interval.tv_nsec);
  CHECK(timerfd_gettime(0, &old));
  CHECK(timerfd_gettime(99, &old));
  CHECK(timerfd_gettime(fd, nowhere));
  CHECK(timerfd_settime(fd, 0, nowhere, NULL));
  CHECK(timerfd_settime(99, 0, &set, NULL));
  CHECK(timerfd_settime(0, 0, &set, NULL));
  CHECK(timerfd_settime(fd, 4, &set, NULL));
  set = spec(0, 0);
  set.it_value.tv_nsec = 1000000000;
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  set.it_value.tv_nsec = -1;
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  set = spec(0, 1);
  set.it_interval.tv_sec = -1;
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  CHECK(take(fd));
  SHOW(events_of(fd, POLLIN | POLLOUT));
  set = spec(0, 1);
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  nap(5 * MS);
  SHOW(events_of(fd, POLLIN | POLLOUT));
  CHECK(read(fd, block, 7));
  CHECK(take(fd));
  CHECK(take(fd));
  CHECK(put(fd, 1));
  set = spec(1, 1);  // every nanosecond
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  nap(5 * MS);
  SHOW(take(fd) >= 5000000);
  set = spec(7000 * MS, 9000 * MS);
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  CHECK(timerfd_settime(fd, 0, &set, &old));
  SHOW(old.it_interval.tv_sec);
  SHOW(old.it_value.tv_sec);
  CHECK(timerfd_settime(fd, 0, &set, nowhere));
  CHECK(timerfd_gettime(fd, &old));
  SHOW(old.it_value.tv_sec);
  set = spec(7000 * MS, 0);
  CHECK(timerfd_settime(fd, 0, &set, &old));
  CHECK(timerfd_gettime(fd, &old));
  SHOW(old.it_value.tv_sec | old.it_value.tv_nsec);
  SHOW(old.it_interval.tv_sec);
  // Absolute times; one that has passed expires at once.
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  set = (struct itimerspec){{0, 0}, {now.tv_sec - 10, now.tv_nsec}};
  CHECK(timerfd_settime(real, TFD_TIMER_ABSTIME, &set, NULL));
  CHECK(take(real));
  set = (struct itimerspec){{3, 0}, {now.tv_sec - 10, now.tv_nsec}};
  CHECK(timerfd_settime(real, TFD_TIMER_ABSTIME, &set, NULL));
  CHECK(take(real));  // -10, -7, -4, -1
  CHECK(timerfd_gettime(real, &old));
  SHOW(old.it_value.tv_sec);
  CHECK(timerfd_settime(real, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &set, NULL));
  CHECK(take(real));
  set = (struct itimerspec){{0, 0}, {0, 1}};
  CHECK(timerfd_settime(boot, TFD_TIMER_ABSTIME, &set, NULL));
  CHECK(take(boot));
  // Waiting for one.
  set = spec(0, 3 * MS);
  CHECK(timerfd_settime(real, 0, &set, NULL));
  CHECK(take(real));
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  struct pollfd polled[2] = {{fd, POLLIN, 0}, {boot, POLLIN, 0}};
  CHECK(poll(polled, 2, -1));
  SHOW(polled[0].revents);
  SHOW(polled[1].revents);
  set = spec(20 * MS, 200 * MS);
  CHECK(timerfd_settime(fd, 0, &set, NULL));
  CHECK(poll(polled, 2, 5));
  CHECK(poll(polled, 2, 5));
  fd_set in;
  FD_ZERO(&in);
  FD_SET(fd, &in);
  struct timeval limit = {5, 0};
  CHECK(select(fd + 1, &in, NULL, NULL, &limit));
  SHOW(FD_ISSET(fd, &in) != 0);
  SHOW(limit.tv_sec);
  set = spec(0, 60000 * MS);
  CHECK(timerfd_settime(real, 0, &set, NULL));
  CHECK(AMID_ALARMS(0, take(real)));
  SHOW(runs > 0);
  set = spec(0, 20 * MS);
  CHECK(timerfd_settime(real, 0, &set, NULL));
  CHECK(AMID_ALARMS(SA_RESTART, take(real)));
  CHECK(close(fd));
  CHECK(close(real));
  CHECK(close(boot));
}

static void signal_files(void) {
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGALRM);
  sigaddset(&set, SIGRTMIN);
  struct signalfd_siginfo got[4];
  CHECK(syscall(SYS_signalfd4, -1, &set, 4, 0));
  CHECK(syscall(SYS_signalfd4, -1, nowhere, 8, 0));
  CHECK(syscall(SYS_signalfd4, -1, &set, 8, 1));
  CHECK(syscall(SYS_signalfd4, 0, &set, 8, 0));
  CHECK(syscall(SYS_signalfd4, 99, &set, 8, 0));
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  SHOW(fd >= 0);
  CHECK(fcntl(fd, F_GETFD));
  CHECK(read(fd, got, sizeof got));
  CHECK(read(fd, got, 127));
  CHECK(write(fd, got, 128));
  sigprocmask(SIG_BLOCK, &set, NULL);
  SHOW(events_of(fd, POLLIN | POLLOUT));
  raise(SIGUSR1);
  SHOW(events_of(fd, POLLIN | POLLOUT));
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 55});
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 56});
  memset(got, 1, sizeof got);
  CHECK(read(fd, got, sizeof got));
  SHOW(got[0].ssi_signo);
  SHOW(got[0].ssi_code);
  SHOW(got[0].ssi_pid == (unsigned)getpid());
  SHOW(got[0].ssi_uid == getuid());
  SHOW(got[1].ssi_signo == (unsigned)SIGRTMIN);
  SHOW(got[1].ssi_int);
  SHOW(got[1].ssi_code);
  SHOW((int)got[1].ssi_ptr);
  SHOW(got[2].ssi_int);
  SHOW(got[0].ssi_errno | got[0].ssi_fd | (int)got[0].ssi_addr | got[0].ssi_trapno | got[0].ssi_status);
  CHECK(read(fd, got, sizeof got));
  kill(getpid(), SIGUSR1);
  CHECK(read(fd, nowhere, 128));
  sigpending(&pending);
  SHOW(sigismember(&pending, SIGUSR1));  // it has been taken
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  CHECK(signalfd(fd, &set, 0) == fd);
  raise(SIGUSR1);
  CHECK(read(fd, got, sizeof got));
  CHECK(fcntl(fd, F_SETFL, 0));
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 2000}}, NULL);
  CHECK(read(fd, got, sizeof got));
  SHOW(got[0].ssi_signo);
  SHOW(got[0].ssi_code);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 2000}}, NULL);
  struct pollfd polled = {fd, POLLIN, 0};
  CHECK(poll(&polled, 1, -1));
  SHOW(polled.revents);
  CHECK(read(fd, got, sizeof got));
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  on_signal(SIGUSR1, 0);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  SHOW(runs);
  sigaddset(&set, SIGALRM);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  CHECK(close(fd));
}

static siginfo_t last;
static void note(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)context;
  last = *information;
  runs++;
}
static void on_information(int signal) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, NULL);
  runs = 0;
}
typedef int kernel_timer;
static long create(int clock, struct sigevent* event, kernel_timer* timer) {
  return syscall(SYS_timer_create, clock, event, timer);
}
static long settime(kernel_timer timer, int flags, struct itimerspec* next, struct itimerspec* old) {
  return syscall(SYS_timer_settime, timer, flags, next, old);
}
static long gettime(kernel_timer timer, struct itimerspec* old) { return syscall(SYS_timer_gettime, timer, old); }
static long overrun(kernel_timer timer) { return syscall(SYS_timer_getoverrun, timer); }

static void posix_timers(void) {
  kernel_timer timer, silent, work, other;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  struct itimerspec set = spec(0, 2 * MS), old;
  CHECK(create(99, NULL, &timer));
  CHECK(create(CLOCK_MONOTONIC_RAW, NULL, &timer));
  CHECK(create(CLOCK_MONOTONIC, nowhere, &timer));
  CHECK(create(CLOCK_MONOTONIC, NULL, nowhere));
  event.sigev_notify = 3;
  event.sigev_signo = SIGUSR1;
  CHECK(create(CLOCK_MONOTONIC, &event, &timer));
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = 0;
  CHECK(create(CLOCK_MONOTONIC, &event, &timer));
  event.sigev_signo = 65;
  CHECK(create(CLOCK_MONOTONIC, &event, &timer));
  event.sigev_signo = SIGUSR1;
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = 1;
  CHECK(create(CLOCK_MONOTONIC, &event, &timer));
  CHECK(create(CLOCK_MONOTONIC, NULL, &timer));
  CHECK(gettime(timer, &old));
  SHOW(old.it_value.tv_sec | old.it_value.tv_nsec | old.it_interval.tv_sec | old.it_interval.tv_nsec);
  CHECK(gettime(99, &old));
  CHECK(gettime(timer, nowhere));
  CHECK(settime(99, 0, &set, NULL));
  CHECK(settime(timer, 0, NULL, NULL));
  CHECK(settime(timer, 0, nowhere, NULL));
  set.it_value.tv_nsec = 1000000000;
  CHECK(settime(timer, 0, &set, NULL));
  CHECK(overrun(99));
  CHECK(overrun(timer));
  on_information(SIGALRM);
  set = spec(0, 2 * MS);
  CHECK(settime(timer, 0, &set, NULL));
  CHECK(pause());
  SHOW(runs);
  SHOW(last.si_code);
  SHOW(last.si_value.sival_int == timer);
  SHOW(last.si_overrun);
  SHOW(last.si_timerid == timer);
  CHECK(gettime(timer, &old));
  SHOW(old.it_value.tv_sec | old.it_value.tv_nsec);
  // Periodic, with a value; the signal waits.
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  event.sigev_value.sival_ptr = (void*)0x123456789abcdef;
  on_information(SIGUSR1);
  CHECK(create(CLOCK_REALTIME, &event, &other));
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigprocmask(SIG_BLOCK, &mask, NULL);
  set = spec(20 * MS, 20 * MS);
  CHECK(settime(other, 0, &set, NULL));
  nap(290 * MS);
  SHOW(overrun(other));
  CHECK(gettime(other, &old));
  SHOW(old.it_value.tv_sec == 0 && old.it_value.tv_nsec <= 20 * MS);
  sigprocmask(SIG_UNBLOCK, &mask, NULL);
  SHOW(runs);
  SHOW(last.si_overrun >= 10);
  SHOW(overrun(other) == last.si_overrun);
  SHOW(last.si_value.sival_ptr == event.sigev_value.sival_ptr);
  while (runs < 4) pause();
  CHECK(settime(other, 0, &(struct itimerspec){{0, 0}, {0, 0}}, &old));
  SHOW(old.it_interval.tv_nsec);
  SHOW(overrun(other));
  // One whose signal waits, and which is set anew or deleted, sends it no more.
  sigprocmask(SIG_BLOCK, &mask, NULL);
  set = spec(0, 1 * MS);
  runs = 0;
  CHECK(settime(other, 0, &set, NULL));
  nap(5 * MS);
  CHECK(syscall(SYS_timer_delete, other));
  CHECK(syscall(SYS_timer_delete, other));
  CHECK(overrun(other));
  sigprocmask(SIG_UNBLOCK, &mask, NULL);
  SHOW(runs);
  // Absolute, and on a clock with a date.
  CHECK(create(CLOCK_REALTIME, &event, &other));
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  set = (struct itimerspec){{0, 0}, {now.tv_sec - 1, now.tv_nsec}};
  CHECK(settime(other, TIMER_ABSTIME, &set, NULL));
  while (runs == 0) nap(1 * MS);
  SHOW(last.si_overrun);
  set = (struct itimerspec){{0, 0}, {now.tv_sec + 100, now.tv_nsec}};
  CHECK(settime(other, TIMER_ABSTIME, &set, NULL));
  CHECK(gettime(other, &old));
  SHOW(old.it_value.tv_sec >= 98);
  CHECK(syscall(SYS_timer_delete, other));
  // Silent.
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_NONE;
  CHECK(create(CLOCK_MONOTONIC, &event, &silent));
  set = spec(3 * MS, 1 * MS);
  CHECK(settime(silent, 0, &set, NULL));
  nap(5 * MS);
  CHECK(gettime(silent, &old));
  SHOW(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 3 * MS);
  set = spec(0, 1 * MS);
  CHECK(settime(silent, 0, &set, NULL));
  nap(5 * MS);
  CHECK(gettime(silent, &old));
  SHOW(old.it_value.tv_sec | old.it_value.tv_nsec);
  CHECK(syscall(SYS_timer_delete, silent));
  // On the time that the process runs.
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  CHECK(create(CLOCK_PROCESS_CPUTIME_ID, &event, &work));
  set = spec(0, 1 * MS);
  runs = 0;
  CHECK(settime(work, 0, &set, NULL));
  while (runs == 0) {
  }
  SHOW(runs);
  CHECK(syscall(SYS_timer_delete, work));
  // Ignored, then not.
  signal(SIGUSR1, SIG_IGN);
  CHECK(create(CLOCK_MONOTONIC, &event, &other));
  set = spec(1 * MS, 1 * MS);
  CHECK(settime(other, 0, &set, NULL));
  nap(5 * MS);
  CHECK(gettime(other, &old));
  SHOW(old.it_interval.tv_nsec);
  on_information(SIGUSR1);
  while (runs < 2) nap(1 * MS);
  CHECK(syscall(SYS_timer_delete, other));
  CHECK(syscall(SYS_timer_delete, timer));
  int made = 0;
  kernel_timer all[40];
  while (made < 40 && create(CLOCK_MONOTONIC, NULL, &all[made]) == 0) made++;
  SHOW(made);
  while (made > 0) syscall(SYS_timer_delete, all[--made]);
}
