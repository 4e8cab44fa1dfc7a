// SPDX-License-Identifier: Apache-2.0
// Numbered checks of processes, by the clauses of fork(2), vfork(2), clone(2), execve(2), wait(2), waitid(2), _exit(2), kill(2),
// setpgid(2), setsid(2) and posix_spawn(3), and of memory that processes share, each printed with its result: the same program runs natively on the host's Linux, under
// QEMU and under myriarm.
//   processes PROGRAM     all checks; PROGRAM is the path by which it executes itself
//   processes - MODE ...  what an executed program does
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result == -1) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
  fflush(stdout);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
#define SHOW(value) (printf("%d %s: %ld\n", ++number, #value, (long)(value)), fflush(stdout))

static const char* program;
static pid_t self;
static volatile int runs, last, last_code, last_status;
static volatile pid_t last_sender;
static void note(int signal, siginfo_t* information, void* context) {
  (void)context;
  runs++;
  last = signal;
  last_code = information->si_code;
  last_sender = information->si_pid;
  last_status = information->si_status;
}
static void handle(int signal, int flags) {
  struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}
static void pause_for(long milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

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
static void die_by(long signal) {
  raise((int)signal);
}
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
      pause_for(30 - 10 * i);
      _exit(i);
    }
  }
  for (int i = 0; i < 3; i++) {
    const pid_t ended = wait(&status);
    int which = -1;
    for (int k = 0; k < 3; k++) which = ended == children[k] ? k : which;
    SHOW(which);
    SHOW(WEXITSTATUS(status));
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
  child = fork();
  if (child == 0) {
    while (1) {
    }
  }
  pause_for(5);
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
  child = fork();
  if (child == 0) {
    for (volatile long i = 0; i < 30000000; i++) {
    }
    _exit(0);
  }
  struct itimerval soon = {.it_value = {0, 2000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  const pid_t waited = waitpid(child, &status, 0);
  CHECK(waited == -1 && errno == EINTR);
  SHOW(runs);
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

static void check_vfork(void) {
  int status;
  volatile int shared = 1;
  fflush(stdout);
  pid_t child = vfork();
  if (child == 0) {
    shared = 2;
    close(0);
    _exit(3);
  }
  SHOW(shared);
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  CHECK(fcntl(0, F_GETFD));
  child = vfork();
  if (child == 0) {
    const pid_t second = vfork();
    if (second == 0) {
      shared += 10;
      _exit(1);
    }
    waitpid(second, &status, 0);
    shared += 100;
    _exit(WEXITSTATUS(status) + 1);
  }
  SHOW(shared);
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  char* const arguments[] = {(char*)program, "-", "status", "42", NULL};
  child = vfork();
  if (child == 0) {
    execv(program, arguments);
    _exit(127);
  }
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ));
  waitpid(child, &status, 0);
  SHOW(WEXITSTATUS(status));
  SHOW(posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, environ));
  CHECK(waitpid(-1, &status, 0));
}

struct Shared {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  sem_t semaphore;
  volatile int counter, turn, done;
};
static void check_shared(void) {
  int status;
  struct Shared* shared = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  volatile char* late = (char*)shared + 4096;  // which nobody has written to before the fork
  pthread_mutexattr_t mutex;
  pthread_condattr_t condition;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &mutex);
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->condition, &condition);
  sem_init(&shared->semaphore, 1, 0);
  fflush(stdout);
  for (int i = 0; i < 4; i++) {
    if (fork() != 0) continue;
    for (int k = 0; k < 2000; k++) {
      pthread_mutex_lock(&shared->mutex);
      const int seen = shared->counter;
      for (volatile int wait = 0; wait < 30; wait++) {
      }
      shared->counter = seen + 1;
      pthread_mutex_unlock(&shared->mutex);
    }
    late[i] = (char)(i + 1);
    sem_post(&shared->semaphore);
    _exit(0);
  }
  for (int i = 0; i < 4; i++) sem_wait(&shared->semaphore);
  SHOW(shared->counter);
  SHOW(late[0] + late[1] * 10 + late[2] * 100 + late[3] * 1000);
  for (int i = 0; i < 4; i++) wait(&status);
  // Turns by a condition variable, with a child of the child.
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t second = fork();
    const int parity = second == 0 ? 1 : 2;
    for (int i = 0; i < 50; i++) {
      pthread_mutex_lock(&shared->mutex);
      while (shared->turn % 3 != parity) pthread_cond_wait(&shared->condition, &shared->mutex);
      shared->turn++;
      pthread_cond_broadcast(&shared->condition);
      pthread_mutex_unlock(&shared->mutex);
    }
    if (second != 0) wait(&status);
    _exit(0);
  }
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&shared->mutex);
    while (shared->turn % 3 != 0) pthread_cond_wait(&shared->condition, &shared->mutex);
    shared->turn++;
    pthread_cond_broadcast(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
  }
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(shared->turn);
  munmap(shared, 3 * 4096);
  SHOW(child_status(touch_nothing, (long)shared) & 0x7f);
}

static int run(char* const arguments[], char* const environment[]) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execve(program, arguments, environment);
    _exit(127);
  }
  if (waitpid(child, &status, 0) != child) return -1;
  return status;
}
static void write_file(const char* name, const char* text, int mode) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700);
  write(fd, text, strlen(text));
  close(fd);
  chmod(name, (mode_t)mode);
}
static int script(const char* name) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(name, "zero", "one", "two", NULL);
    _exit(100 + errno);
  }
  waitpid(child, &status, 0);
  return status >> 8;
}
static void check_exec(void) {
  char text[512];
  char* const environment[] = {"A=1", "B=two words", NULL};
  char* const nothing[] = {NULL};
  SHOW(run((char* const[]){"zero", "-", "show", "x", "", "last one", NULL}, environment));
  SHOW(run((char* const[]){"zero", "-", "show", NULL}, nothing));
  SHOW(run((char* const[]){"zero", "-", "status", "3", NULL}, nothing) >> 8);
  CHECK(execve("/no/such/file", nothing, nothing));
  CHECK(execve("/", nothing, nothing));
  CHECK(execve("", nothing, nothing));
  CHECK(execve((char*)8, nothing, nothing));
  CHECK(execve(program, (char* const*)8, nothing));
  CHECK(execve(program, (char* const[]){(char*)16, NULL}, nothing));
  CHECK(execve("/proc/self/exe/x", nothing, nothing));
  mkdir("/tmp/processes.folder", 0700);
  chdir("/tmp/processes.folder");
  write_file("plain", "echo\n", 0600);
  write_file("empty", "", 0700);
  write_file("garbage", "\177ELF garbage that is long enough for a header, but is no header at all ........", 0700);
  CHECK(execve("plain", nothing, nothing));
  CHECK(execve("empty", nothing, nothing));
  CHECK(execve("garbage", nothing, nothing));
  // Arguments that are too long.
  static char large[140000];
  memset(large, 'a', sizeof large - 1);
  CHECK(execve(program, (char* const[]){large, NULL}, nothing));
  static char* many[30000];
  for (int i = 0; i < 29999; i++) many[i] = large + sizeof large - 100;
  CHECK(execve(program, many, nothing));
  // Scripts.
  snprintf(text, sizeof text, "#!%s - show\nrest\n", program);
  write_file("script", text, 0700);
  SHOW(script("./script"));
  snprintf(text, sizeof text, "#! \t %s \t -  show\t \n", program);
  write_file("spaces", text, 0700);
  SHOW(script("spaces"));
  write_file("nested", "#!./script\n", 0700);
  SHOW(script("./nested"));
  write_file("nothing", "#!\n", 0700);
  SHOW(script("nothing"));
  write_file("missing", "#!/no/such\n", 0700);
  SHOW(script("missing"));
  write_file("folder", "#!/\n", 0700);
  SHOW(script("folder"));
  write_file("itself", "#!./itself\n", 0700);
  SHOW(script("itself"));
  for (int i = 1; i <= 6; i++) {
    char name[16];
    snprintf(name, sizeof name, "level%d", i);
    snprintf(text, sizeof text, i == 1 ? "#!%s -\n" : "#!level%d\n", i == 1 ? 0 : i - 1);
    if (i == 1) snprintf(text, sizeof text, "#!%s\n", program);
    write_file(name, text, 0700);
  }
  SHOW(script("level5") == 100 + ELOOP);
  SHOW(script("level6") == 100 + ELOOP);
  const int writes = open("script", O_WRONLY);
  SHOW(script("script") == 100 + ETXTBSY);
  close(writes);
  // What stays and what does not.
  int kept = open("/dev/null", O_RDONLY), closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
  signal(SIGUSR1, SIG_IGN);
  handle(SIGUSR2, 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, NULL);
  char numbers[2][16];
  snprintf(numbers[0], 16, "%d", kept);
  snprintf(numbers[1], 16, "%d", closed);
  SHOW(run((char* const[]){"zero", "-", "inherits", numbers[0], numbers[1], NULL}, nothing) >> 8);
  fflush(stdout);
  int status;
  pid_t child = fork();
  if (child == 0) {
    raise(SIGHUP);
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    struct itimerval later = {.it_value = {100, 0}};
    setitimer(ITIMER_REAL, &later, NULL);
    execve(program, (char* const[]){"zero", "-", "keeps", NULL}, nothing);
    _exit(127);
  }
  waitpid(child, &status, 0);
  SHOW(status >> 8);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
  close(kept);
  close(closed);
  const int by = open(program, O_PATH);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    syscall(SYS_execveat, by, "", (char* const[]){"zero", "-", "status", "55", NULL}, nothing, AT_EMPTY_PATH);
    _exit(127);
  }
  waitpid(child, &status, 0);
  SHOW(status >> 8);
  CHECK(syscall(SYS_execveat, by, "", nothing, nothing, 0));
  CHECK(syscall(SYS_execveat, by, "x", nothing, nothing, 0));
  CHECK(syscall(SYS_execveat, by, "", nothing, nothing, 1));
  symlink(program, "link");
  CHECK(syscall(SYS_execveat, AT_FDCWD, "link", nothing, nothing, AT_SYMLINK_NOFOLLOW));
  // A child's child's program, ten deep.
  SHOW(run((char* const[]){"zero", "-", "deep", "10", (char*)program, NULL}, nothing) >> 8);
  chdir("/");
}

static int executed(int count, char** arguments, char** environment) {
  const char* mode = count > 2 ? arguments[2] : "";
  if (strcmp(mode, "status") == 0) return atoi(arguments[3]);
  if (strcmp(mode, "deep") == 0) {
    const int depth = atoi(arguments[3]);
    char text[16];
    int status;
    if (depth == 0) return 1;
    snprintf(text, sizeof text, "%d", depth - 1);
    if (fork() == 0) {
      execl(arguments[4], "zero", "-", "deep", text, arguments[4], NULL);
      _exit(127);
    }
    wait(&status);
    return (status >> 8) + 1;
  }
  if (strcmp(mode, "inherits") == 0) {
    struct sigaction ignored, caught;
    sigset_t mask;
    sigaction(SIGUSR1, NULL, &ignored);
    sigaction(SIGUSR2, NULL, &caught);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return (fcntl(atoi(arguments[3]), F_GETFD) == 0) | (fcntl(atoi(arguments[4]), F_GETFD) == -1) << 1 |
           (ignored.sa_handler == SIG_IGN) << 2 | (caught.sa_handler == SIG_DFL) << 3 | (sigismember(&mask, SIGHUP) == 1) << 4;
  }
  if (strcmp(mode, "keeps") == 0) {
    sigset_t pending;
    stack_t stack;
    sigpending(&pending);
    sigaltstack(NULL, &stack);
    return (sigismember(&pending, SIGHUP) == 1) | (stack.ss_flags == SS_DISABLE) << 1 | (alarm(0) > 90) << 2;
  }
  // Who it is: its arguments and its environment, up to the path of the test's program.
  for (int i = 0; i < count; i++) {
    const char* slash = strrchr(arguments[i], '/');
    printf("argument %d: %s\n", i, slash != NULL && slash[1] != 0 ? slash + 1 : arguments[i]);
  }
  for (char** variable = environment; *variable != NULL; variable++) {
    if (strncmp(*variable, "MYRIARM_LANE", 12) != 0) printf("variable %s\n", *variable);
  }
  char link[256], name[16] = {0};
  const ssize_t size = readlink("/proc/self/exe", link, sizeof link - 1);
  link[size > 0 ? size : 0] = 0;
  printf("exe %s, ", strrchr(link, '/'));
  const char* file = (const char*)getauxval(AT_EXECFN);
  printf("file %s, random %d, ", strrchr(file, '/') != NULL ? strrchr(file, '/') : file, getauxval(AT_RANDOM) != 0);
  FILE* comm = fopen("/proc/self/comm", "r");
  if (comm != NULL) fclose(comm);
  syscall(SYS_prctl, 16, name, 0, 0, 0);
  printf("name %s\n", name);
  fflush(stdout);
  return 0;
}

int main(int count, char** arguments, char** environment) {
  if (count > 1 && (strcmp(arguments[1], "-") == 0 || strcmp(arguments[1], "- show") == 0 || strcmp(arguments[1], "-  show") == 0)) {
    return executed(count, arguments, environment);
  }
  if (count < 2) return 1;
  if (arguments[1][0] == '.' || strncmp(arguments[1], "level", 5) == 0) return 0;
  program = arguments[1];
  self = getpid();
  check_ends();
  check_memory();
  check_waiting();
  check_child_signal();
  check_signals_between();
  check_groups();
  check_files();
  check_vfork();
  check_shared();
  check_exec();
  printf("%d checks\n", number);
  return 0;
}
