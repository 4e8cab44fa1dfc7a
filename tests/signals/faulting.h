// SPDX-License-Identifier: Apache-2.0
// Checks of signals.c: faults, the stacks of handlers, and the frame of AArch64.
#pragma once

#include "noting.h"

// ---- faults

#if defined(__aarch64__)
#define PC(context) ((context)->uc_mcontext.pc)
#define STACK_POINTER(context) ((context)->uc_mcontext.sp)
#define FIRST_ARGUMENT(context) ((context)->uc_mcontext.regs[0])
#define ILLEGAL ".inst 0"
enum { kIllegalBytes = 4 };
#else
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define STACK_POINTER(context) ((context)->uc_mcontext.gregs[REG_RSP])
#define FIRST_ARGUMENT(context) ((context)->uc_mcontext.gregs[REG_RDI])
#define ILLEGAL "ud2"
enum { kIllegalBytes = 2 };
#endif

static sigjmp_buf back;
static volatile int fault_signal;
static void jump_back(int signal, siginfo_t* information, void* context) {
  (void)context;
  runs++;
  fault_signal = signal;
  last_code = information->si_code;
  fault_address = (uintptr_t)information->si_addr;
  siglongjmp(back, 1);
}
static void say_fault(const char* what, uintptr_t base) {
  printf("%d %s: signal %d, code %d, address + %ld\n", ++number, what, fault_signal, (int)last_code,
         (long)(fault_address - base));
}
#define FAULT(what, base, ...)                \
  do {                                        \
    fault_signal = last_code = 0;             \
    fault_address = (uintptr_t)(base);        \
    if (sigsetjmp(back, 1) == 0) __VA_ARGS__; \
    say_fault(what, (uintptr_t)(base));       \
  } while (0)

static void skip_illegal(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  runs++;
  fault_signal = signal;
  fault_address = (uintptr_t)information->si_addr == (uintptr_t)PC(c);
  PC(c) += kIllegalBytes;
}
static volatile int landed;
static void landing(long a) {
  landed = (int)a;
  siglongjmp(back, 2);
}
static void go_elsewhere(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  ucontext_t* c = context;
  PC(c) = (uintptr_t)landing;
  FIRST_ARGUMENT(c) = 99;
  STACK_POINTER(c) = (STACK_POINTER(c) & ~15ul) - (kIllegalBytes == 2 ? 8 : 0);
}

/// The vector register that the illegal instruction leaves alone, changed by the handler.
static void change_vector(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  ucontext_t* c = context;
#if defined(__aarch64__)
  struct fpsimd_context* f = (struct fpsimd_context*)c->uc_mcontext.__reserved;
  f->vregs[8] += 5;
#else
  c->uc_mcontext.fpregs->_xmm[8].element[0] += 5;
#endif
  PC(c) += kIllegalBytes;
}
static uint64_t through_vector(uint64_t in) {
  uint64_t out;
#if defined(__aarch64__)
  __asm__ volatile("fmov d8, %1\n" ILLEGAL "\nfmov %0, d8" : "=r"(out) : "r"(in) : "v8", "memory");
#else
  __asm__ volatile("movq %1, %%xmm8\n" ILLEGAL "\nmovq %%xmm8, %0" : "=r"(out) : "r"(in) : "xmm8", "memory");
#endif
  return out;
}

static void faults(void) {
  const long page = sysconf(_SC_PAGESIZE);
  char* area = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int s = 0; s < 4; s++) set_information((const int[]){SIGSEGV, SIGBUS, SIGILL, SIGTRAP}[s], jump_back, 0);
  clear();
  FAULT("read of null", 0, (void)*(volatile char*)0);
  FAULT("write at 16", 0, *(volatile char*)16 = 1);
  mprotect(area + page, page, PROT_READ);
  FAULT("write to what may be read", area + page, area[page + 5] = 1);
  FAULT("read of it", area + page, *(volatile char*)(area + page));
  mprotect(area + page, page, PROT_NONE);
  FAULT("read of what has no permission", area + page, *(volatile char*)(area + page + 7));
  munmap(area + 2 * page, page);
  FAULT("read of what is unmapped", area + 2 * page, *(volatile char*)(area + 2 * page));
  FAULT("write of it", area + 2 * page, *(area + 2 * page + 9) = 1);
  FAULT("call of null", 0, ((void (*)(void))(uintptr_t)0)());
  FAULT("call of data", area, ((void (*)(void))area)());
  FAULT("system call gives an error, no signal", 0, (void)write(1, nowhere, 1));
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGSEGV));  // sigsetjmp() has put it back
  SHOW(runs);
  clear();
  set_information(SIGILL, skip_illegal, 0);
  __asm__ volatile(ILLEGAL ::: "memory");
  SHOW(fault_signal);
  SHOW(fault_address);
  __asm__ volatile(ILLEGAL "\n" ILLEGAL "\n" ILLEGAL ::: "memory");
  SHOW(runs);
  set_information(SIGILL, change_vector, 0);
  SHOW(through_vector(1000));
  landed = 0;
  set_information(SIGILL, go_elsewhere, 0);
  int jumped = sigsetjmp(back, 1);
  if (jumped == 0) __asm__ volatile(ILLEGAL ::: "memory");
  SHOW(jumped);
  SHOW(landed);
  // Sent by kill(), the signals of faults are like others.
  clear();
  set_information(SIGSEGV, note_information, 0);
  block(SIGNALS(SIGSEGV));
  raise(SIGSEGV);
  SHOW(is_pending(SIGSEGV));
  unblock(SIGNALS(SIGSEGV));
  SHOW(runs);
  SHOW(last_code);
  set_information(SIGFPE, note_information, 0);
  kill(getpid(), SIGFPE);
  SHOW(runs);
  munmap(area, 4 * page);
}

// ---- stacks for handlers

static char big_stack[65536] __attribute__((aligned(16)));
static void note_stack(int signal) {
  char here;
  on_stack = &here >= big_stack && &here < big_stack + sizeof big_stack;
  sigaltstack(NULL, &stack_in_handler);
  note(signal);
}
static volatile int change_error;
static void change_stack(int signal) {
  stack_t other = {big_stack, 0, sizeof big_stack / 2};
  change_error = sigaltstack(&other, NULL) == 0 ? 0 : errno;
  note_stack(signal);
}
static void nested_on_stack(int signal) {
  if (signal == SIGUSR1) raise(SIGUSR2);
  note_stack(signal);
}
static volatile int levels;
static __attribute__((noinline)) int overflow(int n) {
  volatile char room[4096];
  room[n & 4095] = (char)n;
  levels = n;
  return overflow(n + 1) + room[7];
}

static void stacks(void) {
  stack_t stack = {big_stack, 0, sizeof big_stack}, old;
  const stack_t none = {0, SS_DISABLE, 0};
  sigaltstack(&none, NULL);
  CHECK(sigaltstack(NULL, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_sp == NULL);
  CHECK(sigaltstack(nowhere, NULL));
  CHECK(sigaltstack(NULL, nowhere));
  CHECK(sigaltstack(&(stack_t){big_stack, 0, 100}, NULL));
  CHECK(sigaltstack(&(stack_t){big_stack, 77, sizeof big_stack}, NULL));
  CHECK(sigaltstack(&(stack_t){big_stack, SS_ONSTACK, sizeof big_stack}, NULL));
  CHECK(sigaltstack(&stack, nowhere));
  CHECK(sigaltstack(&stack, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  SHOW(old.ss_sp == big_stack);
  clear();
  set(SIGUSR1, note_stack, 0, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  SHOW(stack_in_handler.ss_flags);
  set(SIGUSR1, note_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  SHOW(stack_in_handler.ss_flags);
  set(SIGUSR1, change_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(change_error == EPERM);
  set(SIGUSR1, nested_on_stack, SA_ONSTACK, NULL);
  set(SIGUSR2, nested_on_stack, SA_ONSTACK, NULL);
  clear();
  raise(SIGUSR1);
  show_order("nested on the same stack");
  stack.ss_flags = (int)(1u << 31);  // SS_AUTODISARM
  CHECK(sigaltstack(&stack, NULL));
  sigaltstack(NULL, &old);
  SHOW(old.ss_flags);
  set(SIGUSR1, change_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(change_error);
  SHOW(on_stack);
  CHECK(sigaltstack(NULL, &old));  // what the handler's frame says
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  CHECK(sigaltstack(&none, NULL));
  CHECK(sigaltstack(NULL, &old));
  SHOW(old.ss_flags);
  SHOW(old.ss_size);
  clear();
  set(SIGUSR1, note_stack, SA_ONSTACK, NULL);
  raise(SIGUSR1);
  SHOW(on_stack);
  // A stack that is full.
  stack.ss_flags = 0;
  sigaltstack(&stack, NULL);
  set_information(SIGSEGV, jump_back, SA_ONSTACK);
  for (int i = 0; i < 3; i++) {
    fault_signal = 0;
    if (sigsetjmp(back, 1) == 0) overflow(0);
    SHOW(fault_signal);
    SHOW(levels > 10);
  }
}

// ---- AArch64 alone

#if defined(__aarch64__)
static volatile uint64_t seen[16];
static void look_at_frame(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  uint64_t* here = __builtin_frame_address(0);
  (void)signal;
  seen[0] = (uintptr_t)context - (uintptr_t)information;
  seen[1] = (uintptr_t)c->uc_mcontext.__reserved - (uintptr_t)information;
  struct fpsimd_context* f = (struct fpsimd_context*)c->uc_mcontext.__reserved;
  seen[2] = f->head.magic;
  seen[3] = f->head.size;
  seen[4] = (uint64_t)f->vregs[8];
  seen[5] = c->uc_mcontext.regs[19];
  seen[6] = c->uc_mcontext.pstate >> 28;
  // The handler's frame record leads to that of the frame, and on to the interrupted code's.
  uint64_t* record = (uint64_t*)here[0];
  seen[7] = (uintptr_t)record - (uintptr_t)information;
  seen[8] = record[0] == c->uc_mcontext.regs[29] && record[1] == c->uc_mcontext.regs[30];
  seen[9] = (uintptr_t)information % 16;
  seen[10] = ((uint32_t*)here[1])[0];  // what the handler returns to
  seen[11] = ((uint32_t*)here[1])[1];
  seen[12] = c->uc_mcontext.fault_address;
  seen[13] = c->uc_mcontext.sp - (uintptr_t)information;
  PC(c) += 4;
}
static volatile int damage;
static void damage_frame(int signal, siginfo_t* information, void* context) {
  ucontext_t* c = context;
  struct _aarch64_ctx* head = (struct _aarch64_ctx*)c->uc_mcontext.__reserved;
  (void)signal;
  (void)information;
  if (damage == 0) head->magic = 0x12345678;
  if (damage == 1) head->size = 16;
  if (damage == 2) head->magic = head->size = 0;
  if (damage == 3) ((struct _aarch64_ctx*)((char*)head + head->size))->size = 16;
  if (damage == 4) c->uc_mcontext.pstate |= 0x80;
  if (damage == 5) c->uc_mcontext.pstate |= 5;
  if (damage == 6) PC(c) += 1;
  if (damage == 7) PC(c) = 0x1000;
}
static void arm(void) {
  printf("arm checks\n");
  set_information(SIGUSR1, look_at_frame, 0);
  set_information(SIGILL, look_at_frame, 0);
  __asm__ volatile("mov x19, #0x1234\nfmov d8, x19\ncmp x19, x19\n.inst 0" ::: "x19", "v8", "cc", "memory");
  for (int i = 0; i < 10; i++) SHOW(seen[i]);
  SHOW(seen[10] == 0xd2801168 && seen[11] == 0xd4000001);
  SHOW(seen[13] - seen[7]);
  set_information(SIGSEGV, jump_back, SA_ONSTACK);
  set_information(SIGBUS, jump_back, 0);
  set_information(SIGTRAP, jump_back, 0);
  set_information(SIGILL, jump_back, 0);
  set_information(SIGUSR1, damage_frame, 0);
  for (damage = 0; damage < 8; damage++) {
    fault_signal = 0;
    if (sigsetjmp(back, 1) == 0) kill(getpid(), SIGUSR1);
    printf("%d damaged frame %d: signal %d, code %d\n", ++number, damage, fault_signal, (int)last_code);
  }
  uint64_t words[4] __attribute__((aligned(32)));
  uint64_t got;
  FAULT("exclusive that is not aligned", words,
        __asm__ volatile("ldxr %0, [%1]"
                         : "=r"(got)
                         : "r"((uintptr_t)words + 13)));
  FAULT("branch to an odd address", words, ((void (*)(void))((uintptr_t)words + 2))());
  FAULT("brk", &&breakpoint, {
    breakpoint:
      __asm__ volatile("brk #7");
  });
  FAULT("privileged", &&privileged, {
    privileged:
      __asm__ volatile("msr ttbr0_el1, xzr");
  });
  FAULT("address of the kernel", 0, (void)*(volatile char*)0xffff000000000010);
  FAULT("address with a tag", 0, (void)*(volatile char*)0x5500000000000010);
  // The exclusive monitor is lost in a handler.
  set(SIGUSR1, note, 0, NULL);
  clear();
}
#else
static void arm(void) {}
#endif
