// SPDX-License-Identifier: Apache-2.0
// Pipes and their like between threads and between processes: who waits is woken by who writes, closes, sets or signals. Every line
// that is printed is the same in whatever order they run.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void note(const char* name, long value) {
  printf("%s: %ld\n", name, value);
  fflush(stdout);
}
#define NOTE(expression) note(#expression, (long)(expression))

static void nap(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/// Whether a thread or a process sleeps or has ended, by its folder in /proc; where there is none, time passes only when they do.
static int sleeps(const char* folder) {
  char path[300], text[400] = "";
  snprintf(path, sizeof path, "%s/stat", folder);
  FILE* const file = fopen(path, "r");
  if (!file) return 1;
  const char* const state = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
  fclose(file);
  return !state || strchr("SZX", state[2]) != NULL;
}
static int others_sleep(void) {
  DIR* const tasks = opendir("/proc/self/task");
  int all = 1;
  for (struct dirent* task; tasks && (task = readdir(tasks)) != NULL;) {
    char folder[280];
    if (task->d_name[0] == '.' || atoi(task->d_name) == syscall(SYS_gettid)) continue;
    snprintf(folder, sizeof folder, "/proc/self/task/%s", task->d_name);
    all &= sleeps(folder);
  }
  if (tasks) closedir(tasks);
  return all;
}
static void let_others_wait(void) {
  for (int quiet = 0; quiet < 3; quiet = others_sleep() ? quiet + 1 : 0) nap(4);
}
/// For a child whose parent is to wait before it goes on.
static void let_parent_wait(void) {
  char folder[40];
  snprintf(folder, sizeof folder, "/proc/%d", (int)getppid());
  for (int quiet = 0; quiet < 3; quiet = sleeps(folder) ? quiet + 1 : 0) nap(4);
}

// ---- threads

struct work {
  int fd, other;
  long result;
  int error;
  long bytes;
};
static void* read_all(void* argument) {
  struct work* work = argument;
  unsigned char buffer[3000];
  long got;
  while ((got = read(work->fd, buffer, sizeof buffer)) > 0) {
    for (long i = 0; i < got; i++) work->result = (work->result * 31 + buffer[i]) % 1000003;
    work->bytes += got;
  }
  return NULL;
}
static void* read_once(void* argument) {
  struct work* work = argument;
  uint64_t value = 0;
  work->result = read(work->fd, &value, 8);
  work->error = work->result < 0 ? errno : 0;
  work->bytes = (long)value;
  return NULL;
}
static void* write_much(void* argument) {
  struct work* work = argument;
  char* bytes = malloc(300000);
  for (int i = 0; i < 300000; i++) bytes[i] = (char)(i * 7 + i / 251);
  work->result = write(work->fd, bytes, 300000);
  work->error = work->result < 0 ? errno : 0;
  free(bytes);
  return NULL;
}
static void* poll_one(void* argument) {
  struct work* work = argument;
  struct pollfd record = {work->fd, POLLIN, 0};
  work->result = poll(&record, 1, 60000);
  work->bytes = record.revents;
  return NULL;
}
static void* select_one(void* argument) {
  struct work* work = argument;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(work->fd, &set);
  work->result = select(work->fd + 1, &set, NULL, NULL, NULL);
  work->bytes = FD_ISSET(work->fd, &set);
  return NULL;
}
static void* epoll_one(void* argument) {
  struct work* work = argument;
  struct epoll_event event = {0};
  work->result = epoll_wait(work->fd, &event, 1, 60000);
  work->bytes = (long)event.data.u64;
  return NULL;
}
static pthread_t begin(void* (*function)(void*), struct work* work) {
  pthread_t thread;
  pthread_create(&thread, NULL, function, work);
  let_others_wait();
  return thread;
}
#define ENDS(thread) pthread_join(thread, NULL)

static void threads_and_pipes(void) {
  int fds[2];
  uint64_t one = 1;
  NOTE(pipe(fds));
  struct work in = {fds[0]}, out = {fds[1]};
  pthread_t reader = begin(read_all, &in), writer = begin(write_much, &out);
  ENDS(writer);
  NOTE(out.result);
  close(fds[1]);  // the end of the file for the reader
  ENDS(reader);
  NOTE(in.bytes);
  NOTE(in.result);
  close(fds[0]);
  NOTE(pipe(fds));
  struct work full = {fds[1]};
  writer = begin(write_much, &full);  // fills it and waits
  signal(SIGPIPE, SIG_IGN);
  close(fds[0]);
  ENDS(writer);
  NOTE(full.result);  // what it had written
  NOTE(write(fds[1], "x", 1));
  NOTE(errno);
  close(fds[1]);
  signal(SIGPIPE, SIG_DFL);
  NOTE(pipe(fds));
  void* (*const waiters[])(void*) = {read_once, poll_one, select_one};
  for (int i = 0; i < 3; i++) {
    struct work work = {fds[0]};
    pthread_t thread = begin(waiters[i], &work);
    NOTE(write(fds[1], &one, 8));
    ENDS(thread);
    NOTE(work.result);
    NOTE(work.bytes);
    if (i != 0) NOTE(read(fds[0], &one, 8));
  }
  struct work hangs_up = {fds[0]};
  pthread_t thread = begin(poll_one, &hangs_up);
  close(fds[1]);
  ENDS(thread);
  NOTE(hangs_up.result);
  NOTE(hangs_up.bytes);
  close(fds[0]);
}

static void threads_and_events(void) {
  uint64_t value = 5;
  int fd = eventfd(0, 0);
  struct work counted = {fd};
  pthread_t thread = begin(read_once, &counted);
  NOTE(write(fd, &value, 8));
  ENDS(thread);
  NOTE(counted.bytes);
  value = 0xfffffffffffffffeul;
  NOTE(write(fd, &value, 8));
  struct work drains = {fd};
  thread = begin(poll_one, &drains);
  ENDS(thread);
  NOTE(drains.bytes);
  NOTE(read(fd, &value, 8));
  close(fd);

  fd = timerfd_create(CLOCK_MONOTONIC, 0);
  struct work timed = {fd};
  thread = begin(read_once, &timed);  // not set: it waits
  const struct itimerspec soon = {{0, 0}, {0, 30000000}};
  NOTE(timerfd_settime(fd, 0, &soon, NULL));
  ENDS(thread);
  NOTE(timed.bytes);
  struct work polled = {fd};
  NOTE(timerfd_settime(fd, 0, &soon, NULL));
  thread = begin(poll_one, &polled);
  ENDS(thread);
  NOTE(polled.bytes);
  close(fd);

  int pair[2];
  NOTE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
  struct work packet = {pair[0]};
  thread = begin(read_once, &packet);
  NOTE(send(pair[1], "abc", 3, 0));
  ENDS(thread);
  NOTE(packet.result);
  packet = (struct work){pair[0]};
  thread = begin(read_once, &packet);
  NOTE(shutdown(pair[1], SHUT_WR));
  ENDS(thread);
  NOTE(packet.result);
  close(pair[0]);
  close(pair[1]);

  int set = epoll_create1(0), fds[2];
  NOTE(pipe(fds));
  struct work waits = {set};
  thread = begin(epoll_one, &waits);
  struct epoll_event event = {EPOLLIN, {.u64 = 77}};
  NOTE(write(fds[1], "x", 1));
  NOTE(epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event));  // ready as soon as it is there
  ENDS(thread);
  NOTE(waits.result);
  NOTE(waits.bytes);
  char byte;
  NOTE(read(fds[0], &byte, 1));
  waits = (struct work){set};
  thread = begin(epoll_one, &waits);
  NOTE(write(fds[1], "y", 1));
  ENDS(thread);
  NOTE(waits.bytes);
  close(set);
  close(fds[0]);
  close(fds[1]);
}

static volatile long handled;
static void handler(int number) {
  (void)number;
  __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}
static void* sleep_for_signal(void* argument) {
  struct work* work = argument;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  if (work->other) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  work->bytes = syscall(SYS_gettid);
  char byte;
  work->result = read(work->fd, &byte, 1);
  work->error = work->result < 0 ? errno : 0;
  return NULL;
}
static void threads_and_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sigset_t first;
  sigemptyset(&first);
  sigaddset(&first, SIGUSR1);
  int fd = signalfd(-1, &first, 0), fds[2];
  struct signalfd_siginfo information;
  struct work work = {fd};
  pthread_t thread = begin(poll_one, &work);
  NOTE(kill(getpid(), SIGUSR1));
  ENDS(thread);
  NOTE(work.bytes);
  NOTE(read(fd, &information, sizeof information));
  NOTE(information.ssi_signo);
  close(fd);

  // A signal interrupts a read, or with SA_RESTART does not.
  NOTE(pipe(fds));
  struct sigaction action = {.sa_handler = handler};
  for (int i = 0; i < 2; i++) {
    action.sa_flags = i == 0 ? 0 : SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    struct work waits = {fds[0], 1};
    thread = begin(sleep_for_signal, &waits);
    NOTE(pthread_kill(thread, SIGUSR2));
    nap(20);
    if (i == 1) NOTE(write(fds[1], "z", 1));
    ENDS(thread);
    NOTE(waits.result);
    NOTE(waits.error);
    NOTE(handled);
  }
  // A timer whose signal one thread gets, and one that the process gets: only that thread lets it through.
  for (int i = 0; i < 2; i++) {
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, NULL);
    struct work waits = {fds[0], 1};
    thread = begin(sleep_for_signal, &waits);
    struct sigevent event = {.sigev_notify = i == 0 ? SIGEV_THREAD_ID : SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    event._sigev_un._tid = i == 0 ? (int)waits.bytes : 0;
    timer_t timer;
    NOTE(timer_create(CLOCK_MONOTONIC, &event, &timer));
    const struct itimerspec soon = {{0, 0}, {0, 10000000}};
    NOTE(timer_settime(timer, 0, &soon, NULL));
    ENDS(thread);
    NOTE(waits.result);
    NOTE(waits.error);
    NOTE(handled);
    NOTE(timer_delete(timer));
  }
  struct sigevent wrong = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
  wrong._sigev_un._tid = 1;
  timer_t timer;
  NOTE(timer_create(CLOCK_MONOTONIC, &wrong, &timer));
  NOTE(errno);
  close(fds[0]);
  close(fds[1]);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

// ---- processes

static int ended(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
static long hash_of(int fd, long* bytes) {
  unsigned char buffer[5000];
  long got, hash = 0;
  *bytes = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) {
    for (long i = 0; i < got; i++) hash = (hash * 31 + buffer[i]) % 1000003;
    *bytes += got;
  }
  return hash;
}
static void processes_and_pipes(void) {
  int to[2], from[2];
  char byte = 0;
  long bytes;
  NOTE(pipe(to));
  NOTE(pipe(from));
  pid_t child = fork();
  if (child == 0) {  // turns what comes to capitals
    close(to[1]);
    close(from[0]);
    char buffer[700];
    long got;
    while ((got = read(to[0], buffer, sizeof buffer)) > 0) {
      for (long i = 0; i < got; i++) buffer[i] = (char)(buffer[i] ^ 32);
      if (write(from[1], buffer, (size_t)got) != got) _exit(1);
    }
    _exit(got == 0 ? 3 : 4);
  }
  close(to[0]);
  close(from[1]);
  pid_t feeder = fork();
  if (feeder == 0) {
    close(from[0]);
    struct work work = {to[1]};
    write_much(&work);
    _exit(work.result == 300000 ? 0 : 1);
  }
  close(to[1]);
  NOTE(hash_of(from[0], &bytes));
  NOTE(bytes);
  NOTE(ended(child));
  NOTE(ended(feeder));
  close(from[0]);

  // The last writer's end, of several.
  NOTE(pipe(to));
  for (int i = 0; i < 3; i++) {
    if (fork() == 0) {
      nap(10 * (i + 1));
      _exit(write(to[1], "a", 1) == 1 ? i : 9);
    }
  }
  close(to[1]);
  NOTE(hash_of(to[0], &bytes));
  NOTE(bytes);
  int sum = 0, status;
  while (wait(&status) > 0) sum += WEXITSTATUS(status);
  NOTE(sum);
  close(to[0]);

  // SIGPIPE for a writer that waits, when its reader ends.
  NOTE(pipe(to));
  child = fork();
  if (child == 0) {
    close(to[0]);
    struct work work = {to[1]};
    write_much(&work);
    _exit(7);
  }
  close(to[1]);
  NOTE(read(to[0], &byte, 1));
  nap(20);
  close(to[0]);
  NOTE(ended(child) & 0x7f);

  // A vfork() child has the same openings; the position of a pipe is everyone's.
  NOTE(pipe(to));
  child = vfork();
  if (child == 0) {
    write(to[1], "vf", 2);
    _exit(0);
  }
  NOTE(ended(child));
  close(to[1]);
  NOTE(read(to[0], &byte, 1));
  NOTE(byte);
  NOTE(read(to[0], &byte, 1));
  NOTE(read(to[0], &byte, 1));
  close(to[0]);

  int event = eventfd(0, 0), pair[2];
  NOTE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  child = fork();
  if (child == 0) {
    close(pair[0]);
    uint64_t count = 0;
    if (read(event, &count, 8) != 8 || count != 12) _exit(1);
    if (send(pair[1], "hello", 5, 0) != 5) _exit(2);
    char answer[8] = "";
    _exit(recv(pair[1], answer, 8, 0) == 3 && strcmp(answer, "ok") == 0 ? 0 : 3);
  }
  close(pair[1]);
  nap(10);
  uint64_t twelve = 12;
  NOTE(write(event, &twelve, 8));
  char text[8] = "";
  NOTE(recv(pair[0], text, 5, MSG_WAITALL));
  NOTE(strcmp(text, "hello"));
  NOTE(send(pair[0], "ok", 3, 0));
  NOTE(ended(child));
  NOTE(read(pair[0], text, 8));  // its end
  close(pair[0]);
  close(event);

  // Who polls a pipe is woken by another process, and by SIGCHLD.
  NOTE(pipe(to));
  child = fork();
  if (child == 0) {
    let_parent_wait();
    _exit(write(to[1], "p", 1) == 1 ? 0 : 1);
  }
  struct pollfd record = {to[0], POLLIN, 0};
  NOTE(poll(&record, 1, -1));
  NOTE(record.revents);
  NOTE(ended(child));
  NOTE(read(to[0], &byte, 1));
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGCHLD, &action, NULL);
  handled = 0;
  child = fork();
  if (child == 0) {
    let_parent_wait();
    _exit(0);
  }
  NOTE(poll(&record, 1, -1));
  NOTE(errno);
  NOTE(handled);
  NOTE(ended(child));
  signal(SIGCHLD, SIG_DFL);
  close(to[0]);
  close(to[1]);

  // Timers of timer_create() stay with the parent, and interrupt it; the child has none.
  timer_t timer;
  struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
  action.sa_flags = 0;
  sigaction(SIGUSR2, &action, NULL);
  handled = 0;
  NOTE(timer_create(CLOCK_MONOTONIC, &notify, &timer));
  NOTE(pipe(to));
  child = fork();
  if (child == 0) {
    struct itimerspec left;
    if (read(to[0], &byte, 1) != 1) _exit(2);
    _exit(handled == 0 && timer_gettime(timer, &left) == -1 && errno == EINVAL ? 0 : 1);
  }
  const struct itimerspec often = {{0, 10000000}, {0, 10000000}};
  NOTE(timer_settime(timer, 0, &often, NULL));
  int waited = waitpid(child, &status, 0);
  NOTE(waited);
  NOTE(handled > 0);
  const struct itimerspec never = {{0, 0}, {0, 0}};
  NOTE(timer_settime(timer, 0, &never, NULL));
  NOTE(write(to[1], "g", 1));
  NOTE(ended(child));
  NOTE(timer_delete(timer));
}

int main(void) {
  threads_and_pipes();
  threads_and_events();
  threads_and_signals();
  processes_and_pipes();
  return 0;
}
