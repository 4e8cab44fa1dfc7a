// SPDX-License-Identifier: Apache-2.0
// Checks of descriptors that no file is behind, by their manual pages: pipe(2), pipe(7), read(2), write(2), fcntl(2), ioctl(2), poll(2), select(2),
// eventfd(2), epoll_create(2), epoll_ctl(2), epoll_wait(2), signalfd(2), timerfd_create(2), splice(2), tee(2), vmsplice(2).
#include "checking.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static char block[1 << 17];
static void fill(int fd) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  while (write(fd, block, 4096) > 0) {
  }
}

static void pipes(void) {
  int ends[2], other[2];
  struct iovec parts[2] = {{block, 3}, {block + 100, 4}}, bad = {nowhere, 4};
  GIVES(pipe2, "two descriptors", 0, pipe2(ends, 0));
  GIVES(pipe2, "the first is for reading", O_RDONLY, fcntl(ends[0], F_GETFL));
  GIVES(pipe2, "the second is for writing", O_WRONLY, fcntl(ends[1], F_GETFL));
  GIVES(pipe2, "O_CLOEXEC and O_NONBLOCK", 0, pipe2(other, O_CLOEXEC | O_NONBLOCK));
  GIVES(pipe2, "FD_CLOEXEC", 2 * FD_CLOEXEC, fcntl(other[0], F_GETFD) + fcntl(other[1], F_GETFD));
  GIVES(pipe2, "O_NONBLOCK", O_NONBLOCK, fcntl(other[0], F_GETFL) & fcntl(other[1], F_GETFL) & O_NONBLOCK);
  FAILS(pipe2, "a flag that is unknown", EINVAL, pipe2(ends, O_APPEND));
  FAILS(pipe2, "to where nothing can be written", EFAULT, pipe2(nowhere, 0));
  GIVES(write, "to a pipe", 7, write(ends[1], "abcdefg", 7));
  GIVES(ioctl, "FIONREAD", 0, ioctl(ends[0], FIONREAD, block));
  GIVES(ioctl, "FIONREAD has the bytes in a pipe", 7, *(int*)block);
  GIVES(read, "a part of what is in a pipe", 3, read(ends[0], block, 3));
  GIVES(readv, "what is in a pipe", 4, readv(ends[0], parts, 2));
  GIVES(readv, "the bytes of a pipe", 0, memcmp(block, "def", 3) | (block[100] != 'g'));
  FAILS(read, "the end that writes", EBADF, read(ends[1], block, 1));
  FAILS(write, "the end that reads", EBADF, write(ends[0], block, 1));
  FAILS(readv, "the end that writes", EBADF, readv(ends[1], parts, 1));
  FAILS(writev, "the end that reads", EBADF, writev(ends[0], parts, 1));
  FAILS(read, "an empty pipe that does not wait", EAGAIN, read(other[0], block, 1));
  FAILS(readv, "an empty pipe that does not wait", EAGAIN, readv(other[0], parts, 1));
  FAILS(write, "to a pipe, from where nothing can be read", EFAULT, write(other[1], nowhere, 4));
  FAILS(writev, "to a pipe, from where nothing can be read", EFAULT, writev(other[1], &bad, 1));
  write(other[1], "x", 1);
  FAILS(read, "a pipe, to where nothing can be written", EFAULT, read(other[0], nowhere, 1));
  FAILS(readv, "a pipe, to where nothing can be written", EFAULT, readv(other[0], &bad, 1));
  FAILS(lseek, "a pipe", ESPIPE, lseek(other[0], 0, SEEK_SET));
  FAILS(pread64, "a pipe", ESPIPE, pread(other[0], block, 1, 0));
  FAILS(pwrite64, "a pipe", ESPIPE, pwrite(other[1], block, 1, 0));
  FAILS(preadv, "a pipe", ESPIPE, preadv(other[0], parts, 1, 0));
  FAILS(pwritev, "a pipe", ESPIPE, pwritev(other[1], parts, 1, 0));
  FAILS(preadv2, "a pipe at an offset", ESPIPE, preadv2(other[0], parts, 1, 0, 0));
  FAILS(pwritev2, "a pipe at an offset", ESPIPE, pwritev2(other[1], parts, 1, 0, 0));
  FAILS(fsync, "a pipe", EINVAL, fsync(other[1]));
  FAILS(fdatasync, "a pipe", EINVAL, fdatasync(other[1]));
  FAILS(ftruncate, "a pipe", EINVAL, ftruncate(other[1], 0));
  FAILS(readahead, "a pipe", EINVAL, readahead(other[0], 0, 10));
  alarms(0);
  FAILS(read, "a signal while it waits", EINTR, read(ends[0], block, 1));
  FAILS(readv, "a signal while it waits", EINTR, readv(ends[0], parts, 2));
  on_signal(SIGALRM, SA_RESTART);
  no_alarms();
  GIVES(fcntl, "F_GETPIPE_SZ", 65536, fcntl(ends[0], F_GETPIPE_SZ));
  GIVES(fcntl, "F_SETPIPE_SZ", 8192, fcntl(ends[0], F_SETPIPE_SZ, 5000));
  FAILS(fcntl, "F_SETPIPE_SZ of what is no size", EINVAL, fcntl(ends[0], F_SETPIPE_SZ, 0x80000001u));
  FAILS(fcntl, "F_SETPIPE_SZ beyond what a user may have", EPERM, fcntl(ends[0], F_SETPIPE_SZ, 1 << 30));
  fill(ends[1]);
  FAILS(write, "a pipe that is full and does not wait", EAGAIN, write(ends[1], block, 1));
  FAILS(writev, "a pipe that is full and does not wait", EAGAIN, writev(ends[1], parts, 1));
  FAILS(fcntl, "F_SETPIPE_SZ to less than is in it", EBUSY, fcntl(ends[0], F_SETPIPE_SZ, 4096));
  fcntl(ends[1], F_SETFL, 0);
  alarms(0);
  FAILS(write, "a signal while it waits", EINTR, write(ends[1], block, 1));
  FAILS(writev, "a signal while it waits", EINTR, writev(ends[1], parts, 2));
  no_alarms();
  close(ends[1]);
  while (read(ends[0], block, 8192) > 0) {
  }
  GIVES(read, "a pipe without a writer", 0, read(ends[0], block, 1));
  on_signal(SIGPIPE, 0);
  close(other[0]);
  FAILS(write, "a pipe without a reader", EPIPE, write(other[1], "x", 1));
  GIVES(write, "a pipe without a reader: a signal", SIGPIPE, last_signal);
  FAILS(writev, "a pipe without a reader", EPIPE, writev(other[1], parts, 1));
  GIVES(ioctl, "FIONBIO", 0, ioctl(ends[0], FIONBIO, &(int){1}));
  GIVES(ioctl, "FIONBIO sets O_NONBLOCK", O_NONBLOCK, fcntl(ends[0], F_GETFL) & O_NONBLOCK);
  GIVES(ioctl, "FIOCLEX", FD_CLOEXEC, (ioctl(ends[0], FIOCLEX), fcntl(ends[0], F_GETFD)));
  GIVES(ioctl, "FIONCLEX", 0, (ioctl(ends[0], FIONCLEX), fcntl(ends[0], F_GETFD)));
  FAILS(ioctl, "no descriptor", EBADF, ioctl(kNoDescriptor, FIONREAD, block));
  FAILS(ioctl, "to where nothing can be written", EFAULT, ioctl(ends[0], FIONREAD, nowhere));
  FAILS(ioctl, "a terminal's request of a pipe", ENOTTY, ioctl(ends[0], TCGETS, block));
  FAILS(fcntl, "a command that is unknown, of a pipe", EINVAL, fcntl(ends[0], 9999));
  FAILS(dup3, "a flag that is unknown, of a pipe", EINVAL, dup3(ends[0], 50, 1));
  close(ends[0]), close(other[1]);
  // As many descriptors as there may be.
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){5, 1024});
  while (dup(0) >= 0) {
  }
  FAILS(pipe2, "as many descriptors as there may be", EMFILE, pipe2(ends, 0));
  FAILS(eventfd2, "as many descriptors as there may be", EMFILE, eventfd(0, 0));
  FAILS(epoll_create1, "as many descriptors as there may be", EMFILE, epoll_create1(0));
  sigset_t set;
  sigemptyset(&set);
  FAILS(signalfd4, "as many descriptors as there may be", EMFILE, signalfd(-1, &set, 0));
  FAILS(timerfd_create, "as many descriptors as there may be", EMFILE, timerfd_create(CLOCK_MONOTONIC, 0));
  close_range(3, 100, 0);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
}

static void polling(void) {
  int ends[2];
  pipe(ends);
  struct pollfd polled[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}, {-1, POLLIN, 77}};
  const struct timespec none = {0, 0}, negative = {-1, 0}, too_much = {0, 1000000000}, short_time = {0, 1000000};
  sigset_t all, old;
  sigfillset(&all);
  GIVES(ppoll, "one is ready", 1, ppoll(polled, 3, &none, NULL));
  GIVES(ppoll, "it can be written", POLLOUT, polled[1].revents);
  GIVES(ppoll, "a negative descriptor is left out", 0, polled[2].revents);
  GIVES(ppoll, "the time has passed", 0, ppoll(polled, 1, &short_time, NULL));
  write(ends[1], "x", 1);
  GIVES(ppoll, "both are ready", 2, ppoll(polled, 3, NULL, NULL));
  GIVES(ppoll, "it can be read", POLLIN, polled[0].revents);
  polled[2].fd = kNoDescriptor;
  GIVES(ppoll, "no descriptor counts", 3, ppoll(polled, 3, &none, NULL));
  GIVES(ppoll, "no descriptor is POLLNVAL", POLLNVAL, polled[2].revents);
  FAILS(ppoll, "descriptors that cannot be read", EFAULT, ppoll(nowhere, 1, &none, NULL));
  FAILS(ppoll, "a negative time", EINVAL, ppoll(polled, 1, &negative, NULL));
  FAILS(ppoll, "nanoseconds that are a second", EINVAL, ppoll(polled, 1, &too_much, NULL));
  FAILS(ppoll, "a time that cannot be read", EFAULT, syscall(SYS_ppoll, polled, 1, nowhere, NULL, 8));
  FAILS(ppoll, "a set of signals of another size", EINVAL, syscall(SYS_ppoll, polled, 1, &none, &all, 4));
  FAILS(ppoll, "more descriptors than RLIMIT_NOFILE", EINVAL, syscall(SYS_ppoll, polled, 1 << 20, &none, NULL, 8));
  read(ends[0], block, 1);
  alarms(0);
  FAILS(ppoll, "a signal while it waits", EINTR, ppoll(polled, 1, NULL, NULL));
  no_alarms();
  // With another set of signals while it waits.
  on_signal(SIGUSR1, 0);
  sigset_t blocked;
  sigemptyset(&blocked), sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &old);
  raise(SIGUSR1);
  FAILS(ppoll, "a signal that it lets through", EINTR, ppoll(polled, 1, &short_time, &old));
  GIVES(ppoll, "the signal was handled", 1, runs);
  sigprocmask(SIG_BLOCK, NULL, &all);
  GIVES(ppoll, "the set before is back", 1, sigismember(&all, SIGUSR1));
  fd_set in, out, problems;
  enum { kClosed = 60 };  // Linux does not look at those from 64 on, unless as many were open once
#define SETS()             \
  do {                     \
    FD_ZERO(&in);          \
    FD_ZERO(&out);         \
    FD_ZERO(&problems);    \
    FD_SET(ends[0], &in);  \
    FD_SET(ends[1], &out); \
  } while (0)
  SETS();
  GIVES(pselect6, "one is ready", 1, pselect(10, &in, &out, &problems, &none, NULL));
  GIVES(pselect6, "only what is ready stays", 1, FD_ISSET(ends[1], &out) && !FD_ISSET(ends[0], &in));
  SETS();
  GIVES(pselect6, "the time has passed", 0, pselect(10, &in, NULL, NULL, &short_time, NULL));
  write(ends[1], "x", 1);
  SETS();
  GIVES(pselect6, "ready in several sets", 2, pselect(10, &in, &out, NULL, NULL, NULL));
  GIVES(pselect6, "no sets: it waits for the time", 0, pselect(0, NULL, NULL, NULL, &short_time, NULL));
  FD_SET(kClosed, &in);
  FAILS(pselect6, "no descriptor", EBADF, pselect(kClosed + 1, &in, NULL, NULL, &none, NULL));
  FAILS(pselect6, "a negative count", EINVAL, pselect(-1, &in, NULL, NULL, &none, NULL));
  FAILS(pselect6, "a negative time", EINVAL, syscall(SYS_pselect6, 10, NULL, NULL, NULL, &negative, NULL));
  FAILS(pselect6, "a set that cannot be read", EFAULT, syscall(SYS_pselect6, 10, nowhere, NULL, NULL, &none, NULL));
  FAILS(pselect6, "a time that cannot be read", EFAULT, syscall(SYS_pselect6, 0, NULL, NULL, NULL, nowhere, NULL));
  raise(SIGUSR1);
  FAILS(pselect6, "a signal that it lets through", EINTR, pselect(0, NULL, NULL, NULL, &short_time, &old));
  sigprocmask(SIG_SETMASK, &old, NULL);
  polled[0].events = polled[1].events = 0;
  close(ends[0]);
  polled[0].fd = -1;
  GIVES(ppoll, "a pipe without a reader", 1, ppoll(polled, 2, &none, NULL));
  GIVES(ppoll, "is POLLERR", POLLERR, polled[1].revents);
  close(ends[1]);
  pipe(ends);
  close(ends[1]);
  polled[0] = (struct pollfd){ends[0], POLLIN, 0};
  GIVES(ppoll, "a pipe without a writer", 1, ppoll(polled, 1, &none, NULL));
  GIVES(ppoll, "is POLLHUP", POLLHUP, polled[0].revents);
  close(ends[0]);
}

static void counters(void) {
  uint64_t value = 0;
  int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
  GIVES(eventfd2, "EFD_CLOEXEC", FD_CLOEXEC, fcntl(fd, F_GETFD));
  GIVES(eventfd2, "EFD_NONBLOCK", O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
  GIVES(eventfd2, "a read has 8 bytes", 8, read(fd, &value, 8));
  GIVES(eventfd2, "which are the count", 3, value);
  FAILS(read, "a counter that is 0", EAGAIN, read(fd, &value, 8));
  FAILS(read, "a counter, to fewer than 8 bytes", EINVAL, read(fd, &value, 7));
  FAILS(write, "a counter, fewer than 8 bytes", EINVAL, write(fd, &value, 7));
  value = ~0ull;
  FAILS(write, "a counter, 2^64 - 1", EINVAL, write(fd, &value, 8));
  value = ~0ull - 1;
  GIVES(eventfd2, "the highest count", 8, write(fd, &value, 8));
  value = 1;
  FAILS(write, "a counter that would overflow", EAGAIN, write(fd, &value, 8));
  close(fd);
  fd = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
  GIVES(eventfd2, "EFD_SEMAPHORE takes 1", 1, (read(fd, &value, 8), value));
  GIVES(eventfd2, "EFD_SEMAPHORE leaves the rest", 1, (value = 0, read(fd, &value, 8), value));
  FAILS(read, "a semaphore that is 0", EAGAIN, read(fd, &value, 8));
  close(fd);
  FAILS(eventfd2, "a flag that is unknown", EINVAL, syscall(SYS_eventfd2, 0, 2));
}

static long take(int set, struct epoll_event* events, int most) { return epoll_wait(set, events, most, 0); }
static void sets(void) {
  int ends[2];
  pipe2(ends, O_NONBLOCK);
  struct epoll_event event = {EPOLLIN, {.u64 = 0x1122334455667788}}, events[4];
  const int set = epoll_create1(EPOLL_CLOEXEC), second = epoll_create1(0);
  GIVES(epoll_create1, "EPOLL_CLOEXEC", FD_CLOEXEC, fcntl(set, F_GETFD));
  FAILS(epoll_create1, "a flag that is unknown", EINVAL, epoll_create1(1));
  FAILS(epoll_create1, "epoll_create() of no size", EINVAL, epoll_create(0));
  GIVES(epoll_ctl, "EPOLL_CTL_ADD", 0, epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
  FAILS(epoll_ctl, "EPOLL_CTL_ADD of what is there", EEXIST, epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
  FAILS(epoll_ctl, "EPOLL_CTL_MOD of what is not", ENOENT, epoll_ctl(set, EPOLL_CTL_MOD, ends[1], &event));
  FAILS(epoll_ctl, "EPOLL_CTL_DEL of what is not", ENOENT, epoll_ctl(set, EPOLL_CTL_DEL, ends[1], &event));
  FAILS(epoll_ctl, "no descriptor", EBADF, epoll_ctl(set, EPOLL_CTL_ADD, kNoDescriptor, &event));
  FAILS(epoll_ctl, "no descriptor of a set", EBADF, epoll_ctl(kNoDescriptor, EPOLL_CTL_ADD, ends[0], &event));
  FAILS(epoll_ctl, "a descriptor that is no set", EINVAL, epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &event));
  FAILS(epoll_ctl, "the set itself", EINVAL, epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
  FAILS(epoll_ctl, "an operation that is unknown", EINVAL, epoll_ctl(set, 77, ends[0], &event));
  FAILS(epoll_ctl, "an event that cannot be read", EFAULT, epoll_ctl(set, EPOLL_CTL_ADD, ends[1], nowhere));
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  FAILS(epoll_ctl, "EPOLLEXCLUSIVE with EPOLL_CTL_MOD", EINVAL, epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
  FAILS(epoll_ctl, "EPOLLEXCLUSIVE of a set", EINVAL, epoll_ctl(set, EPOLL_CTL_ADD, second, &event));
  event.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT;
  FAILS(epoll_ctl, "EPOLLEXCLUSIVE with EPOLLONESHOT", EINVAL, epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event));
  event.events = EPOLLIN;
  epoll_ctl(set, EPOLL_CTL_ADD, second, &event);
  FAILS(epoll_ctl, "sets in a circle", ELOOP, epoll_ctl(second, EPOLL_CTL_ADD, set, &event));
  epoll_ctl(set, EPOLL_CTL_DEL, second, NULL);
  GIVES(epoll_pwait, "none is ready", 0, take(set, events, 4));
  write(ends[1], "x", 1);
  GIVES(epoll_pwait, "one is ready", 1, take(set, events, 4));
  GIVES(epoll_pwait, "its events", EPOLLIN, events[0].events);
  GIVES(epoll_pwait, "its data", 0x1122334455667788, events[0].data.u64);
  GIVES(epoll_pwait, "it stays ready", 1, take(set, events, 4));
  event.events = EPOLLIN | EPOLLET;
  epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event);
  GIVES(epoll_pwait, "EPOLLET", 1, take(set, events, 4));
  GIVES(epoll_pwait, "EPOLLET once for each change", 0, take(set, events, 4));
  event.events = EPOLLIN | EPOLLONESHOT;
  epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event);
  GIVES(epoll_pwait, "EPOLLONESHOT", 1, take(set, events, 4));
  GIVES(epoll_pwait, "EPOLLONESHOT once", 0, take(set, events, 4));
  event.events = EPOLLIN;
  GIVES(epoll_ctl, "EPOLL_CTL_MOD lets it be ready again", 1,
        (epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event), take(set, events, 4)));
  FAILS(epoll_pwait, "no room for events", EINVAL, take(set, events, 0));
  FAILS(epoll_pwait, "no descriptor", EBADF, take(kNoDescriptor, events, 4));
  FAILS(epoll_pwait, "a descriptor that is no set", EINVAL, take(ends[0], events, 4));
  FAILS(epoll_pwait, "events that cannot be written", EFAULT, take(set, nowhere, 4));
  const struct timespec none = {0, 0}, negative = {-1, 0}, short_time = {0, 1000000};
  GIVES(epoll_pwait2, "one is ready", 1, syscall(441, set, events, 4, &none, NULL, 8));
  FAILS(epoll_pwait2, "a negative time", EINVAL, syscall(441, set, events, 4, &negative, NULL, 8));
  FAILS(epoll_pwait2, "no room for events", EINVAL, syscall(441, set, events, 0, &none, NULL, 8));
  FAILS(epoll_pwait2, "no descriptor", EBADF, syscall(441, kNoDescriptor, events, 4, &none, NULL, 8));
  FAILS(epoll_pwait2, "events that cannot be written", EFAULT, syscall(441, set, nowhere, 4, &none, NULL, 8));
  FAILS(epoll_pwait2, "a time that cannot be read", EFAULT, syscall(441, set, events, 4, nowhere, NULL, 8));
  read(ends[0], block, 1);
  GIVES(epoll_pwait2, "the time has passed", 0, syscall(441, set, events, 4, &short_time, NULL, 8));
  alarms(0);
  FAILS(epoll_pwait, "a signal while it waits", EINTR, epoll_wait(set, events, 4, -1));
  FAILS(epoll_pwait2, "a signal while it waits", EINTR, syscall(441, set, events, 4, NULL, NULL, 8));
  no_alarms();
  GIVES(epoll_ctl, "EPOLL_CTL_DEL", 0, epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL));
  write(ends[1], "x", 1);
  GIVES(epoll_pwait, "what was removed is not reported", 0, take(set, events, 4));
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
  close(ends[0]);
  GIVES(epoll_pwait, "what was closed is not reported", 0, take(set, events, 4));
  close(ends[1]), close(set), close(second);
}

static void signals_and_timers(void) {
  sigset_t set, old;
  struct signalfd_siginfo information;
  sigemptyset(&set), sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, &old);
  int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  GIVES(signalfd4, "SFD_CLOEXEC", FD_CLOEXEC, fcntl(fd, F_GETFD));
  GIVES(signalfd4, "SFD_NONBLOCK", O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
  FAILS(read, "a signalfd without a signal", EAGAIN, read(fd, &information, sizeof information));
  raise(SIGUSR2);
  FAILS(read, "a signalfd, to too little room", EINVAL, read(fd, &information, 10));
  GIVES(signalfd4, "a read has 128 bytes", 128, read(fd, &information, sizeof information));
  GIVES(signalfd4, "the signal", SIGUSR2, information.ssi_signo);
  GIVES(signalfd4, "its sender", 1, information.ssi_pid == (uint32_t)getpid());
  GIVES(signalfd4, "the signal no longer waits", 0, (sigpending(&set), sigismember(&set, SIGUSR2)));
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  GIVES(signalfd4, "another set for one that is there", fd, signalfd(fd, &set, 0));
  FAILS(signalfd4, "no descriptor", EBADF, signalfd(kNoDescriptor, &set, 0));
  FAILS(signalfd4, "a descriptor that is no signalfd", EINVAL, signalfd(0, &set, 0));
  FAILS(signalfd4, "a flag that is unknown", EINVAL, signalfd(-1, &set, 1));
  FAILS(signalfd4, "a set of another size", EINVAL, syscall(SYS_signalfd4, -1, &set, 4, 0));
  close(fd);
  sigprocmask(SIG_SETMASK, &old, NULL);
  // timerfd
  struct itimerspec time = {{0, 0}, {0, 1000000}}, got;
  uint64_t count = 0;
  fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  GIVES(timerfd_create, "TFD_CLOEXEC", FD_CLOEXEC, fcntl(fd, F_GETFD));
  GIVES(timerfd_create, "TFD_NONBLOCK", O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
  FAILS(timerfd_create, "a clock that is unknown", EINVAL, timerfd_create(77, 0));
  FAILS(timerfd_create, "a flag that is unknown", EINVAL, timerfd_create(CLOCK_MONOTONIC, 1));
  FAILS(timerfd_create, "CLOCK_REALTIME_ALARM, which needs a privilege", EPERM,
        timerfd_create(CLOCK_REALTIME_ALARM, 0));
  GIVES(timerfd_gettime, "one that is not set", 0,
        timerfd_gettime(fd, &got) == 0 ? got.it_value.tv_sec | got.it_value.tv_nsec : -1);
  FAILS(read, "a timer that has not expired", EAGAIN, read(fd, &count, 8));
  GIVES(timerfd_settime, "a time", 0, timerfd_settime(fd, 0, &time, NULL));
  fcntl(fd, F_SETFL, 0);
  GIVES(timerfd_settime, "a read waits for it", 8, read(fd, &count, 8));
  GIVES(timerfd_settime, "how often it has expired", 1, count);
  FAILS(read, "a timer, to fewer than 8 bytes", EINVAL, read(fd, &count, 7));
  time = (struct itimerspec){{7, 0}, {9000, 0}};
  timerfd_settime(fd, 0, &time, NULL);
  GIVES(timerfd_gettime, "its interval", 7, timerfd_gettime(fd, &got) == 0 ? got.it_interval.tv_sec : -1);
  GIVES(timerfd_gettime, "the time that is left", 1, got.it_value.tv_sec > 8000 && got.it_value.tv_sec <= 9000);
  GIVES(timerfd_settime, "what was set before", 7,
        timerfd_settime(fd, 0, &(struct itimerspec){{0, 0}, {0, 0}}, &got) == 0 ? got.it_interval.tv_sec : -1);
  GIVES(timerfd_settime, "no time disarms it", 0,
        timerfd_gettime(fd, &got) == 0 ? got.it_value.tv_sec | got.it_value.tv_nsec : -1);
  time = (struct itimerspec){{0, 0}, {0, 1}};
  GIVES(timerfd_settime, "TFD_TIMER_ABSTIME that has passed", 1,
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL) == 0 && read(fd, &count, 8) == 8 ? (long)count : -1);
  FAILS(timerfd_settime, "a flag that is unknown", EINVAL, timerfd_settime(fd, 77, &time, NULL));
  time.it_value.tv_nsec = 1000000000;
  FAILS(timerfd_settime, "nanoseconds that are a second", EINVAL, timerfd_settime(fd, 0, &time, NULL));
  time = (struct itimerspec){{0, 0}, {1, 0}};
  FAILS(timerfd_settime, "no descriptor", EBADF, timerfd_settime(kNoDescriptor, 0, &time, NULL));
  FAILS(timerfd_settime, "a descriptor that is no timer", EINVAL, timerfd_settime(0, 0, &time, NULL));
  FAILS(timerfd_settime, "a time that cannot be read", EFAULT, timerfd_settime(fd, 0, nowhere, NULL));
  FAILS(timerfd_settime, "a time before that cannot be written", EFAULT, timerfd_settime(fd, 0, &time, nowhere));
  FAILS(timerfd_gettime, "no descriptor", EBADF, timerfd_gettime(kNoDescriptor, &got));
  FAILS(timerfd_gettime, "a descriptor that is no timer", EINVAL, timerfd_gettime(0, &got));
  FAILS(timerfd_gettime, "to where nothing can be written", EFAULT, timerfd_gettime(fd, nowhere));
  close(fd);
}

static void splicing(void) {
  int from[2], to[2];
  pipe2(from, O_NONBLOCK), pipe2(to, O_NONBLOCK);
  const int counter = eventfd(1, EFD_NONBLOCK);
  struct iovec parts[2] = {{"abc", 3}, {"defg", 4}}, bad = {nowhere, 4};
  loff_t offset = 0;
  write(from[1], "0123456789", 10);
  GIVES(tee, "copies what is in a pipe", 4, tee(from[0], to[1], 4, 0));
  GIVES(tee, "and leaves it there", 10, ioctl(from[0], FIONREAD, block) == 0 ? *(int*)block : -1);
  GIVES(splice, "moves what is in a pipe", 6, splice(from[0], NULL, to[1], NULL, 6, 0));
  GIVES(splice, "and takes it away", 4, ioctl(from[0], FIONREAD, block) == 0 ? *(int*)block : -1);
  GIVES(splice, "the bytes", 0, read(to[0], block, 100) == 10 ? memcmp(block, "0123012345", 10) : 1);
  GIVES(vmsplice, "memory into a pipe", 7, vmsplice(to[1], parts, 2, 0));
  GIVES(vmsplice, "the bytes", 0, read(to[0], block, 100) == 7 ? memcmp(block, "abcdefg", 7) : 1);
  write(to[1], "xyz", 3);
  parts[0] = (struct iovec){block, 3};
  GIVES(vmsplice, "a pipe into memory", 3, vmsplice(to[0], parts, 1, 0));
  FAILS(splice, "no descriptor", EBADF, splice(kNoDescriptor, NULL, to[1], NULL, 4, 0));
  FAILS(splice, "from the end that writes", EBADF, splice(from[1], NULL, to[1], NULL, 4, 0));
  FAILS(splice, "no pipe", EINVAL, splice(counter, NULL, counter, NULL, 4, 0));
  FAILS(splice, "twice the same pipe", EINVAL, splice(from[0], NULL, from[1], NULL, 4, 0));
  FAILS(splice, "an offset in a pipe", ESPIPE, splice(from[0], &offset, to[1], NULL, 4, 0));
  FAILS(splice, "a flag that is unknown", EINVAL, splice(from[0], NULL, to[1], NULL, 4, 1 << 20));
  GIVES(splice, "no bytes", 0, splice(from[0], NULL, to[1], NULL, 0, 0));
  FAILS(tee, "no pipe", EINVAL, tee(counter, to[1], 4, 0));
  FAILS(tee, "twice the same pipe", EINVAL, tee(from[0], from[1], 4, 0));
  FAILS(tee, "no descriptor", EBADF, tee(kNoDescriptor, to[1], 4, 0));
  FAILS(tee, "a flag that is unknown", EINVAL, tee(from[0], to[1], 4, 1 << 20));
  FAILS(vmsplice, "no descriptor", EBADF, vmsplice(kNoDescriptor, parts, 1, 0));
  FAILS(vmsplice, "no pipe", EBADF, vmsplice(counter, parts, 1, 0));
  FAILS(vmsplice, "more than 1024 parts", EINVAL, vmsplice(to[1], parts, 1025, 0));
  FAILS(vmsplice, "parts that cannot be read", EFAULT, vmsplice(to[1], nowhere, 1, 0));
  FAILS(vmsplice, "bytes that cannot be read", EFAULT, vmsplice(to[1], &bad, 1, 0));
  FAILS(vmsplice, "a flag that is unknown", EINVAL, vmsplice(to[1], parts, 1, 1 << 20));
  read(from[0], block, 100);
  FAILS(splice, "an empty pipe", EAGAIN, splice(from[0], NULL, to[1], NULL, 4, SPLICE_F_NONBLOCK));
  FAILS(tee, "an empty pipe", EAGAIN, tee(from[0], to[1], 4, SPLICE_F_NONBLOCK));
  fill(to[1]);
  write(from[1], "abc", 3);
  FAILS(splice, "to a pipe that is full", EAGAIN, splice(from[0], NULL, to[1], NULL, 3, SPLICE_F_NONBLOCK));
  FAILS(vmsplice, "a pipe that is full", EAGAIN, vmsplice(to[1], parts, 1, SPLICE_F_NONBLOCK));
  close(from[1]);
  read(from[0], block, 100), read(to[0], block, sizeof block);
  GIVES(splice, "a pipe without a writer", 0, splice(from[0], NULL, to[1], NULL, 4, 0));
  GIVES(tee, "a pipe without a writer", 0, tee(from[0], to[1], 4, 0));
  FAILS(sendfile, "from a pipe with an offset", ESPIPE, sendfile(to[1], from[0], &offset, 4));
  FAILS(sendfile, "no descriptor", EBADF, sendfile(kNoDescriptor, from[0], NULL, 4));
  close(from[0]), close(to[0]), close(to[1]), close(counter);
}

int main(void) {
  pipes();
  polling();
  counters();
  sets();
  signals_and_timers();
  splicing();
  return 0;
}
