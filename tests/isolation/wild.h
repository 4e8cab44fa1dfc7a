// SPDX-License-Identifier: Apache-2.0
// Attempts with addresses that are not the process's: as arguments of every call, for loads, stores, jumps and stacks; and with instructions
// that are not a program's.
#pragma once
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "trying.h"

static char data_block[65536] __attribute__((aligned(4096)));
static void* const wild[] = {
    NULL, (void*)1, (void*)-1, (void*)-4096, (void*)0x7fffffffffff, (void*)(1ull << 63), (void*)(1ull << 47)};
enum { kWild = sizeof wild / sizeof *wild };

static __attribute__((noinline)) int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  if (depth < 0) return 0;
  return recurse(depth + 1) + frame[0];
}

/// Each call of the table with each pattern of bad addresses, by a child of its own, since some end it. What the parent has must stay.
static void every_call(void) {
  uint64_t before = 0, after = 0;
  for (size_t i = 0; i < sizeof data_block; i++)
    data_block[i] = (char)(i * 7), before = before * 31 + (uint8_t)data_block[i];
  int ended = 0, children = 0;
  for (long number = 0; number < 470; number++) {
    const pid_t child = fork();
    if (child < 0) printf("SUCCEEDED: no child at %ld\n", number);
    if (child == 0) {
      struct sigaction action = {.sa_handler = SIG_DFL};
      sigaction(SIGALRM, &action, NULL);
      alarm(5);
      const bool ends =
          number == SYS_exit || number == SYS_exit_group || number == SYS_kill || number == SYS_rt_sigsuspend;
      for (int i = 0; i < kWild && !ends; i++) {
        const long bad = (long)wild[i];
        syscall(number, bad, bad, bad, bad, bad, bad);
        syscall(number, 3, bad, bad, bad, bad, bad);
        syscall(number, AT_FDCWD, bad, 4096, bad, 4096, bad);
        syscall(number, bad, 8, bad, 8, bad, 8);
      }
      _exit(0);
    }
    children++;
    int status;
    while (waitpid(child, &status, 0) != child && errno == EINTR) {
    }
    ended++;
    while (waitpid(-1, &status, WNOHANG) > 0) {  // what its calls have forked
    }
  }
  for (size_t i = 0; i < sizeof data_block; i++) after = after * 31 + (uint8_t)data_block[i];
  printf("%d of %d ended, and memory is %s\n", ended, children, before == after ? "as before" : "CHANGED");
}
static void bad_buffers(void) {
  const int fd = make_file("/tmp/file", "some text");
  for (int i = 0; i < kWild; i++) {
    struct iovec part = {wild[i], (size_t)-1 >> 1}, good = {wild[i], 100};
    lseek(fd, 0, SEEK_SET);
    TRY(syscall(SYS_read, fd, wild[i], 100L));
    TRY(syscall(SYS_write, fd, wild[i], 100L));
    TRY(readv(fd, &good, 1));
    TRY(writev(fd, &part, 1));
    TRY(open((const char*)wild[i], O_RDONLY));
    TRY(syscall(SYS_getdents64, open("/own", O_RDONLY), wild[i], 4096));
    TRY(syscall(SYS_pipe2, wild[i], 0));
  }
  lseek(fd, 0, SEEK_SET);
  const uintptr_t code = (uintptr_t)bad_buffers & ~(uintptr_t)7;
  TRY(syscall(SYS_read, fd, code, 8L));
  TRY(syscall(SYS_pipe2, code, 0));
  TRY(syscall(SYS_newfstatat, AT_FDCWD, "/", code, 0));
  TRY(syscall(SYS_uname, code));
  TRY(syscall(SYS_clock_gettime, 0, code));
  TRY(syscall(SYS_getrandom, code, 8L, 0));
  TRY(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, code, 8L));
  TRY(syscall(SYS_getcwd, code, 8L));
  TRY(pread(fd, data_block, 1, -1));
  TRY(readv(fd, (struct iovec[1]){{data_block, 1}}, 1025));
  report();
}
static void load_zero(void) { printf("%d\n", *(volatile int*)8); }
static void load_kernel(void) { printf("%d\n", *(volatile int*)0xffff000000000000ull); }
static void load_behind(void) { printf("%d\n", *(volatile int*)(1ull << 40)); }
static void store_code(void) { *(volatile int*)(uintptr_t)store_code = 0; }
static void jump_zero(void) { ((void (*)(void))0)(); }
static void jump_data(void) { ((void (*)(void))(uintptr_t)data_block)(); }
static void jump_between(void) { ((void (*)(void))((uintptr_t)jump_data + 2))(); }
static void wild_stack(void) { __asm__ volatile("mov sp, %0\n str xzr, [sp, #-16]!" ::"r"(1ull << 40) : "memory"); }
static void wild_handler_stack(void) {
  static int count;
  stack_t stack = {.ss_sp = (void*)(1ull << 40), .ss_size = 1 << 16};
  struct sigaction action = {.sa_handler = (void (*)(int))(uintptr_t)load_zero, .sa_flags = SA_ONSTACK};
  TRY(sigaltstack(&(stack_t){.ss_sp = data_block, .ss_size = 100}, NULL));
  report();
  fflush(stdout);
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  if (count++ == 0) raise(SIGUSR1);
}
static void forged_frame(void) {
  memset(data_block, 0xff, sizeof data_block);
  __asm__ volatile("mov sp, %0\n mov x8, #139\n svc #0" ::"r"(data_block + 4096) : "x8", "memory");
}
static void wild_thread(void) {
  const long flags = 0x50f00 | 0x10000;  // CLONE_VM and what threads have
  if (syscall(SYS_clone, flags, 1ull << 40, 0, 0, 0) == 0) recurse(0);
  for (;;) sched_yield();
}
static void wild_futexes(void) {
  for (int i = 0; i < kWild; i++) {
    if (wild[i] == NULL || ((uintptr_t)wild[i] & 3) != 0) continue;
    TRY(syscall(SYS_futex, wild[i], FUTEX_WAIT, 0, NULL, NULL, 0));
    TRY(syscall(SYS_futex, wild[i], FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    TRY(syscall(SYS_futex, data_block, FUTEX_CMP_REQUEUE, 1, 1, wild[i], 0));
  }
  TRY(syscall(SYS_futex, data_block + 1, FUTEX_WAIT, 0, NULL, NULL, 0));
  report();
}
static void wild_programs(void) {
  char* const words[] = {"x", (char*)-1, NULL};
  TRY(execve("/bin/isolation", (char* const*)1, NULL));
  TRY(execve("/bin/isolation", words, NULL));
  TRY(execve((const char*)-1, NULL, NULL));
  static char* many[100001];
  static char large[200000];
  memset(large, 'x', sizeof large - 1);
  for (int i = 0; i < 100000; i++) many[i] = large;
  TRY(execve("/bin/isolation", many, NULL));
  report();
}
static void unmap_all(void) { munmap(NULL, 1ul << 47), syscall(SYS_munmap, 0x400000, 1ul << 26); }
static void protect_all(void) { syscall(SYS_mprotect, (uintptr_t)protect_all & ~0xffful, 4096, 0); }
static void instruction(uint32_t word) {
  uint32_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  code[0] = word, code[1] = 0xd65f03c0;
  __builtin___clear_cache((char*)code, (char*)(code + 2));
  ((void (*)(void))code)();
}
/// Instructions of the system, each in a child.
static void privileged(void) {
  static const uint32_t words[] = {0xd4000002 /* hvc */,           0xd4000003 /* smc */,
                                   0xd69f03e0 /* eret */,          0xd5181000 /* msr sctlr_el1 */,
                                   0xd5182000 /* msr ttbr0_el1 */, 0xd508871f /* tlbi */,
                                   0xd5087620 /* dc isw */,        0xd538d081 /* mrs tpidr_el1 */,
                                   0xd4a00001 /* dcps1 */,         0x00000000 /* udf */};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const pid_t child = fork();
    if (child == 0) instruction(words[i]), _exit(0);
    int status;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGILL) printf("SUCCEEDED: %08x\n", words[i]);
  }
  printf("SIGILL of each\n");
}
static uint64_t draws = 12345;
static uint32_t draw(void) {
  draws += 0x9e3779b97f4a7c15;
  uint64_t z = draws;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (uint32_t)(z ^ z >> 31);
}
/// SIGALRM after 50,000 instructions, which are 50 microseconds.
static void end_soon(void) { setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 50}}, NULL); }
/// Pages of random words, executed by children.
static void random_code(void) {
  int ended = 0;
  for (int i = 0; i < 60; i++) {
    uint32_t* code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int k = 0; k < 2048; k++) code[k] = draw();
    const pid_t child = fork();
    if (child == 0) end_soon(), ((void (*)(void))code)(), _exit(0);
    int status;
    ended += waitpid(child, &status, 0) == child;
    munmap(code, 8192);
  }
  printf("%d ended\n", ended);
}
/// Programs with random bytes in their headers, executed by children.
static void random_programs(void) {
  const int own = open("/bin/isolation", O_RDONLY);
  static uint8_t file[16384];
  int ended = 0;
  for (int i = 0; i < 100; i++) {
    pread(own, file, sizeof file, 0);
    for (uint32_t k = draw() % 12; k > 0; k--) file[draw() % 600] = (uint8_t)draw();
    const int fd = open("/tmp/program", O_WRONLY | O_CREAT | O_TRUNC, 0700);
    write(fd, file, draw() % 4 == 0 ? draw() % sizeof file : sizeof file);
    close(fd);
    const pid_t child = fork();
    if (child == 0) end_soon(), execl("/tmp/program", "x", "nothing", NULL), _exit(100);
    int status;
    ended += waitpid(child, &status, 0) == child;
  }
  printf("%d ended\n", ended);
}
static void script_loop(void) {
  const int fd = open("/tmp/script", O_WRONLY | O_CREAT, 0700);
  write(fd, "#!/tmp/script\n", 14);
  close(fd);
  TRY(execl("/tmp/script", "x", NULL));
  TRY(execl("/own/text", "x", NULL));
  report();
}
