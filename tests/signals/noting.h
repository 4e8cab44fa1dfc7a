// SPDX-License-Identifier: Apache-2.0
// What the checks of signals.c share: how they print, and what handlers note.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result == -1) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
// A value of which -1 is no error.
#define SHOW(value) printf("%d %s: %ld\n", ++number, #value, (long)(value))

// ---- what handlers note

static volatile sig_atomic_t runs, order[64], last_code, sender_is_me, user_is_me, on_stack, value;
static volatile uintptr_t fault_address;
static volatile int depth, deepest;
static sigset_t mask_in_handler;
static stack_t stack_in_handler;

static void clear(void) {
  runs = last_code = sender_is_me = user_is_me = on_stack = value = depth = deepest = 0;
  fault_address = 0;
}
static void note(int signal) {
  if (runs < 64) order[runs] = signal;
  runs++;
  if (++depth > deepest) deepest = depth;
  sigprocmask(SIG_SETMASK, NULL, &mask_in_handler);
  depth--;
}
static void note_information(int signal, siginfo_t* information, void* context) {
  (void)context;
  last_code = information->si_signo == signal ? information->si_code : -999;
  sender_is_me = information->si_pid == getpid();
  user_is_me = information->si_uid == getuid();
  value = information->si_value.sival_int;
  note(signal);
}
static void set(int signal, void (*handler)(int), int flags, const int* masked) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (; masked && *masked; masked++) sigaddset(&action.sa_mask, *masked);
  if (sigaction(signal, &action, NULL)) abort();
}
static void set_information(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_flags = flags | SA_SIGINFO};
  action.sa_sigaction = handler;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, NULL)) abort();
}
static void mask_of(sigset_t* set, const int* signals) {
  sigemptyset(set);
  for (; *signals; signals++) sigaddset(set, *signals);
}
#define SIGNALS(...) ((const int[]){__VA_ARGS__, 0})
static void block(const int* signals) {
  sigset_t mask;
  mask_of(&mask, signals);
  sigprocmask(SIG_BLOCK, &mask, NULL);
}
static void unblock(const int* signals) {
  sigset_t mask;
  mask_of(&mask, signals);
  sigprocmask(SIG_UNBLOCK, &mask, NULL);
}
static int is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal);
}
static void show_order(const char* what) {
  printf("%d %s:", ++number, what);
  for (int i = 0; i < runs && i < 64; i++) printf(" %d", order[i] >= SIGRTMIN ? order[i] - SIGRTMIN + 100 : order[i]);
  printf(" (%d runs)\n", (int)runs);
}
static void set_timer(int which, long microseconds, long interval) {
  struct itimerval timer = {{interval / 1000000, interval % 1000000}, {microseconds / 1000000, microseconds % 1000000}};
  if (setitimer(which, &timer, NULL)) abort();
}
static long raw_action(int signal, void* next, void* old, size_t size) {
  return syscall(SYS_rt_sigaction, signal, next, old, size);
}
struct kernel_action {
  uint64_t handler, flags, restorer, mask;
};
static void* const nowhere = (void*)8;
