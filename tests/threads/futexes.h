// SPDX-License-Identifier: Apache-2.0
// futex(2), set_robust_list(2).
#pragma once

#include "noting.h"

static _Atomic uint32_t word, other;

static void futex_waits(void) {
  struct waiter a, b, c;
  puts("futex: waiting and waking");
  word = 5;
  CHECK(futex(&word, FUTEX_WAIT, 4, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 5, &short_time, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT, 5, &(struct timespec){0, 0}, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT, 5, &(struct timespec){0, 1000000000}, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT, 5, &(struct timespec){-1, 0}, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT, 5, nowhere, NULL, 0));
  CHECK(futex((char*)&word + 1, FUTEX_WAIT, 5, NULL, NULL, 0));
  CHECK(futex((void*)4096, FUTEX_WAIT, 5, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 4, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_FD, 1, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0));
  CHECK(futex((char*)&word + 2, FUTEX_WAKE, 1, NULL, NULL, 0));
  CHECK(futex((void*)4096, FUTEX_WAKE, 1, NULL, NULL, 0));
  CHECK(futex((void*)4096, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  struct timespec when = after(CLOCK_MONOTONIC, 2000000);
  CHECK(futex(&word, FUTEX_WAIT_BITSET, 5, &when, NULL, 1));
  when = after(CLOCK_REALTIME, 2000000);
  CHECK(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &when, NULL, 1));
  CHECK(futex(&word, FUTEX_WAIT_BITSET, 5, &(struct timespec){0, 1}, NULL, 1));

  begin(&a, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  end(&a);
  begin(&a, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  begin(&b, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  begin(&c, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0));
  end(&a), end(&b), end(&c);
  // Who has waited longest is woken first.
  begin(&a, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  begin(&b, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  end(&a);
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  end(&b);
  // By bits.
  begin(&a, &word, FUTEX_WAIT_BITSET_PRIVATE, 5, 1);
  begin(&b, &word, FUTEX_WAIT_BITSET_PRIVATE, 5, 6);
  CHECK(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 8));
  CHECK(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 2));
  end(&b);
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  end(&a);
  // The value is looked at once.
  begin(&a, &word, FUTEX_WAIT_PRIVATE, 5, 0);
  word = 6;
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  end(&a);
}

static void futex_requeues(void) {
  struct waiter a, b, c;
  puts("futex: FUTEX_REQUEUE");
  word = 1, other = 2;
  CHECK(futex(&word, FUTEX_CMP_REQUEUE, 1, (void*)1, &other, 9));
  CHECK(futex(&word, FUTEX_CMP_REQUEUE, 1, (void*)1, &other, 1));
  CHECK(futex(&word, FUTEX_CMP_REQUEUE, (uint32_t)-1, (void*)1, &other, 1));
  CHECK(futex(&word, FUTEX_CMP_REQUEUE, 1, (void*)-1, &other, 1));
  CHECK(futex(&word, FUTEX_CMP_REQUEUE, 1, (void*)1, (char*)&other + 1, 1));
  CHECK(futex((void*)4096, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &other, 1));
  CHECK(futex(&word, FUTEX_REQUEUE, 1, (void*)1, &other, 0));
  begin(&a, &word, FUTEX_WAIT_PRIVATE, 1, 0);
  begin(&b, &word, FUTEX_WAIT_PRIVATE, 1, 0);
  begin(&c, &word, FUTEX_WAIT_PRIVATE, 1, 0);
  CHECK(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &other, 1));
  end(&a);
  CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  end(&b);
  CHECK(futex(&word, FUTEX_REQUEUE_PRIVATE, 0, (void*)INT_MAX, &other, 0));
  CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
  end(&c);
  // One that has been moved has still its time.
  const struct timespec limit = {0, 200000000};
  a = (struct waiter){.word = &word, .operation = FUTEX_WAIT_PRIVATE, .value = 1, .time = &limit};
  a.thread = start(wait_once, &a);
  let_others_wait();
  CHECK(futex(&word, FUTEX_REQUEUE_PRIVATE, 0, (void*)9, &other, 0));
  end(&a);
}

static uint32_t encoded(uint32_t operation, uint32_t operand, uint32_t comparison, uint32_t compared) {
  return operation << 28 | comparison << 24 | (operand & 0xfff) << 12 | (compared & 0xfff);
}
static void futex_wake_ops(void) {
  struct waiter a, b;
  puts("futex: FUTEX_WAKE_OP");
  static const struct {
    uint32_t operation, operand;
  } operations[] = {{0, 77}, {1, 5}, {1, (uint32_t)-3}, {2, 0x18}, {3, 0x0f}, {4, 0x3c}, {8, 4}, {9, 8}, {5, 1}};
  for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++) {
    other = 0x25;
    CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &other,
                encoded(operations[i].operation, operations[i].operand, 0, 0)));
    SHOW(other);
  }
  CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, nowhere, 0));
  CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, (char*)&other + 1, 0));
  word = 1;
  for (uint32_t comparison = 0; comparison < 7; comparison++) {
    for (uint32_t compared = 2; compared < 5; compared++) {
      other = 3;
      begin(&a, &other, FUTEX_WAIT_PRIVATE, 3, 0);
      CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &other, encoded(1, 0, comparison, compared)));
      futex(&other, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
      finish(a.thread);
    }
  }
  begin(&a, &word, FUTEX_WAIT_PRIVATE, 1, 0);
  begin(&b, &other, FUTEX_WAIT_PRIVATE, 3, 0);
  CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &other, encoded(0, 9, 0, 3)));
  SHOW(other);
  end(&a), end(&b);
}

static void* die_with_lock(void* argument) { return (void*)futex(argument, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0); }
static void* hold_lock(void* argument) {
  if (futex(argument, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0)) return (void*)1;
  pause_for(200);
  return (void*)futex(argument, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}
static void futex_locks(void) {
  struct waiter a, b;
  const uint32_t self = (uint32_t)thread_id();
  puts("futex: FUTEX_LOCK_PI");
  word = 0;
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW(word == self);
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW(word);
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex((char*)&word + 1, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(nowhere, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(nowhere, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  word = 0x3ffffff0;  // nobody
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW(word == 0x3ffffff0 || word == 0xbffffff0);
  word = FUTEX_OWNER_DIED;
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW(word == (FUTEX_OWNER_DIED | self));
  // Two threads wait, one after the other, and get it in this order.
  word = self;
  begin(&a, &word, FUTEX_LOCK_PI_PRIVATE, 0, 0);
  SHOW(word == (FUTEX_WAITERS | self));
  begin(&b, &word, FUTEX_LOCK_PI_PRIVATE, 0, 0);
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  end(&a);  // it has died with the lock
  end(&b);
  SHOW(word & (FUTEX_WAITERS | FUTEX_OWNER_DIED));
  // Times.
  word = 0;
  const pthread_t holder = start(hold_lock, (void*)&word);
  let_others_wait();
  struct timespec when = after(CLOCK_REALTIME, 2000000);
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, &when, NULL, 0));
  when = after(CLOCK_MONOTONIC, 2000000);
  CHECK(futex(&word, 13 | FUTEX_PRIVATE_FLAG, 0, &when, NULL, 0));  // FUTEX_LOCK_PI2
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, &(struct timespec){0, -1}, NULL, 0));
  CHECK(futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  CHECK(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW((word & FUTEX_TID_MASK) == self);
  CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  SHOW(word);
  SHOW(finish(holder));
  // One that dies with a lock that nobody waits for.
  word = 0;
  SHOW(finish(start(die_with_lock, &word)));
  SHOW(word & (FUTEX_WAITERS | FUTEX_OWNER_DIED));
}

// ---- robust lists

struct lock {
  struct robust_list list;
  _Atomic uint32_t word;
};
static struct lock locks[6];
static struct robust_list_head robust;
static void link_locks(int count, void* pending) {
  robust.futex_offset = offsetof(struct lock, word);
  robust.list_op_pending = pending;
  robust.list.next = count ? &locks[0].list : &robust.list;
  for (int i = 0; i < count; i++) locks[i].list.next = i + 1 < count ? &locks[i + 1].list : &robust.list;
}
static void* die_with_locks(void* argument) {
  const long kind = (long)argument;
  const uint32_t self = (uint32_t)thread_id();
  syscall(SYS_set_robust_list, &robust, sizeof robust);
  for (int i = 0; i < 6; i++) locks[i].word = self;
  locks[1].word |= FUTEX_WAITERS;
  locks[2].word = 12345;  // of another
  switch (kind) {
    case 0: link_locks(4, NULL); break;
    case 1: link_locks(2, &locks[4]); break;
    case 2:
      link_locks(2, &locks[4]);
      locks[4].word = 0;
      break;
    case 3:  // broken off
      link_locks(5, NULL);
      locks[3].list.next = nowhere;
      break;
    case 4:  // a ring
      link_locks(4, NULL);
      locks[3].list.next = &locks[0].list;
      break;
    case 5:  // not aligned
      link_locks(5, NULL);
      locks[0].list.next = (void*)((char*)&locks[1].list + 2);
      break;
    case 6:  // a lock of FUTEX_LOCK_PI
      link_locks(2, NULL);
      robust.list.next = (void*)((char*)&locks[0].list + 1);
      break;
    default: syscall(SYS_set_robust_list, nowhere, sizeof robust); break;
  }
  syscall(SYS_exit, 0);
  return NULL;
}
static void show_locks(void) {
  for (int i = 0; i < 6; i++) {
    const uint32_t value = locks[i].word;
    printf("  %x", value & (FUTEX_WAITERS | FUTEX_OWNER_DIED));
    printf(value & FUTEX_TID_MASK ? "+id" : "");
  }
  puts("");
}
static void robust_lists(void) {
  struct robust_list_head* list = NULL;
  size_t size = 0;
  struct waiter a;
  puts("set_robust_list");
  CHECK(syscall(SYS_set_robust_list, &robust, sizeof robust - 1));
  CHECK(syscall(SYS_set_robust_list, &robust, 0));
  CHECK(syscall(SYS_get_robust_list, 0, &list, &size));
  SHOW(list != NULL && list != &robust);
  struct robust_list_head* const old = list;
  SHOW(size);
  CHECK(syscall(SYS_set_robust_list, &robust, sizeof robust));
  CHECK(syscall(SYS_get_robust_list, thread_id(), &list, &size));
  SHOW(list == &robust);
  CHECK(syscall(SYS_set_robust_list, old, sizeof robust));
  CHECK(syscall(SYS_get_robust_list, 0, nowhere, &size));
  CHECK(syscall(SYS_get_robust_list, 0, &list, nowhere));
  CHECK(syscall(SYS_get_robust_list, 0x3ffffff0, &list, &size));
  for (long kind = 0; kind < 8; kind++) {
    memset(locks, 0, sizeof locks);
    const int waits = kind != 6;
    locks[1].word = 7;
    // Who waits for the second lock is woken by its death.
    _Atomic uint32_t* const awaited = kind == 2 ? &locks[4].word : &locks[1].word;
    *awaited = 7;
    if (waits) begin(&a, awaited, kind == 5 ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, 7, 0);
    finish(start(die_with_locks, (void*)kind));
    let_others_wait();
    printf("%d list %ld:", ++number, kind);
    show_locks();
    if (!waits) continue;
    SHOW(futex(awaited, FUTEX_WAKE, 9, NULL, NULL, 0));
    SHOW(futex(awaited, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    end(&a);
  }
}
