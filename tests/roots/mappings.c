// SPDX-License-Identifier: Apache-2.0
// Numbered checks of files that are mapped with MAP_SHARED, by mmap(2), msync(2), mremap(2), shm_open(3) and memfd_create(2): what one
// way to a file changes all others see, in each process, whatever becomes of the file. moves_test.py runs the program natively on the
// host's Linux and here.
#include "checks.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SHOW(value) CHECK(value)
enum { PAGE = 4096 };
static char bytes[16 * PAGE];

static sigjmp_buf back;
static volatile int signal_code;
static void on_fault(int signal, siginfo_t* information, void* context) {
  (void)context;
  signal_code = signal * 1000 + information->si_code;
  siglongjmp(back, 1);
}
// The signal of an access, and its code; 0: none.
static int fault_of(volatile char* at, int stores) {
  signal_code = 0;
  if (sigsetjmp(back, 1) == 0) {
    if (stores) *at = 'f';
    else (void)*at;
  }
  return signal_code;
}
#define READ_FAULT(at) CHECK(fault_of(at, 0))
#define STORE_FAULT(at) CHECK(fault_of(at, 1))

static char* map(int fd, size_t size, int protection, off_t offset) {
  char* place = mmap(NULL, size, protection, MAP_SHARED, fd, offset);
  SHOW(place != MAP_FAILED);
  return place;
}
static int refused(int fd, size_t size, int protection, int flags, off_t offset) {
  void* place = mmap(NULL, size, protection, flags, fd, offset);
  if (place == MAP_FAILED) return -1;
  munmap(place, size);
  return 0;
}
static int make(const char* path, size_t size, int letter) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  memset(bytes, letter, size);
  SHOW(write(fd, bytes, size));
  return fd;
}
static int in_child(void (*work)(char*), char* place) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work(place);
    _exit(place[0] & 0x7f);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return status;
}
// The queue's lanes begin here: before anything is mapped.
int begin_mapping(void) { return 1; }

static void coherence(void) {
  const int fd = make("one", 3 * PAGE + 100, 'a');
  char *first = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0), *second = map(fd, 2 * PAGE, PROT_READ, PAGE);
  SHOW(first[0]);
  SHOW(first[3 * PAGE + 99]);
  SHOW(first[3 * PAGE + 100]);
  first[PAGE + 5] = 'b';
  SHOW(second[5]);
  CHECK(pread(fd, bytes, 10, PAGE));
  SHOW(bytes[5]);
  CHECK(pwrite(fd, "wxyz", 4, PAGE + 6));
  SHOW(first[PAGE + 6] == 'w' && second[9] == 'z');
  memcpy(first + 2 * PAGE - 2, "across", 6);
  CHECK(pread(fd, bytes, 6, 2 * PAGE - 2));
  SHOW(memcmp(bytes, "across", 6));
  CHECK(read(open("one", O_RDONLY), first + 10, 4));
  SHOW(first[13]);
  CHECK(pwrite(fd, first + PAGE, 20, 2 * PAGE));
  SHOW(memcmp(second + PAGE, first + PAGE, 20));
  CHECK(msync(first, 4 * PAGE, MS_SYNC));
  CHECK(msync(first, 4 * PAGE, MS_ASYNC | MS_INVALIDATE));
  CHECK(msync(first, 4 * PAGE, MS_SYNC | MS_ASYNC));
  CHECK(msync(first + 1, PAGE, MS_SYNC));
  char* copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  SHOW(copy[13] == first[13]);
  copy[0] = 'c';
  SHOW(first[0]);
  CHECK(munmap(copy, PAGE));
  CHECK(munmap(second, 2 * PAGE));
  CHECK(munmap(first + PAGE, PAGE));
  STORE_FAULT(first + PAGE);
  first[2 * PAGE + 1] = 'd';
  CHECK(pread(fd, bytes, 2, 2 * PAGE));
  SHOW(bytes[1]);
  CHECK(close(fd));
  first[0] = 'e';
  CHECK(munmap(first, 4 * PAGE));
  show("one");
  CHECK(unlink("one"));
}

static void length(void) {
  const int fd = make("two", PAGE + 1, 'a');
  char* place = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
  READ_FAULT(place + 2 * PAGE - 1);
  READ_FAULT(place + 2 * PAGE);
  STORE_FAULT(place + 3 * PAGE);
  CHECK(read(fd, place + 2 * PAGE, 1));
  CHECK(ftruncate(fd, 3 * PAGE));
  READ_FAULT(place + 3 * PAGE - 1);
  STORE_FAULT(place + 2 * PAGE);
  READ_FAULT(place + 3 * PAGE);
  SHOW(place[2 * PAGE]);
  CHECK(pwrite(fd, "grown", 5, 3 * PAGE));
  CHECK(write(STDOUT_FILENO, place + 3 * PAGE, 5));
  CHECK(pread(fd, place + 3 * PAGE + 5, 5, 3 * PAGE));
  SHOW(place[3 * PAGE + 4]);
  place[PAGE + 9] = 'n';
  CHECK(ftruncate(fd, PAGE + 10));
  READ_FAULT(place + PAGE);
  READ_FAULT(place + 2 * PAGE);
  SHOW(place[PAGE + 9]);
  CHECK(ftruncate(fd, 10));
  STORE_FAULT(place + PAGE);
  CHECK(ftruncate(fd, 2 * PAGE));
  SHOW(place[PAGE + 9]);
  place[PAGE] = 'p';
  CHECK(pread(fd, bytes, 1, PAGE));
  SHOW(bytes[0]);
  CHECK(ftruncate(fd, 0));
  READ_FAULT(place);
  CHECK(posix_fallocate(fd, 0, 2 * PAGE));
  SHOW(place[0] + place[PAGE]);
  CHECK(munmap(place, 4 * PAGE));
  place = map(fd, PAGE, PROT_READ | PROT_WRITE, 8 * PAGE);
  READ_FAULT(place);
  CHECK(ftruncate(fd, 9 * PAGE));
  STORE_FAULT(place);
  CHECK(pread(fd, bytes, 1, 8 * PAGE));
  SHOW(bytes[0]);
  const int other = open("two", O_RDWR | O_TRUNC);
  READ_FAULT(place);
  CHECK(munmap(place, PAGE));
  CHECK(close(fd) | close(other) | unlink("two"));
}

static void refusing(void) {
  const int fd = make("three", PAGE, 'a'), reads = open("three", O_RDONLY), writes = open("three", O_WRONLY);
  CHECK(refused(reads, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 0));
  CHECK(refused(reads, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0));
  CHECK(refused(writes, PAGE, PROT_READ, MAP_SHARED, 0));
  CHECK(refused(writes, PAGE, PROT_WRITE, MAP_SHARED, 0));
  CHECK(refused(fd, PAGE, PROT_READ, MAP_SHARED, 100));
  CHECK(refused(fd, 0, PROT_READ, MAP_SHARED, 0));
  CHECK(refused(open(".", O_RDONLY), PAGE, PROT_READ, MAP_SHARED, 0));
  char* place = map(reads, PAGE, PROT_READ, 0);
  CHECK(mprotect(place, PAGE, PROT_READ | PROT_WRITE));
  STORE_FAULT(place);
  CHECK(pwrite(fd, "seen", 4, 0));
  SHOW(place[3]);
  CHECK(mprotect(place, PAGE, PROT_NONE));
  READ_FAULT(place);
  CHECK(mprotect(place, PAGE, PROT_READ));
  SHOW(place[3]);
  CHECK(munmap(place, PAGE));
  place = map(fd, 2 * PAGE, PROT_NONE, 0);
  READ_FAULT(place);
  CHECK(mprotect(place, 2 * PAGE, PROT_READ | PROT_WRITE));
  STORE_FAULT(place);
  STORE_FAULT(place + PAGE);
  CHECK(mprotect(place, 2 * PAGE, PROT_READ));
  STORE_FAULT(place);
  READ_FAULT(place + PAGE);
  CHECK(ftruncate(fd, 2 * PAGE));
  READ_FAULT(place + PAGE);
  STORE_FAULT(place + PAGE);
  CHECK(madvise(place, 2 * PAGE, MADV_DONTNEED));
  SHOW(place[0]);
  CHECK(munmap(place, 2 * PAGE) | close(fd) | close(reads) | close(writes) | unlink("three"));
}

static void moving(void) {
  const int fd = make("four", 2 * PAGE, 'a');
  CHECK(ftruncate(fd, 6 * PAGE));
  char* place = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE, 0);
  place[1] = 'b';
  char* larger = mremap(place, 2 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
  SHOW(larger != MAP_FAILED);
  SHOW(larger[1]);
  larger[5 * PAGE] = 'c';
  CHECK(pread(fd, bytes, 1, 5 * PAGE));
  SHOW(bytes[0]);
  CHECK(pwrite(fd, "d", 1, 4 * PAGE));
  SHOW(larger[4 * PAGE]);
  char* room = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SHOW(mremap(larger + 4 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + PAGE) == room + PAGE);
  SHOW(room[PAGE]);
  SHOW(room[2 * PAGE]);
  READ_FAULT(larger + 4 * PAGE);
  room[PAGE + 1] = 'e';
  CHECK(pread(fd, bytes, 2, 4 * PAGE));
  SHOW(bytes[1]);
  SHOW(mremap(larger, 4 * PAGE, PAGE, 0) == larger);
  READ_FAULT(larger + PAGE);
  SHOW(mmap(larger, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 4 * PAGE) == larger);
  SHOW(larger[1]);
  SHOW(mmap(larger, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == larger);
  larger[1] = 'x';
  SHOW(room[PAGE + 1]);
  CHECK(munmap(larger, PAGE) | munmap(room, 8 * PAGE) | close(fd) | unlink("four"));
}

static void change(char* place) {
  place[0]++;
  place[PAGE] = 'z';
}
static void grow(char* place) {
  const int fd = open("five", O_RDWR);
  if (ftruncate(fd, 3 * PAGE) == 0) place[2 * PAGE] = 'g';
  place[0] = fault_of(place + 3 * PAGE, 1) != 0;
}
static void shrink(char* place) { place[0] += truncate("five", PAGE) == 0; }
static void grandchild(char* place) {
  place[0] += in_child(change, place) != 0;
  place[1] = 'q';
}
static void processes(void) {
  const int fd = make("five", 2 * PAGE, 'a');
  char* place = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
  SHOW(in_child(change, place));
  SHOW(place[0]);
  SHOW(place[PAGE]);
  CHECK(pread(fd, bytes, 2, PAGE));
  SHOW(bytes[0]);
  SHOW(in_child(grow, place));
  SHOW(place[2 * PAGE]);
  SHOW(in_child(shrink, place));
  READ_FAULT(place + PAGE);
  CHECK(ftruncate(fd, 2 * PAGE));
  place[0] = 'a';
  SHOW(in_child(grandchild, place));
  SHOW(place[0]);
  SHOW(place[1]);
  SHOW(place[PAGE]);
  // Other addresses, after a fork.
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    char* own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, open("five", O_RDWR), PAGE);
    own[1] = 'o';
    _exit(own[0]);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(status);
  SHOW(place[PAGE + 1]);
  // It goes on without a name, and without a descriptor.
  CHECK(unlink("five"));
  SHOW(in_child(change, place));
  SHOW(place[0]);
  CHECK(close(fd));
  SHOW(in_child(change, place));
  SHOW(place[0]);
  const int next = make("five", 2 * PAGE, 'n');
  SHOW(place[0]);
  SHOW(place[PAGE]);
  CHECK(pread(next, bytes, 1, 0));
  SHOW(bytes[0]);
  CHECK(munmap(place, 4 * PAGE) | close(next) | unlink("five"));
}

static void shared_objects(void) {
  CHECK(shm_unlink("/moved"));
  int fd = shm_open("/moved", O_RDWR | O_CREAT | O_EXCL, 0600);
  SHOW(fd >= 0);
  CHECK(shm_open("/moved", O_RDWR | O_CREAT | O_EXCL, 0600));
  CHECK(ftruncate(fd, 2 * PAGE));
  char* place = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE, 0);
  strcpy(place, "shared");
  const int again = shm_open("/moved", O_RDONLY, 0);
  char* other = map(again, 2 * PAGE, PROT_READ, 0);
  SHOW(strcmp(other, "shared"));
  SHOW(in_child(change, place));
  SHOW(other[0]);
  struct stat status;
  CHECK(stat("/dev/shm/moved", &status));
  SHOW(status.st_size);
  CHECK(stat("/dev/shm", &status));
  SHOW(status.st_mode);
  CHECK(shm_unlink("/moved"));
  place[0] = 'k';
  SHOW(other[0]);
  CHECK(munmap(place, 2 * PAGE) | munmap(other, 2 * PAGE) | close(fd) | close(again));
  fd = memfd_create("memory", MFD_CLOEXEC);
  CHECK(ftruncate(fd, PAGE));
  place = map(fd, PAGE, PROT_READ | PROT_WRITE, 0);
  strcpy(place, "in memory");
  CHECK(read(fd, bytes, 9));
  SHOW(memcmp(bytes, "in memory", 9));
  SHOW(in_child(shrink, place));
  CHECK(close(fd));
  SHOW(place[0]);
  CHECK(munmap(place, PAGE));
}

// Two semaphores and a mutex in a file that each process has mapped elsewhere.
struct Shared {
  sem_t ping, pong;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int count, turn;
  atomic_int sum;
};
static void waking(void) {
  const int fd = make("six", 2 * PAGE, 0);
  struct Shared* shared = (struct Shared*)map(fd, PAGE, PROT_READ | PROT_WRITE, PAGE);
  pthread_mutexattr_t mutex;
  pthread_condattr_t condition;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  CHECK(sem_init(&shared->ping, 1, 0) | sem_init(&shared->pong, 1, 0));
  CHECK(pthread_mutex_init(&shared->mutex, &mutex) | pthread_cond_init(&shared->changed, &condition));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    char* hole = mmap(NULL, 5 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct Shared* own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
    if (hole == MAP_FAILED || munmap(shared, PAGE) != 0) _exit(9);
    for (int i = 0; i < 20; i++) {
      sem_wait(&own->ping);
      own->count++;
      sem_post(&own->pong);
    }
    pthread_mutex_lock(&own->mutex);
    while (own->turn != 1) pthread_cond_wait(&own->changed, &own->mutex);
    own->turn = 2;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
    for (int i = 0; i < 1000; i++) atomic_fetch_add(&own->sum, 1);
    _exit(own->count);
  }
  for (int i = 0; i < 20; i++) {
    sem_post(&shared->ping);
    sem_wait(&shared->pong);
  }
  SHOW(shared->count);
  pthread_mutex_lock(&shared->mutex);
  shared->turn = 1;
  pthread_cond_broadcast(&shared->changed);
  while (shared->turn != 2) pthread_cond_wait(&shared->changed, &shared->mutex);
  pthread_mutex_unlock(&shared->mutex);
  for (int i = 0; i < 1000; i++) atomic_fetch_add(&shared->sum, 1);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  SHOW(WEXITSTATUS(status));
  SHOW(shared->sum);
  CHECK(munmap(shared, PAGE) | close(fd) | unlink("six"));
  sem_t* named = sem_open("/named", O_CREAT | O_EXCL, 0600, 2);
  SHOW(named != SEM_FAILED);
  sem_t* same = sem_open("/named", 0);
  CHECK(sem_unlink("/named"));
  CHECK(sem_trywait(named));
  CHECK(sem_trywait(same));
  CHECK(sem_trywait(named));
  CHECK(sem_close(named));
}

static void* in_thread(void* place) {
  ((char*)place)[3 * PAGE] = 't';
  return place;
}
static void threads(void) {
  const int fd = make("seven", 4 * PAGE, 's');
  char* place = map(fd, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
  pthread_t thread;
  void* result;
  CHECK(pthread_create(&thread, NULL, in_thread, place));
  CHECK(pthread_join(thread, &result));
  CHECK(pread(fd, bytes, 1, 3 * PAGE));
  SHOW(bytes[0]);
  // Its pages are there for whoever runs next.
  CHECK(munmap(place, 4 * PAGE) | close(fd));
  show("seven");
  CHECK(rename("seven", "eight"));
  char* again = map(open("eight", O_RDWR), PAGE, PROT_READ | PROT_WRITE, 3 * PAGE);
  SHOW(again[0]);
  again[1] = 'u';
  CHECK(link("eight", "nine"));
  CHECK(unlink("eight"));
  show("nine");
  int other = make("ten", PAGE, 'r');
  CHECK(rename("ten", "nine"));
  SHOW(again[1]);
  show("nine");
  CHECK(close(other));
}

static void many(void) {
  const int fd = make("many", PAGE, 'm');
  char* places[100];
  int wrong = 0;
  for (int i = 0; i < 100; i++) {
    places[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    wrong += places[i] == MAP_FAILED;
  }
  SHOW(wrong);
  for (int i = 0; i < 100; i++) places[i][i] = (char)i;
  for (int i = 0; i < 100; i++) wrong += places[99 - i][i] != i;
  SHOW(wrong);
  for (int i = 0; i < 100; i++) wrong += munmap(places[i], PAGE) != 0;
  for (int round = 0; round < 300; round++) {
    char* place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    wrong += place == MAP_FAILED || place[7] != 7 || munmap(place, PAGE) != 0;
  }
  SHOW(wrong);
  CHECK(close(fd) | unlink("many"));
}

int main(int count, char** given) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  if (count > 1) SHOW(chdir(given[1]));
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  SHOW(begin_mapping());
  coherence();
  length();
  refusing();
  moving();
  processes();
  shared_objects();
  waking();
  threads();
  many();
  show_folder(".", 0);
  return 0;
}
