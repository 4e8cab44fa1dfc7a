// SPDX-License-Identifier: Apache-2.0
// Checks of processes.c: children of fork(), how they end, and what they have in common with their parents.
#pragma once

#include "noting.h"

// Children that exit in these ways, and what their parent sees.
static int child_status(void (*what)(long), long value) {
  int status = -1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    what(value);
    _exit(99);
  }
  if (waitpid(child, &status, 0) != child) return -1;
  return status;
}
static void leave(long status) { _exit((int)status); }
static void leave_thread(long status) { syscall(SYS_exit, (int)status); }
static void die_by(long signal) { raise((int)signal); }
static void touch_nothing(long address) { *(volatile char*)(uintptr_t)address = 1; }
static void abort_now(long unused) {
  (void)unused;
  abort();
}
static void alarm_soon(long unused) {
  (void)unused;
  alarm(1);
  while (1) pause();
}

static void check_ends(void) {
  SHOW(child_status(leave, 0));
  SHOW(child_status(leave, 7));
  SHOW(child_status(leave, 255));
  SHOW(child_status(leave, 256 + 3));
  SHOW(child_status(leave, -1));
  SHOW(child_status(leave_thread, 9));
  SHOW(child_status(die_by, SIGTERM));
  SHOW(child_status(die_by, SIGKILL));
  SHOW(child_status(die_by, SIGUSR1));
  SHOW(child_status(die_by, SIGCHLD) >> 8);
  SHOW(child_status(touch_nothing, 8) & 0x7f);
  SHOW(child_status(abort_now, 0) & 0x7f);
  SHOW(child_status(alarm_soon, 0));
}

static int global = 1;
static void check_memory(void) {
  int local = 2, status = 0;
  char* private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  private[0] = 3;
  char* heap = malloc(100000);
  memset(heap, 4, 100000);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    const int good = global == 1 && local == 2 && private[0] == 3 && heap[99999] == 4;
    global = local = 20;
    private[0] = 30;
    memset(heap, 40, 100000);
    pause_for(10);
    _exit(good && global == 20 && private[0] == 30 && heap[5] == 40 ? 1 : 0);
  }
  global = 100;
  pause_for(1);
  heap[7] = 5;
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(WEXITSTATUS(status));
  SHOW(global);
  SHOW(local);
  SHOW(private[0]);
  SHOW(heap[99999]);
  SHOW(heap[7]);
  free(heap);
  munmap(private, 4096);
  // A copy of a copy, and its child's.
  fflush(stdout);
  child = fork();
  if (child == 0) {
    global = 5;
    const pid_t second = fork();
    if (second == 0) _exit(global == 5 ? (global = 6, 1) : 2);
    int how;
    waitpid(second, &how, 0);
    _exit(how >> 8 == 1 && global == 5 ? 11 : 12);
  }
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  SHOW(global);
}

static void check_waiting(void) {
  int status = 0;
  siginfo_t information;
  struct rusage usage;
  CHECK(waitpid(-1, &status, 0));
  CHECK(waitpid(-1, &status, WNOHANG));
  CHECK(waitpid(self, &status, 0));
  CHECK(waitpid(1 << 21, &status, 0));
  CHECK(waitpid(-1, &status, 1 << 20));
  CHECK(waitid(P_ALL, 0, &information, WEXITED));
  CHECK(waitid(P_ALL, 0, &information, 0));
  CHECK(waitid(77, 0, &information, WEXITED));
  CHECK(waitid(P_PID, 0, &information, WEXITED));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    pause_for(20);
    _exit(5);
  }
  CHECK(waitpid(child, &status, WNOHANG));
  memset(&information, 1, sizeof information);
  CHECK(waitid(P_PID, child, &information, WEXITED | WNOHANG));
  SHOW(information.si_pid);
  SHOW(information.si_signo);
  CHECK(waitpid(child + 1000, &status, WNOHANG));
  CHECK(waitid(P_PID, child, &information, WEXITED | WNOWAIT));
  SHOW(information.si_pid == child);
  SHOW(information.si_signo == SIGCHLD);
  SHOW(information.si_code == CLD_EXITED);
  SHOW(information.si_status);
  SHOW(information.si_uid == getuid());
  CHECK(waitid(P_ALL, 0, &information, WEXITED));
  SHOW(information.si_status);
  CHECK(waitid(P_ALL, 0, &information, WEXITED));
  fflush(stdout);
  // The one that ends first is seen first; kill(pid, 0) finds zombies.
  pid_t children[3];
  for (int i = 0; i < 3; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      while (1) pause();
    }
  }
  for (int i = 0; i < 3; i++) {
    kill(children[2 - i], (int[]){SIGTERM, SIGINT, SIGHUP}[i]);
    const pid_t ended = wait(&status);
    int which = -1;
    for (int k = 0; k < 3; k++) which = ended == children[k] ? k : which;
    SHOW(which);
    SHOW(WTERMSIG(status));
  }
  fflush(stdout);
  child = fork();
  if (child == 0) {
    for (volatile int i = 0; i < 1000000; i++) {
    }
    raise(SIGTERM);
  }
  pause_for(100);
  CHECK(kill(child, 0));
  CHECK(kill(child, SIGUSR1));
  CHECK(wait4(child, &status, 0, &usage) == child);
  SHOW(WTERMSIG(status));
  SHOW(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec > 0);
  CHECK(kill(child, 0));
  CHECK(getrusage(RUSAGE_CHILDREN, &usage));
  SHOW(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec > 0);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    raise(SIGKILL);
  }
  CHECK(waitid(P_PID, child, &information, WEXITED));
  SHOW(information.si_code == CLD_KILLED);
  SHOW(information.si_status);
  // A bad address: the child has been waited for.
  fflush(stdout);
  child = fork();
  if (child == 0) _exit(1);
  CHECK(syscall(SYS_wait4, child, (void*)8, 0, NULL));
  CHECK(waitpid(child, NULL, 0));
}

static void check_child_signal(void) {
  int status;
  handle(SIGCHLD, 0);
  runs = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(6);
  while (runs == 0) pause_for(1);
  SHOW(last == SIGCHLD);
  SHOW(last_code == CLD_EXITED);
  SHOW(last_sender == child);
  SHOW(last_status);
  CHECK(waitpid(child, &status, 0) == child);
  // It ends a wait for another one, or not.
  fflush(stdout);
  child = fork();
  if (child == 0) {
    pause_for(50);
    _exit(7);
  }
  const pid_t other = fork();
  if (other == 0) _exit(8);
  runs = 0;
  const pid_t found = waitpid(child, &status, 0);
  CHECK(found == -1 && errno == EINTR);
  SHOW(runs);
  handle(SIGCHLD, SA_RESTART);
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(WEXITSTATUS(status));
  CHECK(waitpid(other, &status, 0) == other);
  // Nobody wants to know.
  signal(SIGCHLD, SIG_IGN);
  fflush(stdout);
  child = fork();
  if (child == 0) _exit(1);
  CHECK(waitpid(child, &status, 0));
  handle(SIGCHLD, SA_NOCLDWAIT);
  runs = 0;
  fflush(stdout);
  child = fork();
  if (child == 0) _exit(1);
  CHECK(waitpid(child, &status, 0));
  SHOW(runs);
  signal(SIGCHLD, SIG_DFL);
}

static void check_signals_between(void) {
  int status;
  handle(SIGUSR1, 0);
  runs = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    kill(getppid(), SIGUSR1);
    _exit(0);
  }
  while (runs == 0) pause_for(1);
  SHOW(last_sender == child);
  SHOW(last_code == SI_USER);
  waitpid(child, &status, 0);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    runs = 0;
    while (runs < 1) pause();
    _exit(last == SIGUSR1 && last_sender == getppid() ? 21 : 22);
  }
  pause_for(20);
  CHECK(kill(child, SIGUSR1));
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  // One that waits, one that computes, one that blocks the signal.
  fflush(stdout);
  child = fork();
  if (child == 0) {
    while (1) pause();
  }
  pause_for(5);
  CHECK(kill(child, SIGTERM));
  waitpid(child, &status, 0);
  SHOW(status);
  fflush(stdout);
  int begins[2];
  char byte;
  if (pipe(begins) != 0) return;
  child = fork();
  if (child == 0) {
    if (write(begins[1], "", 1) != 1) _exit(1);
    while (1) {
    }
  }
  if (read(begins[0], &byte, 1) != 1) return;
  close(begins[0]);
  close(begins[1]);
  CHECK(kill(child, SIGINT));
  waitpid(child, &status, 0);
  SHOW(status);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    int taken;
    sigset_t pending;
    const int waited = sigwait(&set, &taken);
    sigpending(&pending);
    _exit(waited == 0 && taken == SIGUSR2 && !sigismember(&pending, SIGUSR2) ? 31 : 32);
  }
  pause_for(5);
  CHECK(kill(child, SIGUSR2));
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  // Pending signals and timers are not inherited.
  raise(SIGUSR2);
  alarm(1000);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    sigset_t pending;
    sigpending(&pending);
    _exit((sigismember(&pending, SIGUSR2) ? 1 : 0) | (alarm(0) != 0 ? 2 : 0) | 40);
  }
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  SHOW(alarm(0) > 900);
  signal(SIGUSR2, SIG_IGN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  signal(SIGUSR2, SIG_DFL);
  // A timer of a process that waits while others run.
  handle(SIGALRM, 0);
  runs = 0;
  fflush(stdout);
  volatile int* const rung = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  child = fork();
  if (child == 0) {
    while (!*rung) {
    }
    _exit(0);
  }
  // Each 2 ms: one alone could come before the parent waits.
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 2000}, {0, 2000}}, NULL);
  const pid_t waited = waitpid(child, &status, 0);
  const int why = errno;
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  *rung = 1;
  CHECK(waited == -1 && why == EINTR);
  SHOW(runs > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(kill(-(1 << 20), SIGTERM));
  CHECK(kill(self, 65));
  signal(SIGALRM, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
}

static void check_groups(void) {
  int status;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    pause_for(50);
    _exit(getpgid(0) == getpid() && getpgrp() == getpid() ? 3 : 4);
  }
  SHOW(getpgid(child) == getpgid(0));
  SHOW(getsid(child) == getsid(0));
  CHECK(setpgid(child, 0));
  SHOW(getpgid(child) == child);
  CHECK(setpgid(child, 1 << 20));
  CHECK(setpgid(child, -1));
  CHECK(setpgid(1 << 20, 0));
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  CHECK(getpgid(child));
  fflush(stdout);
  child = fork();
  if (child == 0) {
    const pid_t session = setsid();
    const int good = session == getpid() && getsid(0) == getpid() && getpgid(0) == getpid();
    const int again = setsid() == -1 && errno == EPERM, group = setpgid(0, 0) == -1 && errno == EPERM;
    _exit(good | again << 1 | group << 2);
  }
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  // A signal to a group, waits for one.
  pid_t group[3];
  for (int i = 0; i < 3; i++) {
    fflush(stdout);
    group[i] = fork();
    if (group[i] == 0) {
      while (1) pause();
    }
    setpgid(group[i], group[0]);
  }
  CHECK(kill(-group[0], 0));
  CHECK(waitpid(-group[0], &status, WNOHANG));
  CHECK(kill(-group[0], SIGTERM));
  int sum = 0;
  for (int i = 0; i < 3; i++) sum += waitpid(-group[0], &status, 0) > 0 && status == SIGTERM;
  SHOW(sum);
  CHECK(waitpid(-group[0], &status, 0));
  // Orphans get another parent: here the first process, as one that has asked for that on Linux.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    const pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent) pause_for(1);
      _exit(getppid() == self ? 18 : 19);
    }
    _exit(17);
  }
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(WEXITSTATUS(status));
  CHECK(waitpid(-1, &status, 0) > 0);
  SHOW(WEXITSTATUS(status));
  // Whatever signal such a process was to send at its end, the new parent gets SIGCHLD.
  child = fork();
  if (child == 0) {
    const pid_t parent = getpid();
    if (syscall(SYS_clone, SIGTERM, 0, 0, 0, 0) == 0) {
      while (getppid() == parent) pause_for(1);
      _exit(20);
    }
    _exit(17);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(waitpid(-1, &status, 0) > 0);
  SHOW(WEXITSTATUS(status));
}

static void check_files(void) {
  int status;
  char name[] = "/tmp/processes.XXXXXX", bytes[64] = {0};
  const int fd = mkstemp(name);
  SHOW(fd >= 0);
  write(fd, "abcdefghij", 10);
  lseek(fd, 2, SEEK_SET);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char own[4];
    const int size = (int)read(fd, own, 3);
    lseek(fd, 1, SEEK_CUR);
    close(fd);
    chdir("/");
    umask(0);
    _exit(size == 3 && memcmp(own, "cde", 3) == 0 ? 1 : 2);
  }
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  SHOW(lseek(fd, 0, SEEK_CUR));  // the position is common
  SHOW(read(fd, bytes, 2));
  SHOW(bytes[0]);
  // The child's descriptors are its own; a file without a name lives as long as one has it open.
  unlink(name);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    pause_for(20);
    lseek(fd, 0, SEEK_SET);
    _exit(read(fd, bytes, 10) == 10 && bytes[9] == 'j' ? 1 : 2);
  }
  close(fd);
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  CHECK(write(fd, "x", 1));
}
