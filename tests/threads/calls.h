// SPDX-License-Identifier: Apache-2.0
// clone(2), gettid(2), set_tid_address(2), exit(2), and the calls of sched(7).
#pragma once

#include "noting.h"

static _Atomic int stored_parent, stored_child, seen_child, runs_of_child;
static _Thread_local int of_thread = 5;

// A thread that no library knows: it makes system calls only.
static _Atomic uint32_t child_cleared;
static char child_stack[65536] __attribute__((aligned(16)));
static int run_child(void* argument) {
  runs_of_child++;
  seen_child = stored_child;
  syscall(SYS_exit, (long)argument);
  return 0;
}
#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
static long make_thread(int flags, long argument) {
  child_cleared = 1;
  const int id =
      clone(run_child, child_stack + sizeof child_stack, THREAD_FLAGS | flags, (void*)argument, &stored_parent, NULL,
            flags & CLONE_CHILD_CLEARTID ? (void*)&child_cleared : (void*)&stored_child);
  if (id == -1) return -1;
  if (flags & CLONE_CHILD_CLEARTID) {
    while (child_cleared != 0) futex((void*)&child_cleared, FUTEX_WAIT, 1, NULL, NULL, 0);
  } else {
    let_others_wait();
  }
  return id;
}
static long raw_clone(unsigned long flags) { return syscall(SYS_clone, flags, 0, 0, 0, 0); }
static long raw_clone3(const struct clone_args* request, size_t size) { return syscall(SYS_clone3, request, size); }

static void* note_ids(void* argument) {
  ((pid_t*)argument)[0] = thread_id();
  ((pid_t*)argument)[1] = getpid();
  of_thread += 2;
  return (void*)(long)of_thread;
}
static void clones(void) {
  puts("clone");
  SHOW(thread_id() == getpid());
  SHOW(syscall(SYS_set_tid_address, &child_cleared) == getpid());
  pid_t ids[2], more[2];
  SHOW(finish(start(note_ids, ids)));
  SHOW(ids[0] != getpid() && ids[1] == getpid());
  SHOW(of_thread);
  SHOW(finish(start(note_ids, more)));
  SHOW(more[0] != ids[0] && more[0] != getpid());

  const long first = make_thread(CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, 3);
  SHOW(first > 0 && stored_parent == first);
  stored_child = stored_parent = 0;
  const long second = make_thread(CLONE_CHILD_SETTID, 3);
  SHOW(second > 0 && stored_child == second && seen_child == second && stored_parent == 0);
  SHOW(runs_of_child);
  // A place to which nobody may write is left out.
  SHOW(clone(run_child, child_stack + sizeof child_stack,
             THREAD_FLAGS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, NULL, nowhere, NULL,
             nowhere) > 0);
  let_others_wait();
  SHOW(runs_of_child);
  SHOW(make_thread(CLONE_DETACHED | CLONE_CHILD_CLEARTID | SIGCHLD, 3) > 0);

  CHECK(raw_clone(CLONE_THREAD));
  CHECK(raw_clone(CLONE_THREAD | CLONE_VM));
  CHECK(raw_clone(CLONE_THREAD | CLONE_SIGHAND));
  CHECK(raw_clone(CLONE_SIGHAND));
  CHECK(raw_clone(CLONE_NEWNS | CLONE_FS));
  CHECK(raw_clone(CLONE_NEWUSER | CLONE_FS));
  CHECK(raw_clone(THREAD_FLAGS | CLONE_NEWPID));
  CHECK(raw_clone(CLONE_NEWIPC | CLONE_SYSVSEM));
  CHECK(raw_clone(CLONE_NEWNET));
  CHECK(raw_clone(CLONE_PIDFD | CLONE_PARENT_SETTID));
  struct clone_args request = {.flags = THREAD_FLAGS};
  CHECK(raw_clone3(&request, 63));
  CHECK(raw_clone3(&request, 4097));
  CHECK(raw_clone3(nowhere, 64));
  CHECK(raw_clone3((void*)-4096, sizeof request));
  request.exit_signal = SIGCHLD;
  CHECK(raw_clone3(&request, sizeof request));
  request.exit_signal = 0, request.stack = (uintptr_t)child_stack;
  CHECK(raw_clone3(&request, sizeof request));
  request.stack = 0, request.stack_size = 4096;
  CHECK(raw_clone3(&request, sizeof request));
  request.stack_size = 0, request.flags = CLONE_DETACHED | THREAD_FLAGS;
  CHECK(raw_clone3(&request, sizeof request));
  request.flags = THREAD_FLAGS | SIGCHLD;
  CHECK(raw_clone3(&request, sizeof request));
  request.flags = CLONE_THREAD | CLONE_VM;
  CHECK(raw_clone3(&request, sizeof request));
  request.flags = 1ull << 40;
  CHECK(raw_clone3(&request, sizeof request));
  request.flags = CLONE_SIGHAND | CLONE_VM | CLONE_CLEAR_SIGHAND;
  CHECK(raw_clone3(&request, sizeof request));
  request.flags = THREAD_FLAGS, request.set_tid_size = 1;
  CHECK(raw_clone3(&request, sizeof request));
  request.set_tid_size = 0, request.exit_signal = 65;
  CHECK(raw_clone3(&request, sizeof request));
  union {
    struct clone_args request;
    uint64_t words[16];
  } long_request = {.words = {[12] = 1}};
  CHECK(raw_clone3(&long_request.request, sizeof long_request));
}

// ---- sched(7)

static void* report_policy(void* argument) {
  (void)argument;
  return (void*)(syscall(SYS_sched_getscheduler, 0) * 100 + getpriority(PRIO_PROCESS, 0));
}
static _Atomic int stays;
static _Atomic pid_t staying;
static void* stay(void* argument) {
  staying = thread_id();
  while (stays) pause_for(2);
  return argument;
}
static void scheduling(void) {
  puts("sched");
  struct sched_param parameter = {0}, one = {1}, negative = {-1};
  struct timespec time;
  cpu_set_t set;
  unsigned cpu = 77, node = 77;
  CHECK(sched_yield());
  for (int policy = -1; policy < 7; policy++) {
    CHECK(sched_get_priority_max(policy));
    CHECK(sched_get_priority_min(policy));
  }
  CHECK(syscall(SYS_sched_getscheduler, 0));
  CHECK(syscall(SYS_sched_getscheduler, -1));
  CHECK(syscall(SYS_sched_getscheduler, 0x3ffffff0));
  CHECK(syscall(SYS_sched_getparam, 0, &parameter));
  SHOW(parameter.sched_priority);
  CHECK(syscall(SYS_sched_getparam, 0, NULL));
  CHECK(syscall(SYS_sched_getparam, 0, nowhere));
  CHECK(syscall(SYS_sched_getparam, -1, &parameter));
  CHECK(syscall(SYS_sched_getparam, 0x3ffffff0, &parameter));
  CHECK(syscall(SYS_sched_setparam, 0, &parameter));
  CHECK(syscall(SYS_sched_setparam, 0, &one));
  CHECK(syscall(SYS_sched_setparam, 0, &negative));
  CHECK(syscall(SYS_sched_setparam, 0, NULL));
  CHECK(syscall(SYS_sched_setparam, 0, nowhere));
  CHECK(syscall(SYS_sched_setparam, 0x3ffffff0, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &one));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &one));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &one));
  CHECK(syscall(SYS_sched_setscheduler, 0, 4, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0, -1, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, -1, SCHED_OTHER, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0x3ffffff0, SCHED_OTHER, &parameter));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, NULL));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &parameter));
  CHECK(syscall(SYS_sched_getscheduler, thread_id()));
  SHOW(finish(start(report_policy, NULL)));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_BATCH | SCHED_RESET_ON_FORK, &parameter));
  CHECK(syscall(SYS_sched_getscheduler, 0));
  SHOW(finish(start(report_policy, NULL)));
  CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameter));
  stays = 1;
  const pthread_t thread = start(stay, NULL);
  let_others_wait();
  CHECK(syscall(SYS_sched_setscheduler, staying, SCHED_IDLE, &parameter));
  CHECK(syscall(SYS_sched_getscheduler, staying));
  CHECK(syscall(SYS_sched_setscheduler, staying, SCHED_OTHER, &parameter));
  CHECK(syscall(SYS_sched_getaffinity, staying, sizeof set, &set) > 0);
  CHECK(setpriority(PRIO_PROCESS, (id_t)staying, 5));
  SHOW(getpriority(PRIO_PROCESS, (id_t)staying));
  SHOW(getpriority(PRIO_PROCESS, 0));
  CHECK(setpriority(PRIO_PROCESS, (id_t)staying, 4));
  stays = 0;
  finish(thread);
  wait_until_gone(staying);
  CHECK(syscall(SYS_sched_getscheduler, staying));
  CHECK(sched_rr_get_interval(0, &time));
  CHECK(sched_rr_get_interval(-1, &time));
  CHECK(sched_rr_get_interval(0x3ffffff0, &time));
  CHECK(sched_rr_get_interval(0, nowhere));
  CHECK(syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0);
  CHECK(syscall(SYS_sched_getaffinity, 0x3ffffff0, sizeof set, &set));
  CHECK(syscall(SYS_sched_getaffinity, 0, 4, &set));
  CHECK(syscall(SYS_sched_getaffinity, 0, sizeof set, nowhere));
  CHECK(syscall(SYS_sched_setaffinity, 0, sizeof set, &set));
  CHECK(syscall(SYS_sched_setaffinity, 0, sizeof set, nowhere));
  CHECK(syscall(SYS_sched_setaffinity, 0x3ffffff0, sizeof set, &set));
  memset(&set, 0, sizeof set);
  CHECK(syscall(SYS_sched_setaffinity, 0, sizeof set, &set));
  CHECK(syscall(SYS_sched_setaffinity, 0, 0, &set));
  CHECK(getpriority(PRIO_PROCESS, 0));
  CHECK(getpriority(3, 0));
  CHECK(getpriority(PRIO_PROCESS, 0x3ffffff0));
  CHECK(setpriority(PRIO_PROCESS, 0, 3));
  CHECK(getpriority(PRIO_PROCESS, 0));
  CHECK(setpriority(PRIO_PROCESS, 0, 2));
  CHECK(setpriority(PRIO_PROCESS, 0, 100));
  CHECK(getpriority(PRIO_PROCESS, (id_t)getpid()));
  CHECK(setpriority(PRIO_PROCESS, 0x3ffffff0, 19));
  CHECK(setpriority(3, 0, 19));
  CHECK(syscall(SYS_getcpu, NULL, NULL, NULL));
  CHECK(syscall(SYS_getcpu, &cpu, &node, NULL));
  SHOW(cpu != 77 && node != 77);
  CHECK(syscall(SYS_getcpu, nowhere, NULL, NULL));
  CHECK(syscall(SYS_membarrier, 0, 0, 0) > 0);
  CHECK(syscall(SYS_membarrier, 0, 1, 0));
  CHECK(syscall(SYS_membarrier, 1, 0, 0));
  CHECK(syscall(SYS_membarrier, 8, 0, 0));
  CHECK(syscall(SYS_membarrier, 16, 0, 0));
  CHECK(syscall(SYS_membarrier, 8, 0, 0));
  CHECK(syscall(SYS_membarrier, 4, 0, 0));
  CHECK(syscall(SYS_membarrier, 2, 0, 0));
  CHECK(syscall(SYS_membarrier, 1 << 20, 0, 0));
  CHECK(syscall(SYS_membarrier, 3, 0, 0));
}

// ---- clocks of threads

static void* use_time(void* argument) {
  struct timespec used, process;
  struct rusage usage;
  // Hosts differ in how long one round takes.
  do {
    for (volatile int i = 0; i < 3000000; i++) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (used.tv_sec == 0 && used.tv_nsec <= 1000000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process);
  getrusage(RUSAGE_THREAD, &usage);
  (void)argument;
  return (void*)(long)((process.tv_sec > used.tv_sec || process.tv_nsec > used.tv_nsec) &&
                       usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec > 0);
}
static void clocks(void) {
  puts("clocks");
  struct timespec before, later, process;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  SHOW(finish(start(use_time, NULL)));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &later);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process);
  const long used = (later.tv_sec - before.tv_sec) * 1000000000 + later.tv_nsec - before.tv_nsec;
  SHOW(used < 2000000);
  SHOW(process.tv_sec * 1000000000 + process.tv_nsec > later.tv_sec * 1000000000 + later.tv_nsec);
}
