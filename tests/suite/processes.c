// SPDX-License-Identifier: Apache-2.0
// Checks of processes, by the manual pages: fork(2), vfork(2), clone(2), clone3(2), exit(2), exit_group(2), wait4(2), waitid(2), execve(2), execveat(2),
// setpgid(2), setsid(2), getppid(2), kill(2).
// Executed with arguments it is the program that execve() is to begin.
#include "checking.h"

#include <linux/sched.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/file.h>

extern char** environ;
static int status;
static siginfo_t information;
static pid_t child;

static void leave(long how) { _exit((int)how); }
static void leave_thread(long how) { syscall(SYS_exit, how); }
static void die(long signal) { raise((int)signal); }
/// A child that waits for a signal.
static pid_t waiting_child(void) {
  const pid_t made = fork();
  if (made == 0) {
    for (;;) pause();
  }
  return made;
}

static void ends(void) {
  GIVES(exit_group, "0", 0, child_status(leave, 0));
  GIVES(exit_group, "a status", 7 << 8, child_status(leave, 7));
  GIVES(exit_group, "8 bits of it", 3 << 8, child_status(leave, 256 + 3));
  GIVES(exit, "the only thread ends the process", 9 << 8, child_status(leave_thread, 9));
  GIVES(wait4, "a signal", SIGTERM, child_status(die, SIGTERM));
  GIVES(wait4, "SIGKILL", SIGKILL, child_status(die, SIGKILL));
  FAILS(wait4, "no children", ECHILD, wait4(-1, &status, 0, NULL));
  FAILS(wait4, "one that is no child", ECHILD, wait4(getpid(), &status, 0, NULL));
  FAILS(wait4, "a flag that is unknown", EINVAL, wait4(-1, &status, 1 << 20, NULL));
  FAILS(waitid, "no children", ECHILD, waitid(P_ALL, 0, &information, WEXITED));
  FAILS(waitid, "nothing to wait for", EINVAL, waitid(P_ALL, 0, &information, 0));
  FAILS(waitid, "a flag that is unknown", EINVAL, waitid(P_ALL, 0, &information, WEXITED | 1 << 20));
  FAILS(waitid, "whom that is unknown", EINVAL, waitid(77, 0, &information, WEXITED));
  child = waiting_child();
  GIVES(wait4, "WNOHANG", 0, wait4(child, &status, WNOHANG, NULL));
  information.si_pid = 77;
  GIVES(waitid, "WNOHANG", 0, waitid(P_PID, child, &information, WEXITED | WNOHANG));
  GIVES(waitid, "WNOHANG writes 0", 0, information.si_pid);
  alarms(0);
  FAILS(wait4, "a signal while it waits", EINTR, wait4(child, &status, 0, NULL));
  FAILS(waitid, "a signal while it waits", EINTR, waitid(P_PID, child, &information, WEXITED));
  no_alarms();
  GIVES(kill, "0 finds a process", 0, kill(child, 0));
  GIVES(kill, "a child", 0, kill(child, SIGUSR1));
  GIVES(waitid, "WNOWAIT", 0, waitid(P_PID, child, &information, WEXITED | WNOWAIT));
  GIVES(waitid, "the process", 1, information.si_pid == child);
  GIVES(waitid, "SIGCHLD", SIGCHLD, information.si_signo);
  GIVES(waitid, "CLD_KILLED", CLD_KILLED, information.si_code);
  GIVES(waitid, "its signal", SIGUSR1, information.si_status);
  GIVES(waitid, "its user", 1000, information.si_uid);
  GIVES(kill, "0 finds one that has ended", 0, kill(child, 0));
  struct rusage usage;
  GIVES(wait4, "what WNOWAIT has left", 1, wait4(child, &status, 0, &usage) == child);
  GIVES(wait4, "its status", SIGUSR1, status);
  FAILS(kill, "who has been waited for", ESRCH, kill(child, 0));
  FAILS(wait4, "twice", ECHILD, wait4(child, &status, 0, NULL));
  child = fork();
  if (child == 0) _exit(5);
  waitid(P_PID, child, &information, WEXITED);
  GIVES(waitid, "CLD_EXITED", CLD_EXITED, information.si_code);
  GIVES(waitid, "the status of an exit", 5, information.si_status);
  child = fork();
  if (child == 0) _exit(6);
  FAILS(wait4, "to where nothing can be written", EFAULT, wait4(child, nowhere, 0, NULL));
  on_signal(SIGCHLD, 0);
  child = fork();
  if (child == 0) _exit(0);
  while (runs == 0) nap(1);
  GIVES(exit_group, "SIGCHLD to the parent", SIGCHLD, last_signal);
  waitpid(child, &status, 0);
  signal(SIGCHLD, SIG_IGN);
  child = fork();
  if (child == 0) _exit(0);
  FAILS(wait4, "SIGCHLD is ignored: no status is kept", ECHILD, wait4(child, &status, 0, NULL));
  signal(SIGCHLD, SIG_DFL);
  int ends_of_pipe[2];
  pipe(ends_of_pipe);
  child = fork();
  if (child == 0) {
    const pid_t parent = getppid();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      // Its parent has gone when it has another.
      while (getppid() == child || getppid() == parent) nap(1);
      _exit(0);
    }
    _exit(parent == 0 ? 1 : 0);
  }
  waitpid(child, &status, 0);
  GIVES(getppid, "of a child, and of one whose parent has ended", 0, status);
  close(ends_of_pipe[0]), close(ends_of_pipe[1]);
}

static void lock_file(long fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_len = 5};
  _exit(fcntl((int)fd, F_SETLK, &lock) == 0 ? 0 : errno);
}
static void find_lock(long fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_len = 5};
  _exit(fcntl((int)fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == getppid());
}
static void wait_for_lock(long fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_len = 5};
  alarms(0);
  _exit(fcntl((int)fd, F_SETLKW, &lock) == 0 ? 0 : errno);
}
static int place_of_lock(int fd, long start) {
  struct flock lock = {.l_type = F_WRLCK, .l_start = start, .l_len = 1};
  fcntl(fd, F_GETLK, &lock);
  return lock.l_type == F_UNLCK ? 0 : (int)(lock.l_type * 100 + lock.l_start * 10 + lock.l_len);
}
static int record(int fd, int type, long start, long length) {
  struct flock lock = {.l_type = (short)type, .l_start = start, .l_len = length};
  return fcntl(fd, F_SETLK, &lock);
}
static void place_at_1(long fd) { _exit(place_of_lock((int)fd, 1)); }
static void place_at_4(long fd) { _exit(place_of_lock((int)fd, 4)); }
static void place_at_7(long fd) { _exit(place_of_lock((int)fd, 7)); }
static void lock_whole(long fd) { _exit(flock((int)fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno); }
static void lock_whole_anew(long fd) {
  (void)fd;
  _exit(flock(open("locked", O_RDWR), LOCK_EX | LOCK_NB) == 0 ? 0 : errno);
}
/// A process waits for a lock that another one has, which lets it go, or ends: what its call gave, or -1 if it did not wait.
static int given_lock(int fd, bool ends) {
  int begins[2], status = 0;
  char byte;
  pipe(begins);
  const pid_t owner = fork();
  if (owner == 0) {
    record(fd, F_WRLCK, 0, 5);
    write(begins[1], "x", 1);
    struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    write(begins[1], "y", 1);
    if (ends) _exit(0);
    record(fd, F_UNLCK, 2, 1);
    record(fd, F_UNLCK, 0, 0);
    pause.tv_sec = 5;
    nanosleep(&pause, NULL);
    _exit(0);
  }
  read(begins[0], &byte, 1);
  struct flock lock = {.l_type = F_RDLCK, .l_start = 3, .l_len = 1};
  const int result = fcntl(fd, F_SETLKW, &lock) == 0 ? 0 : errno;
  struct pollfd about_to_end = {.fd = begins[0], .events = POLLIN};
  const bool waited = poll(&about_to_end, 1, 0) == 1;
  kill(owner, SIGKILL);
  waitpid(owner, &status, 0);
  record(fd, F_UNLCK, 0, 0);
  close(begins[0]), close(begins[1]);
  return waited ? result : -1;
}
static void locks(int fd) {
  record(fd, F_UNLCK, 0, 0);
  record(fd, F_WRLCK, 0, 9);
  record(fd, F_RDLCK, 3, 3);
  GIVES(fcntl, "F_SETLK of the middle of a lock: what is in front", 103, child_status(place_at_1, fd) >> 8);
  GIVES(fcntl, "F_SETLK of the middle of a lock, of another type", 33, child_status(place_at_4, fd) >> 8);
  GIVES(fcntl, "F_SETLK of the middle of a lock: what is behind", 163, child_status(place_at_7, fd) >> 8);
  record(fd, F_WRLCK, 2, 5);
  GIVES(fcntl, "F_SETLK of what lies between locks makes them one", 109, child_status(place_at_4, fd) >> 8);
  record(fd, F_UNLCK, 3, 3);
  GIVES(fcntl, "F_SETLK that lets the middle go", 0, child_status(place_at_4, fd) >> 8);
  GIVES(fcntl, "F_SETLK that lets the middle go: what is behind", 163, child_status(place_at_7, fd) >> 8);
  close(open("locked", O_RDONLY));
  GIVES(close, "any descriptor of a file lets its records go", 0, child_status(place_at_7, fd) >> 8);
  GIVES(fcntl, "F_SETLKW waits until a lock is let go", 0, given_lock(fd, false));
  GIVES(fcntl, "F_SETLKW waits until a process has ended", 0, given_lock(fd, true));
  flock(fd, LOCK_EX);
  GIVES(flock, "a child has the lock of its parent's opening", 0, child_status(lock_whole, fd) >> 8);
  RETURNS(flock, "what another process has", EAGAIN, child_status(lock_whole_anew, fd) >> 8);
  flock(fd, LOCK_UN);
  GIVES(flock, "what a process that has ended had", 0, child_status(lock_whole_anew, fd) >> 8);
}
/// Two processes that each have what the other waits for: how many are told so. They let go of what they have then.
static int dead_locks(void) {
  const int fd = open("two", O_RDWR | O_CREAT, 0644);
  int ready[2], child_result = 0;
  char byte;
  pipe(ready);
  struct flock first = {.l_type = F_WRLCK, .l_start = 0, .l_len = 1},
               second = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
  fcntl(fd, F_SETLK, &first);
  const pid_t other = fork();
  if (other == 0) {
    fcntl(fd, F_SETLK, &second);
    write(ready[1], "x", 1);
    _exit(fcntl(fd, F_SETLKW, &first) == -1 && errno == EDEADLK);
  }
  read(ready[0], &byte, 1);
  const int own = fcntl(fd, F_SETLKW, &second) == -1 && errno == EDEADLK;
  close(fd);
  waitpid(other, &child_result, 0);
  close(ready[0]), close(ready[1]);
  return own + (child_result >> 8);
}
static int common;
static int add_one(void* argument) {
  common += (int)(long)argument;
  return 3;
}
static void clones(void) {
  static char stack[65536] __attribute__((aligned(16)));
  common = 1;
  child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    common = 2;
    _exit(common);
  }
  waitpid(child, &status, 0);
  GIVES(clone, "as fork() does", 2 << 8, status);
  GIVES(clone, "memory is a copy", 1, common);
  child = clone(add_one, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, (void*)4);
  waitpid(child, &status, 0);
  GIVES(clone, "CLONE_VM has the same memory", 5, common);
  GIVES(clone, "the function's result is the status", 3 << 8, status);
  pid_t known = -1;
  child = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, 0, &known, 0, 0);
  if (child == 0) _exit(0);
  waitpid(child, &status, 0);
  GIVES(clone, "CLONE_PARENT_SETTID", 1, known == child);
  FAILS(clone, "CLONE_SIGHAND without CLONE_VM", EINVAL, syscall(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0, 0, 0, 0));
  struct rlimit limit;
  getrlimit(RLIMIT_NPROC, &limit);
  setrlimit(RLIMIT_NPROC, &(struct rlimit){0, limit.rlim_max});
  FAILS(clone, "more than RLIMIT_NPROC", EAGAIN,
        (child = fork(), child == 0  ? (_exit(0), 0)
                         : child < 0 ? -1
                                     : (waitpid(child, NULL, 0), 0)));
  struct clone_args none = {.exit_signal = SIGCHLD}, named = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
  FAILS(clone3, "more than RLIMIT_NPROC", EAGAIN,
        (child = (pid_t)syscall(SYS_clone3, &none, sizeof none), child == 0  ? (_exit(0), 0)
                                                                 : child < 0 ? -1
                                                                             : (waitpid(child, NULL, 0), 0)));
  setrlimit(RLIMIT_NPROC, &limit);
  FAILS(clone3, "CLONE_NEWPID, which needs a privilege", EPERM, syscall(SYS_clone3, &named, sizeof named));
  FAILS(clone, "CLONE_THREAD without CLONE_SIGHAND", EINVAL,
        syscall(SYS_clone, CLONE_THREAD | CLONE_VM, stack, 0, 0, 0));
  FAILS(clone, "CLONE_FS and CLONE_NEWNS", EINVAL, syscall(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
  FAILS(clone, "CLONE_NEWPID, which needs a privilege", EPERM, syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
  struct clone_args arguments = {.exit_signal = SIGCHLD};
#define CLONE3(size) \
  (child = (pid_t)syscall(SYS_clone3, &arguments, size), child == 0 ? (_exit(4), 0) : child < 0 ? -1 : 0)
  GIVES(clone3, "as fork() does", 0, CLONE3(sizeof arguments));
  GIVES(clone3, "the child's status", 4 << 8, waitpid(child, &status, 0) == child ? status : -1);
  FAILS(clone3, "too small a structure", EINVAL, CLONE3(8));
  FAILS(clone3, "a structure that cannot be read", EFAULT, syscall(SYS_clone3, nowhere, sizeof arguments));
  arguments.flags = CLONE_SIGHAND;
  FAILS(clone3, "CLONE_SIGHAND without CLONE_VM", EINVAL, CLONE3(sizeof arguments));
  arguments.flags = 1ull << 50;
  FAILS(clone3, "a flag that is unknown", EINVAL, CLONE3(sizeof arguments));
  arguments.flags = 0, arguments.exit_signal = 77;
  FAILS(clone3, "an exit signal that is unknown", EINVAL, CLONE3(sizeof arguments));
  arguments.exit_signal = SIGCHLD, arguments.stack_size = 100;
  FAILS(clone3, "the size of a stack without a stack", EINVAL, CLONE3(sizeof arguments));
  // Locks of records, of which a child has none.
  const int locked = open("locked", O_RDWR | O_CREAT, 0644);
  struct flock lock = {.l_type = F_WRLCK, .l_len = 5};
  fcntl(locked, F_SETLK, &lock);
  RETURNS(fcntl, "F_SETLK of what another process has", EAGAIN, child_status(lock_file, locked) >> 8);
  GIVES(fcntl, "F_GETLK of what another process has", 1, child_status(find_lock, locked) >> 8);
  RETURNS(fcntl, "F_SETLKW, a signal while it waits", EINTR, child_status(wait_for_lock, locked) >> 8);
  locks(locked);
  close(locked);
  RETURNS(fcntl, "F_SETLKW of two processes that wait for each other, for one of them", EDEADLK,
          dead_locks() == 1 ? EDEADLK : 0);
  // What a child has of its parent.
  signal(SIGUSR1, SIG_IGN);
  umask(027);
  chdir("folder");
  const int fd = open("../shared", O_RDWR | O_CREAT, 0644);
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR2);
  alarm(1000);
  child = fork();
  if (child == 0) {
    struct sigaction action;
    char place[100];
    sigset_t pending, blocked;
    sigaction(SIGUSR1, NULL, &action);
    sigpending(&pending);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    lseek(fd, 55, SEEK_SET);
    _exit((action.sa_handler == SIG_IGN) | (umask(0) == 027) << 1 |
          (strcmp(getcwd(place, 100), "/mnt/own/folder") == 0) << 2 | (sigismember(&pending, SIGUSR2) == 0) << 3 |
          (sigismember(&blocked, SIGUSR2) == 1) << 4 | (alarm(0) == 0) << 5);
  }
  waitpid(child, &status, 0);
  GIVES(clone, "a child has actions, mask, folder and blocked signals, and neither pending signals nor alarms",
        077 << 8, status);
  GIVES(clone, "the offset of a file is common", 55, lseek(fd, 0, SEEK_CUR));
  GIVES(clone, "the parent's alarm is as before", 1, alarm(0) > 0);
  sigpending(&set);
  GIVES(clone, "the parent's pending signals are as before", 1, sigismember(&set, SIGUSR2));
  umask(022);
  chdir("..");
  signal(SIGUSR1, SIG_DFL), signal(SIGUSR2, SIG_IGN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  close(fd);
}

static void groups(void) {
  child = waiting_child();
  GIVES(getpgid, "a child is in its parent's group", 1, getpgid(child) == getpid());
  GIVES(getsid, "a child is in its parent's session", 1, getsid(child) == getpid());
  GIVES(setpgid, "a child into a group of its own", 0, setpgid(child, child));
  GIVES(getpgid, "of the child", 1, getpgid(child) == child);
  GIVES(kill, "a group", 0, kill(-child, SIGTERM));
  GIVES(kill, "a group: the child has ended", SIGTERM, waitpid(child, &status, 0) == child ? status : -1);
  FAILS(kill, "a group that is not there", ESRCH, kill(-child, SIGTERM));
  child = waiting_child();
  FAILS(setpgid, "into a group that is not there", EPERM, setpgid(child, kNobody));
  GIVES(setpgid, "back into the parent's", 0, setpgid(child, getpid()));
  FAILS(wait4, "a group in which no child is", ECHILD, wait4(-child, &status, 0, NULL));
  kill(child, SIGKILL);
  GIVES(wait4, "one's own group", 1, wait4(0, &status, 0, NULL) == child);
  child = fork();
  if (child == 0)
    _exit(setsid() == getpid() && getpgid(0) == getpid() && getsid(0) == getpid() && setsid() == -1 ? 0 : 1);
  GIVES(setsid, "a child leads a session and a group, once", 0, waitpid(child, &status, 0) == child ? status : -1);
  child = fork();
  if (child == 0) {
    setsid();
    for (;;) pause();
  }
  while (getsid(child) != child) nap(1);
  FAILS(setpgid, "a child in another session", EPERM, setpgid(child, child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  int ready[2];
  pipe2(ready, O_CLOEXEC);
  child = fork();
  if (child == 0) {
    char* arguments[] = {"program", "wait", NULL};
    execve("program", arguments, environ);
    _exit(1);
  }
  close(ready[1]);
  char byte;
  read(ready[0], &byte, 1);  // the end of a pipe that the program has not
  close(ready[0]);
  FAILS(setpgid, "a child that has executed a program", EACCES, setpgid(child, child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

static char* no_arguments[] = {NULL};
static const char *path, *first_argument;
static int descriptor, at_flags;
static void execute(long unused) {
  (void)unused;
  char* arguments[] = {(char*)first_argument, "status", "37", NULL};
  syscall(SYS_execve, path, arguments, environ);
  _exit(errno);
}
static void execute_at(long unused) {
  (void)unused;
  char* arguments[] = {(char*)first_argument, "status", "37", NULL};
  syscall(SYS_execveat, descriptor, path, arguments, environ, at_flags);
  _exit(errno);
}
static int executed(const char* which) {
  path = which, first_argument = "name";
  return child_status(execute, 0) >> 8;
}
static int executed_at(int at, const char* which, int flags) {
  path = which, first_argument = "name", descriptor = at, at_flags = flags;
  return child_status(execute_at, 0) >> 8;
}
static void make(const char* name, const char* content, mode_t mode) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0755);
  write(fd, content, strlen(content));
  fchmod(fd, mode);
  close(fd);
}
static void executing(void) {
  static char long_name[300], long_path[5000];
  memset(long_name, 'n', 256), memset(long_path, '/', 4096);
  make("text", "neither a program nor a script", 0755);
  make("script", "#!/mnt/own/program status 41\n", 0755);
  make("script_of_script", "#!script\n", 0755);
  make("bad_script", "#!/none\n", 0755);
  make("not_executable", "#!/mnt/own/program\n", 0644);
  make("broken", "\177ELF and nothing more that makes sense, for sixty-four bytes and over", 0755);
  symlink("program", "link"), symlink("loop", "loop");
  GIVES(execve, "a program", 37, executed("program"));
  GIVES(execve, "through a link", 37, executed("link"));
  GIVES(execve, "a script", 41, executed("script"));
  RETURNS(execve, "what is not there", ENOENT, executed("none"));
  RETURNS(execve, "a script whose interpreter is not there", ENOENT, executed("bad_script"));
  RETURNS(execve, "a file as a folder in the path", ENOTDIR, executed("text/x"));
  RETURNS(execve, "what may not be executed", EACCES, executed("not_executable"));
  RETURNS(execve, "a folder", EACCES, executed("folder"));
  RETURNS(execve, "in a folder that only another may search", EACCES, executed("/mnt/theirs/closed/x"));
  RETURNS(execve, "no program", ENOEXEC, executed("text"));
  RETURNS(execve, "a program that is broken", ENOEXEC, executed("broken"));
  RETURNS(execve, "a link to itself", ELOOP, executed("loop"));
  RETURNS(execve, "a name of 256 bytes", ENAMETOOLONG, executed(long_name));
  RETURNS(execve, "a path of 4096 bytes", ENAMETOOLONG, executed(long_path));
  RETURNS(execve, "a path that cannot be read", EFAULT, executed(nowhere));
  FAILS(execve, "arguments that cannot be read", EFAULT, syscall(SYS_execve, "program", nowhere, environ));
  FAILS(execve, "an environment that cannot be read", EFAULT, syscall(SYS_execve, "program", no_arguments, nowhere));
  char* huge = malloc(200000);
  memset(huge, 'x', 200000), huge[199999] = 0;
  char* arguments[] = {"program", huge, NULL};
  FAILS(execve, "an argument of more than 128 KiB", E2BIG, execve("program", arguments, environ));
  free(huge);
  const int writer = open("written", O_RDWR | O_CREAT, 0755);
  RETURNS(execve, "a file that is open for writing", ETXTBSY, executed("written"));
  close(writer);
  // What stays, and what does not.
  dup2(0, 60), dup3(0, 61, O_CLOEXEC);
  on_signal(SIGUSR1, 0), signal(SIGUSR2, SIG_IGN);
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, NULL);
  child = fork();
  if (child == 0) {
    raise(SIGHUP);
    char *wanted[] = {"a name", "state", NULL}, *environment[] = {"KEY=value", NULL};
    execve("program", wanted, environment);
    _exit(99);
  }
  waitpid(child, &status, 0);
  GIVES(execve, "arguments, environment, descriptors, ignored and blocked and pending signals stay", 0177 << 8, status);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  signal(SIGUSR1, SIG_DFL), signal(SIGUSR2, SIG_DFL);
  close(60), close(61);
  // execveat
  const int folder = open(".", O_RDONLY | O_DIRECTORY), file = open("program", O_RDONLY),
            plain = open("text", O_RDONLY);
  GIVES(execveat, "below the descriptor of a folder", 37, executed_at(folder, "program", 0));
  GIVES(execveat, "AT_EMPTY_PATH", 37, executed_at(file, "", AT_EMPTY_PATH));
  GIVES(execveat, "an absolute path", 37, executed_at(kNoDescriptor, "/mnt/own/program", 0));
  RETURNS(execveat, "no descriptor", EBADF, executed_at(kNoDescriptor, "program", 0));
  RETURNS(execveat, "below the descriptor of a file", ENOTDIR, executed_at(plain, "program", 0));
  RETURNS(execveat, "AT_SYMLINK_NOFOLLOW of a link", ELOOP, executed_at(folder, "link", AT_SYMLINK_NOFOLLOW));
  RETURNS(execveat, "what may not be executed", EACCES, executed_at(folder, "not_executable", 0));
  RETURNS(execveat, "no program", ENOEXEC, executed_at(folder, "text", 0));
  RETURNS(execveat, "a name of 256 bytes", ENAMETOOLONG, executed_at(folder, long_name, 0));
  RETURNS(execveat, "a path that cannot be read", EFAULT, executed_at(folder, nowhere, 0));
  RETURNS(execveat, "what is not there", ENOENT, executed_at(folder, "none", 0));
  RETURNS(execveat, "no path", ENOENT, executed_at(folder, "", 0));
  RETURNS(execveat, "a flag that is unknown", EINVAL, executed_at(folder, "program", 1));
  const int open_one = open("written", O_RDWR);
  RETURNS(execveat, "a file that is open for writing", ETXTBSY, executed_at(folder, "written", 0));
  close(open_one);
  char* large = malloc(200000);
  memset(large, 'x', 200000), large[199999] = 0;
  char* more[] = {"program", large, NULL};
  FAILS(execveat, "an argument of more than 128 KiB", E2BIG,
        syscall(SYS_execveat, folder, "program", more, environ, 0));
  free(large);
  close(folder), close(file), close(plain);
}

/// What a program that was executed looks at.
static int state_is_right(char** arguments) {
  struct sigaction handled, ignored;
  sigset_t blocked, pending;
  sigaction(SIGUSR1, NULL, &handled), sigaction(SIGUSR2, NULL, &ignored);
  sigprocmask(SIG_BLOCK, NULL, &blocked), sigpending(&pending);
  return (strcmp(arguments[0], "a name") == 0) | (getenv("KEY") && strcmp(getenv("KEY"), "value") == 0) << 1 |
         (fcntl(60, F_GETFD) == 0 && fcntl(61, F_GETFD) == -1) << 2 | (handled.sa_handler == SIG_DFL) << 3 |
         (ignored.sa_handler == SIG_IGN) << 4 | (sigismember(&blocked, SIGHUP) == 1) << 5 |
         (sigismember(&pending, SIGHUP) == 1) << 6;
}

int main(int count, char** arguments) {
  if (count >= 2 && strcmp(arguments[1], "status 41") == 0) return 41;
  if (count >= 3 && strcmp(arguments[1], "status") == 0) return atoi(arguments[2]);
  if (count == 2 && strcmp(arguments[1], "state") == 0) return state_is_right(arguments);
  while (count == 2 && strcmp(arguments[1], "wait") == 0) pause();
  mkdir("folder", 0755);
  ends();
  clones();
  groups();
  executing();
  return 0;
}
