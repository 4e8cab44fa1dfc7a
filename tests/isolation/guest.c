// SPDX-License-Identifier: Apache-2.0
// A program that makes the attempt which its argument names, or honest work: attempts.inc says what must end each. A second argument
// is the number of calls that missing_calls() makes.
#include "descriptors.h"
#include "floods.h"
#include "host_reach.h"
#include "paths.h"
#include "trying.h"
#include "wild.h"

/// What an honest lane does: files, memory, processes, pipes, threads. It prints a sum of all.
static uint64_t sum;
static void* add_up(void* from) {
  uint64_t part = (uintptr_t)from;
  for (int i = 0; i < 20000; i++) part = part * 6364136223846793005ull + 1442695040888963407ull;
  return (void*)(uintptr_t)part;
}
static void honest(void) {
  char line[100] = "";
  struct stat status;
  const int text = open("text", O_RDWR);
  sum += (uint64_t)read(text, line, sizeof line - 1) + (stat("/tmp/mark", &status) == 0) * 1000000;
  pwrite(text, "changed", 7, 3);
  for (int i = 0; i < 40; i++) {
    snprintf(line, sizeof line, "/tmp/honest%d", i);
    const int fd = make_file(line, line);
    sum = sum * 31 + (uint64_t)lseek(fd, 0, SEEK_END);
    close(fd);
  }
  char* memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4 << 20; i += 512) sum += (uint64_t)memory[i], memory[i] = (char)i;
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, add_up, (void*)(i + sum));
  for (int i = 0; i < 4; i++) {
    void* part;
    pthread_join(threads[i], &part);
    sum ^= (uintptr_t)part;
  }
  for (int i = 0; i < 5; i++) {
    int ends[2], number = 0;
    pipe(ends);
    const pid_t child = fork();
    if (child == 0) {
      number = (int)(sum >> i) & 0xffff;
      write(ends[1], &number, sizeof number);
      _exit(i);
    }
    read(ends[0], &number, sizeof number);
    int ended;
    waitpid(child, &ended, 0);
    sum = sum * 31 + (uint64_t)number + (uint64_t)WEXITSTATUS(ended);
    close(ends[0]), close(ends[1]);
  }
  pread(text, line, 20, 0);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%.10s %016lx %ld %d\n", line, sum, now.tv_nsec, getpid());
}

/// What an attacker's lane does in a run without attackers.
static void quiet(void) {}

#define ATTEMPT(kind, function, what, prints, ends, bound) {#function, function},
static const struct Attempt attempts[] = {
    {"honest", honest},
    {"quiet", quiet},
#include "attempts.inc"
};

int main(int count, char** words) {
  if (count < 2) return 99;
  if (count > 2) calls_that_miss = atoi(words[2]);
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    if (strcmp(attempts[i].name, words[1]) != 0) continue;
    attempts[i].run();
    return 0;
  }
  printf("there is no attempt '%s'\n", words[1]);
  return 98;
}
