// SPDX-License-Identifier: Apache-2.0
// Numbered checks of calls that programs try, each effect and each error, printed with their results: preadv2(2),
// msync(2), mlock(2), readahead(2), sched_setattr(2), openat2(2), fchmodat2(2), /proc/self/task. moves_test.py runs
// the program natively on the host's Linux and here.
#include "checks.h"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SHOW(value) CHECK(value)
static void* nowhere = (void*)8;
static char got[1 << 16];

static void vectors(void) {
  int p[2];
  pipe(p);
  struct iovec parts[2] = {{"hello ", 6}, {"world", 5}}, into[2] = {{got, 3}, {got + 3, 100}};
  const int fd = open("vector", O_RDWR | O_CREAT, 0600), only = open("vector", O_RDONLY),
            more = open("vector", O_WRONLY | O_APPEND);
#define PREADV2(fd, parts, count, at, flags) syscall(SYS_preadv2, fd, parts, count, at, 0, flags)
#define PWRITEV2(fd, parts, count, at, flags) syscall(SYS_pwritev2, fd, parts, count, at, 0, flags)
  CHECK(PWRITEV2(fd, parts, 2, 0L, 0));
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(PWRITEV2(fd, parts, 2, -1L, 0));
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(PREADV2(fd, into, 2, 2L, 0));
  CHECK(memcmp(got, "llo world", 9));
  CHECK(PREADV2(fd, into, 1, -1L, 0));
  CHECK(lseek(fd, 0, SEEK_SET));
  CHECK(PREADV2(fd, into, 1, -1L, 0));
  CHECK(lseek(fd, 0, SEEK_CUR));
  CHECK(PREADV2(fd, into, 1, -2L, 0));
  CHECK(PWRITEV2(fd, parts, 1, -2L, 0));
  CHECK(PREADV2(fd, nowhere, 1, 0L, 0));
  CHECK(PREADV2(fd, into, 1025, 0L, 0));
  CHECK(PREADV2(fd, into, -1, 0L, 0));
  CHECK(PREADV2(-1, into, 1, 0L, 0));
  CHECK(PREADV2(-1, into, 1, -1L, 0));
  CHECK(PREADV2(-1, into, 1, -1L, 1 << 30));
  CHECK(PREADV2(fd, into, 1, 0L, 1 << 30));
  CHECK(PWRITEV2(fd, parts, 1, 0L, 1 << 30));
  CHECK(PREADV2(fd, into, 1, 0L, -1));
  CHECK(PREADV2(fd, into, 0, 0L, 1 << 30));
  CHECK(PREADV2(more, into, 1, 0L, 0));
  CHECK(PWRITEV2(only, parts, 1, 0L, 0));
  CHECK(PREADV2(p[0], into, 1, 0L, 0));
  CHECK(PWRITEV2(p[1], parts, 1, 0L, 0));
  CHECK(PWRITEV2(p[1], parts, 2, -1L, 0));
  CHECK(PREADV2(p[0], into, 2, -1L, 0));
  CHECK(PREADV2(p[1], into, 2, -1L, 0));
  CHECK(PWRITEV2(more, parts, 1, 0L, 0));  // appends all the same
  CHECK(PREADV2(fd, into, 2, 20L, 0));
  CHECK(PREADV2(fd, ((struct iovec[]){{nowhere, 3}}), 1, 0L, 0));
  CHECK(PREADV2(fd, into, 2, 1000L, 0));
  CHECK(close(fd) | close(only) | close(more) | close(p[0]) | close(p[1]));
  show("vector");
}

static void memory(void) {
  const long page = 4096;
  char* at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(at + 2 * page, page);
  CHECK(msync(at, page, MS_SYNC));
  CHECK(msync(at, 2 * page, MS_ASYNC));
  CHECK(msync(at, page, MS_INVALIDATE));
  CHECK(msync(at, page, MS_INVALIDATE | MS_SYNC));
  CHECK(msync(at, page, 0));
  CHECK(msync(at, page, MS_SYNC | MS_ASYNC));
  CHECK(msync(at, page, 8));
  CHECK(msync(at + 1, page, MS_SYNC));
  CHECK(msync(at, 1, MS_SYNC));
  CHECK(msync(at, 0, MS_SYNC));
  CHECK(msync(at + 2 * page, page, MS_SYNC));
  CHECK(msync(at + 2 * page, 0, MS_SYNC));
  CHECK(msync(at, 4 * page, MS_SYNC));
  CHECK(msync(at, 4 * page, MS_ASYNC));
  CHECK(msync(at, -page, MS_SYNC));
  CHECK(msync(at, -1, MS_SYNC));
  CHECK(msync(NULL, page, MS_SYNC));
  CHECK(mlock(at, page));
  CHECK(mlock(at + 1, 1));
  CHECK(mlock(at + 1, page));
  CHECK(mlock(at + page + 1, page));
  CHECK(mlock(at, 0));
  CHECK(mlock(at, 4 * page));
  CHECK(mlock(at + 2 * page, page));
  CHECK(mlock(at, -page));
  CHECK(munlock(at, page));
  CHECK(munlock(at + 1, page));
  CHECK(munlock(at, 4 * page));
  CHECK(munlock(at, 0));
  CHECK(munlock(at, -page));
  CHECK(syscall(SYS_mlock2, at, page, 0));
  CHECK(syscall(SYS_mlock2, at, page, 1));
  CHECK(syscall(SYS_mlock2, at, page, 2));
  CHECK(syscall(SYS_mlock2, at, page, 3));
  CHECK(syscall(SYS_mlock2, at, 4 * page, 1));
  CHECK(munlockall());
  CHECK(mlockall(0));
  CHECK(mlockall(8));
  CHECK(mlockall(4));
  CHECK(mlockall(~0));
  struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_MEMLOCK, &none));
  CHECK(mlock(at, page));
  CHECK(mlock(at, 0));
  CHECK(mlockall(MCL_FUTURE));
  CHECK(munlock(at, page));
  CHECK(munlockall());
  munmap(at, 4 * page);
}

static void reading(void) {
  int p[2];
  pipe(p);
  const int fd = open("given/large", O_RDONLY), writer = open("given/large", O_WRONLY), folder = open(".", O_RDONLY);
  const int path = open("given/large", O_PATH), null = open("/dev/null", O_RDONLY);
  CHECK(readahead(fd, 0, 4096));
  CHECK(readahead(fd, 0, 0));
  CHECK(readahead(fd, 1000000, 4096));
  CHECK(readahead(fd, 100, -1));
  CHECK(readahead(-1, 0, 4096));
  CHECK(readahead(writer, 0, 4096));
  CHECK(readahead(path, 0, 4096));
  CHECK(readahead(folder, 0, 4096));
  CHECK(readahead(p[0], 0, 4096));
  CHECK(readahead(p[1], 0, 4096));
  CHECK(readahead(null, 0, 4096));
  CHECK(close(fd) | close(writer) | close(folder) | close(path) | close(null) | close(p[0]) | close(p[1]));
}

struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t least, most;
  uint32_t more[4];
};
static void show_attributes(const struct attributes* a) {
  printf("  %u %u %lx %d %u %lu %lu\n", a->size, a->policy, (long)a->flags, a->nice, a->priority, (long)a->deadline,
         (long)a->period);
}
static void scheduling(void) {
  struct attributes a;
#define GET(id, to, size, flags) syscall(SYS_sched_getattr, id, to, size, flags)
#define SET(id, from, flags) syscall(SYS_sched_setattr, id, from, flags)
  memset(&a, 0x55, sizeof a);
  CHECK(GET(0, &a, 48, 0));
  show_attributes(&a);
  memset(&a, 0x55, sizeof a);
  CHECK(GET(getpid(), &a, 56, 0));
  show_attributes(&a);
  memset(&a, 0x55, sizeof a);
  CHECK(GET(0, &a, 72, 0));
  show_attributes(&a);
  SHOW(a.more[0]);
  CHECK(GET(0, &a, 47, 0));
  CHECK(GET(0, &a, 4097, 0));
  CHECK(GET(0, &a, 48, 1));
  CHECK(GET(-1, &a, 48, 0));
  CHECK(GET(4000000, &a, 48, 0));
  CHECK(GET(0, NULL, 48, 0));
  CHECK(GET(0, nowhere, 48, 0));
  memset(&a, 0, sizeof a);
  a.size = 48;
  CHECK(SET(0, &a, 0));
  a.policy = SCHED_BATCH;
  a.nice = 5;
  CHECK(SET(0, &a, 0));
  CHECK(GET(0, &a, 48, 0));
  show_attributes(&a);
  CHECK(getpriority(PRIO_PROCESS, 0));
  CHECK(sched_getscheduler(0));
  a.size = 48;
  a.nice = -5;
  CHECK(SET(0, &a, 0));
  a.nice = 100;
  CHECK(SET(0, &a, 0));
  CHECK(getpriority(PRIO_PROCESS, 0));
  a.policy = 77;
  CHECK(SET(0, &a, 0));
  a.policy = SCHED_FIFO;
  a.priority = 1;
  CHECK(SET(0, &a, 0));
  a.priority = 0;
  CHECK(SET(0, &a, 0));
  a.policy = SCHED_OTHER;
  a.priority = 1;
  CHECK(SET(0, &a, 0));
  a.priority = 0;
  a.flags = 1;  // SCHED_FLAG_RESET_ON_FORK
  CHECK(SET(0, &a, 0));
  CHECK(GET(0, &a, 48, 0));
  show_attributes(&a);
  a.flags = 0x1000;
  CHECK(SET(0, &a, 0));
  a.flags = 1 | 8 | 16;  // keep policy and parameters
  a.policy = SCHED_FIFO;
  CHECK(SET(0, &a, 0));
  CHECK(sched_getscheduler(0));
  a.flags = 1;
  a.policy = SCHED_OTHER;
  a.size = 0;
  CHECK(SET(0, &a, 0));
  a.size = 47;
  CHECK(SET(0, &a, 0));
  SHOW(a.size);
  a.size = 72;
  CHECK(SET(0, &a, 0));
  a.more[3] = 1;
  CHECK(SET(0, &a, 0));
  SHOW(a.size);
  a.size = 48;
  CHECK(SET(0, &a, 1));
  CHECK(SET(-1, &a, 0));
  CHECK(SET(4000000, &a, 0));
  CHECK(SET(0, NULL, 0));
  CHECK(SET(0, nowhere, 0));
}

struct how {
  uint64_t flags, mode, resolve, more;
};
static long open2(const char* path, uint64_t flags, uint64_t mode, uint64_t resolve) {
  struct how how = {flags, mode, resolve, 0};
  return syscall(437, AT_FDCWD, path, &how, 24);
}
#define OPENS2(...) (errno = 0, say("open2(" #__VA_ARGS__ ")", opens(open2(__VA_ARGS__))))
static void opening(void) {
  struct how how = {0, 0, 0, 0};
  OPENS2("given/one", O_RDONLY, 0, 0);
  OPENS2("none", O_RDONLY, 0, 0);
  OPENS2("", O_RDONLY, 0, 0);
  OPENS2(nowhere, O_RDONLY, 0, 0);
  OPENS2("made", O_RDWR | O_CREAT, 0640, 0);
  show("made");
  OPENS2("made", O_RDWR | O_CREAT | O_EXCL, 0640, 0);
  OPENS2("given/one", O_RDONLY, 0640, 0);
  OPENS2("other", O_RDWR | O_CREAT, 010000, 0);
  OPENS2("other", O_RDWR | O_CREAT, 1ul << 40, 0);
  OPENS2("given/one", 1ul << 31, 0, 0);
  OPENS2("given/one", 1ul << 40, 0, 0);
  OPENS2("given/one", O_PATH | O_WRONLY, 0, 0);
  OPENS2("given/one", O_PATH, 0, 0);
  OPENS2("given/one", O_RDONLY, 0, 64);
  OPENS2("given/one", O_RDONLY, 0, 1ul << 40);
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", &how, 23)));
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", &how, 0)));
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", &how, 32)));
  how.more = 1;
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", &how, 32)));
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", &how, 5000)));
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", nowhere, 24)));
  CHECK(opens(syscall(437, AT_FDCWD, "given/one", NULL, 24)));
  how.more = 0;
  CHECK(opens(syscall(437, -1, "given/one", &how, 24)));
  // No links: RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS.
  CHECK(symlink("sub", "given/to sub"));
  CHECK(symlink("/own/given/one", "given/absolute"));
  CHECK(symlink("../given/one", "given/above"));
  CHECK(symlink("../../own/given/one", "given/far above"));
  OPENS2("given/link", O_RDONLY, 0, 4);
  OPENS2("given/link", O_RDONLY | O_NOFOLLOW, 0, 4);
  OPENS2("given/link", O_PATH | O_NOFOLLOW, 0, 4);
  OPENS2("given/to sub/x", O_RDONLY, 0, 4);
  OPENS2("given/to sub/x", O_RDONLY, 0, 0);
  OPENS2("given/to sub/x", O_RDONLY, 0, 2);
  OPENS2("given/one", O_RDONLY, 0, 4);
  const int fd = open("given/one", O_RDONLY);
  char name[100];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  OPENS2(name, O_RDONLY, 0, 0);
  OPENS2(name, O_RDONLY, 0, 2);
  OPENS2(name, O_RDONLY, 0, 4);
  OPENS2(name, O_PATH | O_NOFOLLOW, 0, 2);
  close(fd);
  // Nothing above the folder: RESOLVE_BENEATH.
  OPENS2("given/one", O_RDONLY, 0, 8);
  OPENS2("given/sub/../one", O_RDONLY, 0, 8);
  OPENS2("..", O_RDONLY, 0, 8);
  OPENS2("../own/given/one", O_RDONLY, 0, 8);
  OPENS2("given/../../own", O_RDONLY, 0, 8);
  OPENS2("/own/given/one", O_RDONLY, 0, 8);
  OPENS2("given/absolute", O_RDONLY, 0, 8);
  OPENS2("given/above", O_RDONLY, 0, 8);
  OPENS2("given/far above", O_RDONLY, 0, 8);
  OPENS2(".", O_RDONLY, 0, 8);
  OPENS2("beneath", O_RDWR | O_CREAT, 0600, 8);
  OPENS2("../beneath", O_RDWR | O_CREAT, 0600, 8);
  // The folder as the root: RESOLVE_IN_ROOT.
  OPENS2("/given/one", O_RDONLY, 0, 16);
  OPENS2("/own/given/one", O_RDONLY, 0, 16);
  OPENS2("../../given/one", O_RDONLY, 0, 16);
  OPENS2("given/../../given/one", O_RDONLY, 0, 16);
  OPENS2("given/absolute", O_RDONLY, 0, 16);
  OPENS2("given/far above", O_RDONLY, 0, 16);
  OPENS2("given/above", O_RDONLY, 0, 16);
  OPENS2("/", O_RDONLY, 0, 16);
  OPENS2("given/one", O_RDONLY, 0, 8 | 16);
  OPENS2("given/one", O_RDONLY, 0, 1);
  CHECK(unlink("made") | unlink("beneath") | unlink("given/to sub") | unlink("given/absolute") | unlink("given/above"));
  CHECK(unlink("given/far above"));
}

static void modes(void) {
#define FCHMODAT2(fd, path, mode, flags) syscall(452, fd, path, mode, flags)
  const int fd = open("mode", O_RDWR | O_CREAT, 0600), path = open("mode", O_PATH);
  CHECK(FCHMODAT2(AT_FDCWD, "mode", 0640, 0));
  show("mode");
  CHECK(FCHMODAT2(AT_FDCWD, "mode", 0644, AT_SYMLINK_NOFOLLOW));
  show("mode");
  CHECK(FCHMODAT2(AT_FDCWD, "given/link", 0600, AT_SYMLINK_NOFOLLOW));
  CHECK(FCHMODAT2(AT_FDCWD, "given/link", 0600, 0));
  show("given/one");
  CHECK(FCHMODAT2(AT_FDCWD, "mode", 0644, 1));
  CHECK(FCHMODAT2(AT_FDCWD, "mode", 0644, AT_SYMLINK_FOLLOW));
  CHECK(FCHMODAT2(AT_FDCWD, "none", 0644, 0));
  CHECK(FCHMODAT2(AT_FDCWD, "", 0644, 0));
  CHECK(FCHMODAT2(fd, "", 0604, AT_EMPTY_PATH));
  show("mode");
  CHECK(FCHMODAT2(path, "", 0600, AT_EMPTY_PATH));
  show("mode");
  CHECK(FCHMODAT2(-1, "", 0600, AT_EMPTY_PATH));
  CHECK(FCHMODAT2(fd, "x", 0600, 0));
  CHECK(FCHMODAT2(AT_FDCWD, nowhere, 0600, 0));
  CHECK(FCHMODAT2(AT_FDCWD, "/", 0600, 0));
  CHECK(close(fd) | close(path) | unlink("mode"));
}

static pthread_barrier_t both;
static void* wait_for_others(void* unused) {
  pthread_barrier_wait(&both);
  pthread_barrier_wait(&both);
  return unused;
}
static int tasks(const char* path) {
  int count = 0;
  DIR* folder = opendir(path);
  for (struct dirent* entry; folder && (entry = readdir(folder));) count += entry->d_name[0] != '.';
  if (folder) closedir(folder);
  return folder ? count : -1;
}
static void threads(void) {
  char path[100], text[100] = "";
  pthread_t other;
  CHECK(prctl(PR_SET_NAME, "first"));
  SHOW(tasks("/proc/self/task"));
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&other, NULL, wait_for_others, NULL);
  pthread_barrier_wait(&both);
  SHOW(tasks("/proc/self/task"));
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", getpid());
  const int fd = open(path, O_RDONLY);
  CHECK(read(fd, text, 100));
  printf("  %s", text);
  close(fd);
  OPENS("/proc/self/task/1/comm", O_RDONLY);
  OPENS("/proc/self/task/x", O_RDONLY);
  OPENS("/proc/self/task", O_RDONLY | O_DIRECTORY);
  pthread_barrier_wait(&both);
  pthread_join(other, NULL);
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 4096);
  syscall(SYS_close_range, 3, ~0u, 0);
  vectors();
  memory();
  reading();
  scheduling();
  opening();
  modes();
  threads();
  return 0;
}
