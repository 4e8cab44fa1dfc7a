// SPDX-License-Identifier: Apache-2.0
// Checks of processes.c: vfork(), shared memory and execve(), and what the programs do that are executed.
#pragma once

#include "children.h"
#include "own_files.h"

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
           (ignored.sa_handler == SIG_IGN) << 2 | (caught.sa_handler == SIG_DFL) << 3 |
           (sigismember(&mask, SIGHUP) == 1) << 4;
  }
  if (strcmp(mode, "keeps") == 0) {
    sigset_t pending;
    stack_t stack;
    sigpending(&pending);
    sigaltstack(NULL, &stack);
    return (sigismember(&pending, SIGHUP) == 1) | (stack.ss_flags == SS_DISABLE) << 1 | (alarm(0) > 90) << 2;
  }
  if (strcmp(mode, "files") == 0) {
    check_own_program(count, arguments, environment);
    return 0;
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
