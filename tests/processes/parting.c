// SPDX-License-Identifier: Apache-2.0
// Processes that map, execute, protect, write, fork and unmap pages of one file, each in another order, as MYRIARM_LANE says; natively
// there is one, which has the number 0. What they print does not depend on the number.
//   parting PROGRAM   its own path
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 6
#define ROUNDS 8
#define LOADS 20000

/// Code that may lie anywhere, at the beginning of a page.
__attribute__((section(".text.moved"), aligned(PAGE), noinline)) static long moved(long count) {
  long sum = 3;
  for (long i = 0; i < count; i++) {
    sum += i ^ (sum >> 3);
    __asm__ volatile("" : "+r"(sum));
  }
  return sum;
}

static sigjmp_buf back;
static void jump_back(int signal) { siglongjmp(back, signal); }
/// The signal of a call of the code at a place, or 0 and what it gives.
static int call_at(const void* place, long count, long* result) {
  const int signal = sigsetjmp(back, 1);
  if (signal != 0) return signal;
  *result = ((long (*)(long))place)(count);
  return 0;
}
static int wrong;
static void expect(const char* what, long got, long wanted) {
  if (got == wanted) return;
  wrong++;
  printf("%s: %ld, not %ld\n", what, got, wanted);
}

/// Where the code lies in the program's file.
static off_t offset_in(int file) {
  unsigned char bytes[PAGE];
  if (pread(file, bytes, sizeof bytes, 0) < (ssize_t)sizeof(Elf64_Ehdr)) return -1;
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)bytes;
  const Elf64_Phdr* segments = (const Elf64_Phdr*)(bytes + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++) {
    const uint64_t at = (uint64_t)moved - segments[i].p_vaddr;
    if (segments[i].p_type == PT_LOAD && at < segments[i].p_filesz) return (off_t)(segments[i].p_offset + at);
  }
  return -1;
}

/// The signal of a load, or 0.
static int load_at(const volatile uint64_t* place) {
  const int signal = sigsetjmp(back, 1);
  if (signal == 0) (void)*place;
  return signal;
}
/// What a process finds at a place that has this page of the file, or nothing with `offset` negative. It loads for so long that on a GPU
/// the kernel runs in which such loads are simple.
static void expect_page(const char* what, const volatile uint64_t* place, int file, off_t offset) {
  uint64_t words[4], sum = 0, wanted = 0;
  if (offset < 0) return;
  if (pread(file, words, sizeof words, offset) != (ssize_t)sizeof words) wrong++;
  for (int i = 0; i < LOADS; i++) sum += place[i % 4];
  for (int i = 0; i < LOADS; i++) wanted += words[i % 4];
  expect(what, (long)sum, (long)wanted);
}
/// What a process gets that loads from a place without a page, again and again while others of its team load from theirs.
static void expect_no_page(const volatile uint64_t* place) {
  for (int i = 0; i < 20; i++) {
    for (volatile int turn = 0; turn < LOADS / 4; turn++) {
    }
    expect("signal of a load", load_at(place), SIGSEGV);
  }
}
static void expect_success(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  expect("status of a child that loads", status, 0);
}
/// Two children have other pages of the file at one place, if the process has any there. Nothing was ever mapped there in any lane: on a
/// GPU, lanes that still had other pages at the place would have copies, and the loads would be of these. The first child has ended when the
/// second begins; but if it `stays`, it waits until its parent has the second one too.
static void children_with_other_pages(char* place, int file, off_t offset, int has_pages, int stays) {
  const off_t of_first = has_pages ? 0 : -1, of_second = has_pages ? offset : -1;
  int ends[2];
  pid_t children[2];
  if (stays && pipe(ends) != 0) wrong++;
  for (int time = 0; time < 2; time++) {
    const off_t of_parent = time == 0 ? -1 : of_second, of_child = time == 0 ? of_first : of_second;
    if (of_parent >= 0) mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, of_parent);
    fflush(stdout);
    children[time] = fork();
    if (children[time] == 0) {
      char byte;
      if (time == 0 && of_child >= 0) mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, of_child);
      if (stays) close(ends[1]);
      if (stays && time == 0) expect("bytes that a child waits for", read(ends[0], &byte, 1), 0);
      expect_page("page of a child", (const volatile uint64_t*)place, file, of_child);
      fflush(stdout);
      _exit(wrong != 0);
    }
    if (!stays) expect_success(children[time]);
  }
  if (stays) {
    close(ends[1]);  // the first child reads the pipe's end
    expect_success(children[0]);
    expect_success(children[1]);
    close(ends[0]);
  }
  expect_page("page of the parent", (const volatile uint64_t*)place, file, of_second);
}

int main(int count, char** arguments) {
  const char* lane = getenv("MYRIARM_LANE");
  const long number = lane != NULL ? atol(lane) : 0;
  const int file = open(arguments[count - 1], O_RDONLY);
  const off_t offset = offset_in(file);
  char* const base = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (file < 0 || offset < 0 || offset % PAGE != 0 || base == MAP_FAILED) return 2;
  signal(SIGSEGV, jump_back);
  signal(SIGILL, jump_back);
  const long times = 400, wanted = moved(times);
  for (long round = 0; round < ROUNDS; round++) {
    const long choice = number * 5 + round;
    char* const place = base + choice % PAGES * PAGE;
    long result = 0;
    expect("before", call_at(place, times, &result), SIGSEGV);
    if (choice % 3 != 0) {
      mmap(place, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, offset);
      // Some run it for long, so that it is worth predecoding.
      for (long i = 0; i < 1 + choice % 4 * 10; i++) {
        expect("signal", call_at(place, times, &result), 0);
        expect("result", result, wanted);
      }
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      expect("signal in a child", call_at(place, times, &result), choice % 3 != 0 ? 0 : SIGSEGV);
      munmap(place, PAGE);
      expect("without the page", call_at(place, times, &result), SIGSEGV);
      fflush(stdout);
      _exit(wrong != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect("status of the child", status, 0);
    if (choice % 3 == 1) {
      mprotect(place, PAGE, PROT_READ | PROT_WRITE);
      expect("without PROT_EXEC", call_at(place, times, &result), SIGSEGV);
      place[PAGE - 1] = (char)number;
      mprotect(place, PAGE, PROT_READ | PROT_EXEC);
      expect("what was written", place[PAGE - 1], (char)number);
      expect("signal after a store", call_at(place, times, &result), 0);
      expect("result after a store", result, wanted);
    }
    if (choice % 2 == 0) munmap(place, PAGE);
    mmap(place, PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
    printf("round %ld: %d wrong\n", round, wrong);
  }
  char* const of_some = base - 1024 * PAGE;  // below all mappings, which grow down
  // Lanes whose numbers differ by twelve get here together. In a third of them the first child stays, beside the second children of the
  // others, which have another page, and in a third of the lanes yet another one.
  const long kind = number / 12 % 3;
  children_with_other_pages(of_some, file, kind == 2 ? 2 * PAGE : offset, number % 2 == 0, kind == 1);
  if (number % 2 != 0) expect_no_page((const volatile uint64_t*)of_some);
  // One lane of a team alone, whose child therefore has a copy of what the team knows of its pages.
  if (number % 32 == 0) children_with_other_pages(base - 2048 * PAGE, file, offset, 1, 0);
  printf("children: %d wrong\n", wrong);
  return wrong != 0;
}
