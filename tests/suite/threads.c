// SPDX-License-Identifier: Apache-2.0
// Checks of threads: futex(2), set_robust_list(2), set_tid_address(2), clone(2) with CLONE_THREAD by their manual pages, pthreads by the clauses of
// POSIX.1, and those of the C standard (7.26). Threads wait for each other: no result depends on which of them is faster.
#include "checking.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>

static _Atomic int word, flag, count;
static const struct timespec kNone = {0, 0}, kShort = {0, 2000000}, kNegative = {-1, 0}, kLong = {1000, 0};
#define FUTEX(address, operation, ...) syscall(SYS_futex, address, operation, __VA_ARGS__)
static void wait_for(_Atomic int* what, int wanted) {
  while (*what != wanted) sched_yield();
}
static struct timespec in_ms(clockid_t clock, long milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000, time.tv_nsec %= 1000000000;
  return time;
}
static pthread_t start(void* (*function)(void*), void* argument) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 131072);  // many fit into a window
  if (pthread_create(&thread, &attributes, function, argument)) abort();
  pthread_attr_destroy(&attributes);
  return thread;
}
static void* result_of(pthread_t thread) {
  void* result = NULL;
  pthread_join(thread, &result);
  return result;
}

// ---- system calls

static void* wait_at_word(void* operation) {
  flag = 1;
  while (FUTEX(&word, (long)operation, 0, NULL, NULL, ~0u) == -1 && errno == EINTR) {
  }
  count++;
  return NULL;
}
/// Wakes until one was there: a thread may not have begun to wait.
static long wakes(_Atomic int* address, int most) {
  long woken;
  while ((woken = FUTEX(address, FUTEX_WAKE, most, NULL, NULL, 0)) == 0) sched_yield();
  return woken;
}
static void* lock_word(void* argument) {
  const long result = FUTEX(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
  FUTEX(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
  return (void*)result;
}
static struct robust_list_head head;
static struct {
  struct robust_list list;
  _Atomic int word;
} held;
static void* leave_locked(void* argument) {
  head.list.next = &held.list, held.list.next = &head.list;
  head.futex_offset = (char*)&held.word - (char*)&held.list;
  syscall(SYS_set_robust_list, &head, sizeof head);
  held.word = (int)syscall(SYS_gettid);
  return argument;
}
static void futexes(void) {
  word = 5;
  FAILS(futex, "FUTEX_WAIT, another value", EAGAIN, FUTEX(&word, FUTEX_WAIT, 4, NULL, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, the time has passed", ETIMEDOUT, FUTEX(&word, FUTEX_WAIT, 5, &kShort, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, no time at all", ETIMEDOUT, FUTEX(&word, FUTEX_WAIT, 5, &kNone, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, a negative time", EINVAL, FUTEX(&word, FUTEX_WAIT, 5, &kNegative, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, a time that cannot be read", EFAULT, FUTEX(&word, FUTEX_WAIT, 5, nowhere, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, a word that cannot be read", EFAULT, FUTEX(nowhere, FUTEX_WAIT, 5, &kShort, NULL, 0));
  FAILS(futex, "FUTEX_WAIT, a word not at 4 bytes", EINVAL, FUTEX((char*)&word + 1, FUTEX_WAIT, 5, &kShort, NULL, 0));
  FAILS(futex, "FUTEX_WAIT_BITSET, no bits", EINVAL, FUTEX(&word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0));
  FAILS(futex, "FUTEX_WAIT_BITSET, a time that has passed", ETIMEDOUT,
        FUTEX(&word, FUTEX_WAIT_BITSET, 5, &kShort, NULL, 1));
  FAILS(futex, "an operation that is unknown", ENOSYS, FUTEX(&word, 77, 5, NULL, NULL, 0));
  alarms(0);
  FAILS(futex, "FUTEX_WAIT, a signal", EINTR, FUTEX(&word, FUTEX_WAIT, 5, &kLong, NULL, 0));
  no_alarms();
  GIVES(futex, "FUTEX_WAKE, nobody waits", 0, FUTEX(&word, FUTEX_WAKE, 1, NULL, NULL, 0));
  FAILS(futex, "FUTEX_WAKE, a word not at 4 bytes", EINVAL, FUTEX((char*)&word + 1, FUTEX_WAKE, 1, NULL, NULL, 0));
  FAILS(futex, "FUTEX_WAKE_BITSET, no bits", EINVAL, FUTEX(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
  word = 0;
  pthread_t thread = start(wait_at_word, (void*)FUTEX_WAIT);
  GIVES(futex, "FUTEX_WAKE, one waits", 1, wakes(&word, 1));
  result_of(thread);
  thread = start(wait_at_word, (void*)FUTEX_WAIT);
  static _Atomic int second;
  long moved;
  while ((moved = FUTEX(&word, FUTEX_REQUEUE, 0, (void*)1, &second, 0)) == 0) sched_yield();
  GIVES(futex, "FUTEX_REQUEUE, one is moved", 1, moved);
  GIVES(futex, "FUTEX_REQUEUE, it no longer waits there", 0, FUTEX(&word, FUTEX_WAKE, 9, NULL, NULL, 0));
  GIVES(futex, "FUTEX_REQUEUE, it waits at the other word", 1, FUTEX(&second, FUTEX_WAKE, 9, NULL, NULL, 0));
  result_of(thread);
  FAILS(futex, "FUTEX_CMP_REQUEUE, another value", EAGAIN, FUTEX(&word, FUTEX_CMP_REQUEUE, 1, (void*)1, &second, 7));
  GIVES(futex, "FUTEX_CMP_REQUEUE, nobody waits", 0, FUTEX(&word, FUTEX_CMP_REQUEUE, 1, (void*)1, &second, 0));
  GIVES(futex, "FUTEX_WAKE_OP, nobody waits", 0,
        FUTEX(&word, FUTEX_WAKE_OP, 1, (void*)1, &second, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0)));
  GIVES(futex, "FUTEX_WAKE_OP, the second word is changed", 3, second);
  FAILS(futex, "FUTEX_WAKE_OP, a comparison that is unknown", ENOSYS,
        FUTEX(&word, FUTEX_WAKE_OP, 1, (void*)1, &second, 0x0f000000));
  // With owners.
  word = 0;
  GIVES(futex, "FUTEX_LOCK_PI", 0, FUTEX(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
  GIVES(futex, "FUTEX_LOCK_PI, the owner", 1, word == syscall(SYS_gettid));
  FAILS(futex, "FUTEX_LOCK_PI, twice", EDEADLK, FUTEX(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
  FAILS(futex, "FUTEX_TRYLOCK_PI, twice", EDEADLK, FUTEX(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
  thread = start(lock_word, NULL);
  while (!(word & (int)FUTEX_WAITERS)) sched_yield();
  GIVES(futex, "FUTEX_UNLOCK_PI", 0, FUTEX(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
  GIVES(futex, "FUTEX_LOCK_PI, the next has it", 0, result_of(thread));
  word = 0;
  FAILS(futex, "FUTEX_UNLOCK_PI, one does not own it", EPERM, FUTEX(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
  word = kNobody;
  FAILS(futex, "FUTEX_LOCK_PI, the owner is nobody", ESRCH, FUTEX(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
  // Robust lists.
  struct robust_list_head* known = NULL;
  size_t size = 0;
  GIVES(get_robust_list, "one's own", 0, syscall(SYS_get_robust_list, 0, &known, &size));
  GIVES(get_robust_list, "its size", sizeof head, size);
  FAILS(get_robust_list, "of nobody", ESRCH, syscall(SYS_get_robust_list, kNobody, &known, &size));
  FAILS(get_robust_list, "of another's process", EPERM, syscall(SYS_get_robust_list, 1, &known, &size));
  FAILS(get_robust_list, "to where nothing can be written", EFAULT, syscall(SYS_get_robust_list, 0, nowhere, &size));
  FAILS(set_robust_list, "another size", EINVAL, syscall(SYS_set_robust_list, &head, 8));
  result_of(start(leave_locked, NULL));
  GIVES(set_robust_list, "the owner has died", FUTEX_OWNER_DIED, held.word & FUTEX_OWNER_DIED);
  int old;
  GIVES(set_tid_address, "the thread", 1, syscall(SYS_set_tid_address, &old) == syscall(SYS_gettid));
}

static _Atomic int tid_of_clone, cleared = 7;
static int in_clone(void* argument) {
  tid_of_clone = (int)syscall(SYS_gettid);
  count = (int)(long)argument;
  return 0;
}
static void* call_exit(void* argument) {
  syscall(SYS_exit, 5);
  return argument;
}
static void* send_to_first(void* argument) { return (void*)syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1); }
static void* block_one(void* argument) {
  sigset_t set;
  sigprocmask(SIG_BLOCK, NULL, &set);
  const long inherited = sigismember(&set, SIGUSR2);
  sigpending(&set);
  return (void*)(inherited + 10 * sigismember(&set, SIGUSR2));
}
static void raw_threads(void) {
  static char stack[65536] __attribute__((aligned(16)));
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                    CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
  int parent_tid = 0;
  const int thread =
      clone(in_clone, stack + sizeof stack, flags | CLONE_PARENT_SETTID, (void*)33, &parent_tid, NULL, &cleared);
  wait_for(&cleared, 0);
  GIVES(clone, "CLONE_THREAD: another thread", 1, thread > 0 && thread != getpid() && tid_of_clone == thread);
  GIVES(clone, "CLONE_THREAD: the same memory", 33, count);
  GIVES(clone, "CLONE_PARENT_SETTID", 1, parent_tid == thread);
  GIVES(clone, "CLONE_CHILD_CLEARTID", 0, cleared);
  FAILS(clone, "CLONE_THREAD without CLONE_SIGHAND", EINVAL,
        syscall(SYS_clone, CLONE_THREAD | CLONE_VM, stack, 0, 0, 0));
  FAILS(clone, "CLONE_SIGHAND without CLONE_VM", EINVAL, syscall(SYS_clone, CLONE_SIGHAND, stack, 0, 0, 0));
  GIVES(exit, "ends its thread alone", 0, result_of(start(call_exit, NULL)));
  on_signal(SIGUSR1, 0);
  GIVES(tgkill, "a thread from another", 0, result_of(start(send_to_first, NULL)));
  GIVES(tgkill, "that thread handles it", SIGUSR1, last_signal);
  GIVES(gettid, "of the first thread", 1, syscall(SYS_gettid) == getpid());
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR2);
  GIVES(rt_sigprocmask, "a new thread blocks what its maker blocks, and has no pending signals", 1,
        result_of(start(block_one, NULL)));
  signal(SIGUSR2, SIG_IGN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

// ---- POSIX

static pthread_mutex_t mutex, robust;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t reading = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static _Thread_local int own = 3;
static int total;
static void* same(void* argument) { return argument; }
static void* leave_with(void* argument) { pthread_exit(argument); }
static void* try_mutex(void* argument) { return (void*)(long)pthread_mutex_trylock(argument); }
static void* unlock_mutex(void* argument) { return (void*)(long)pthread_mutex_unlock(argument); }
static void* add_many(void* argument) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(argument);
    total++;
    pthread_mutex_unlock(argument);
  }
  return NULL;
}
static void* set_flag(void* argument) {
  pthread_mutex_lock(&mutex);
  flag = 2;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return argument;
}
static void* leave_robust(void* argument) { return (void*)(long)pthread_mutex_trylock(argument); }
static void* read_lock(void* argument) {
  const long result = pthread_rwlock_tryrdlock(&reading);
  if (result == 0) pthread_rwlock_unlock(&reading);
  return (void*)result;
}
static void* write_lock(void* argument) {
  const long result = pthread_rwlock_trywrlock(&reading);
  if (result == 0) pthread_rwlock_unlock(&reading);
  return (void*)result;
}
static void* meet(void* argument) {
  return (void*)(long)(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}
static void destroy(void* argument) { count += (int)(long)argument; }
static void* set_key(void* argument) {
  pthread_setspecific(key, argument);
  return pthread_getspecific(key);
}
static void once_only(void) { count++; }
static void* own_value(void* argument) {
  own += (int)(long)argument;
  return (void*)(long)own;
}
static void clean_up(void* argument) { count += (int)(long)argument; }
static void* wait_to_be_cancelled(void* argument) {
  pthread_cleanup_push(clean_up, argument);
  flag = 3;
  for (;;) pause();
  pthread_cleanup_pop(0);
  return argument;
}
static void* not_cancelled(void* argument) {
  int old;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  flag = 4;
  wait_for(&flag, 5);
  pthread_testcancel();
  return argument;
}
static void* post(void* argument) {
  sem_post(&semaphore);
  return argument;
}
static void posix(void) {
  pthread_t thread = start(same, (void*)77);
  void* result = NULL;
  RETURNS(pthread_join, "a thread", 0, pthread_join(thread, &result));
  GIVES(pthread_join, "its result", 77, result);
  GIVES(pthread_exit, "the result", 78, result_of(start(leave_with, (void*)78)));
  RETURNS(pthread_join, "oneself", EDEADLK, pthread_join(pthread_self(), NULL));
  GIVES(pthread_equal, "oneself", 1, pthread_equal(pthread_self(), pthread_self()) != 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  RETURNS(pthread_attr_setstacksize, "too small", EINVAL, pthread_attr_setstacksize(&attributes, 100));
  RETURNS(pthread_attr_setdetachstate, "what is no state", EINVAL, pthread_attr_setdetachstate(&attributes, 77));
  RETURNS(pthread_attr_setdetachstate, "PTHREAD_CREATE_DETACHED", 0,
          pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
  RETURNS(pthread_create, "detached", 0, pthread_create(&thread, &attributes, same, NULL));
  pthread_attr_destroy(&attributes);
  // Mutexes.
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  RETURNS(pthread_mutexattr_settype, "what is no type", EINVAL, pthread_mutexattr_settype(&kind, 77));
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &kind);
  RETURNS(pthread_mutex_lock, "free", 0, pthread_mutex_lock(&mutex));
  RETURNS(pthread_mutex_lock, "PTHREAD_MUTEX_ERRORCHECK, twice", EDEADLK, pthread_mutex_lock(&mutex));
  RETURNS(pthread_mutex_trylock, "another's", EBUSY, result_of(start(try_mutex, &mutex)));
  RETURNS(pthread_mutex_unlock, "another's", EPERM, result_of(start(unlock_mutex, &mutex)));
  RETURNS(pthread_mutex_unlock, "one's own", 0, pthread_mutex_unlock(&mutex));
  RETURNS(pthread_mutex_unlock, "twice", EPERM, pthread_mutex_unlock(&mutex));
  RETURNS(pthread_mutex_destroy, "free", 0, pthread_mutex_destroy(&mutex));
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &kind);
  RETURNS(pthread_mutex_lock, "PTHREAD_MUTEX_RECURSIVE, twice", 0,
          pthread_mutex_lock(&mutex) | pthread_mutex_lock(&mutex));
  pthread_mutex_unlock(&mutex);
  RETURNS(pthread_mutex_trylock, "PTHREAD_MUTEX_RECURSIVE, unlocked once", EBUSY, result_of(start(try_mutex, &mutex)));
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
  pthread_mutex_init(&mutex, &kind);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) threads[i] = start(add_many, &mutex);
  for (int i = 0; i < 8; i++) result_of(threads[i]);
  GIVES(pthread_mutex_lock, "one at a time", 8000, total);
  struct timespec time = in_ms(CLOCK_REALTIME, 2);
  pthread_mutex_lock(&mutex);
  RETURNS(pthread_mutex_timedlock, "the time has passed", ETIMEDOUT, pthread_mutex_timedlock(&mutex, &time));
  time.tv_nsec = 1000000000;
  RETURNS(pthread_mutex_timedlock, "nanoseconds that are a second", EINVAL, pthread_mutex_timedlock(&mutex, &time));
  pthread_mutex_unlock(&mutex);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &kind);
  result_of(start(leave_robust, &robust));
  RETURNS(pthread_mutex_trylock, "PTHREAD_MUTEX_ROBUST, the owner has ended", EOWNERDEAD,
          pthread_mutex_trylock(&robust));
  RETURNS(pthread_mutex_consistent, "after EOWNERDEAD", 0, pthread_mutex_consistent(&robust));
  pthread_mutex_unlock(&robust);
  result_of(start(leave_robust, &robust));
  pthread_mutex_trylock(&robust), pthread_mutex_unlock(&robust);
  RETURNS(pthread_mutex_trylock, "PTHREAD_MUTEX_ROBUST, not made consistent", ENOTRECOVERABLE,
          pthread_mutex_trylock(&robust));
  // Conditions.
  flag = 0;
  pthread_mutex_lock(&mutex);
  thread = start(set_flag, NULL);
  while (flag != 2) pthread_cond_wait(&condition, &mutex);
  GIVES(pthread_cond_wait, "until it is signalled", 2, flag);
  RETURNS(pthread_cond_wait, "has the mutex again", EBUSY, result_of(start(try_mutex, &mutex)));
  result_of(thread);
  time = in_ms(CLOCK_REALTIME, 2);
  int ended;
  while ((ended = pthread_cond_timedwait(&condition, &mutex, &time)) == 0) {
  }
  RETURNS(pthread_cond_timedwait, "the time has passed", ETIMEDOUT, ended);
  time.tv_nsec = -1;
  RETURNS(pthread_cond_timedwait, "negative nanoseconds", EINVAL, pthread_cond_timedwait(&condition, &mutex, &time));
  pthread_mutex_unlock(&mutex);
  // Locks for readers and writers.
  pthread_rwlock_rdlock(&reading);
  RETURNS(pthread_rwlock_tryrdlock, "a reader has it", 0, result_of(start(read_lock, NULL)));
  RETURNS(pthread_rwlock_trywrlock, "a reader has it", EBUSY, result_of(start(write_lock, NULL)));
  pthread_rwlock_unlock(&reading);
  pthread_rwlock_wrlock(&reading);
  RETURNS(pthread_rwlock_tryrdlock, "a writer has it", EBUSY, result_of(start(read_lock, NULL)));
  RETURNS(pthread_rwlock_wrlock, "twice", EDEADLK, pthread_rwlock_wrlock(&reading));
  RETURNS(pthread_rwlock_unlock, "a writer", 0, pthread_rwlock_unlock(&reading));
  // Barriers, keys, once.
  RETURNS(pthread_barrier_init, "for nobody", EINVAL, pthread_barrier_init(&barrier, NULL, 0));
  pthread_barrier_init(&barrier, NULL, 4);
  long serial = 0;
  for (int i = 0; i < 4; i++) threads[i] = start(meet, NULL);
  for (int i = 0; i < 4; i++) serial += (long)result_of(threads[i]);
  GIVES(pthread_barrier_wait, "one of all is told so", 1, serial);
  count = 0;
  RETURNS(pthread_key_create, "a key", 0, pthread_key_create(&key, destroy));
  GIVES(pthread_getspecific, "nothing at first", 0, pthread_getspecific(key));
  GIVES(pthread_setspecific, "each thread has its own", 12, result_of(start(set_key, (void*)12)));
  GIVES(pthread_key_create, "the destructor has run", 12, count);
  pthread_key_delete(key);
  RETURNS(pthread_setspecific, "a key that has been deleted", EINVAL, pthread_setspecific(key, &count));
  count = 0;
  pthread_once(&once, once_only), pthread_once(&once, once_only);
  GIVES(pthread_once, "once", 1, count);
  GIVES(pthread_create, "_Thread_local is each thread's own", 13,
        (long)result_of(start(own_value, (void*)10)) + own - 3);
  // Cancellation.
  count = 0;
  thread = start(wait_to_be_cancelled, (void*)5);
  wait_for(&flag, 3);
  RETURNS(pthread_cancel, "a thread", 0, pthread_cancel(thread));
  GIVES(pthread_cancel, "PTHREAD_CANCELED", 1, result_of(thread) == PTHREAD_CANCELED);
  GIVES(pthread_cleanup_push, "the handler has run", 5, count);
  thread = start(not_cancelled, (void*)6);
  wait_for(&flag, 4);
  pthread_cancel(thread);
  flag = 5;
  GIVES(pthread_setcancelstate, "PTHREAD_CANCEL_DISABLE", 6, result_of(thread));
  RETURNS(pthread_setcancelstate, "what is no state", EINVAL, pthread_setcancelstate(77, NULL));
  RETURNS(pthread_kill, "0", 0, pthread_kill(pthread_self(), 0));
  RETURNS(pthread_kill, "a signal that is unknown", EINVAL, pthread_kill(pthread_self(), 65));
  RETURNS(pthread_sigmask, "a way that is unknown", EINVAL, pthread_sigmask(77, &(sigset_t){0}, NULL));
  // Semaphores.
  sem_init(&semaphore, 0, 1);
  GIVES(sem_trywait, "1", 0, sem_trywait(&semaphore));
  FAILS(sem_trywait, "0", EAGAIN, sem_trywait(&semaphore));
  time = in_ms(CLOCK_REALTIME, 2);
  FAILS(sem_timedwait, "the time has passed", ETIMEDOUT, sem_timedwait(&semaphore, &time));
  thread = start(post, NULL);
  GIVES(sem_wait, "until another posts", 0, sem_wait(&semaphore));
  result_of(thread);
  int left = 7;
  GIVES(sem_getvalue, "what is left", 0, sem_getvalue(&semaphore, &left) == 0 ? left : -1);
  FAILS(sem_init, "too large a value", EINVAL, sem_init(&semaphore, 0, ~0u));
}

// ---- C

static mtx_t c_mutex;
static cnd_t c_condition;
static once_flag c_once = ONCE_FLAG_INIT;
static tss_t c_key;
static int give(void* argument) { return (int)(long)argument; }
static int leave_c(void* argument) { thrd_exit((int)(long)argument); }
static int try_c(void* argument) { return mtx_trylock(argument); }
static int set_c(void* argument) {
  mtx_lock(&c_mutex);
  flag = 6;
  cnd_broadcast(&c_condition);
  mtx_unlock(&c_mutex);
  return 0;
}
static int key_c(void* argument) {
  tss_set(c_key, argument);
  return tss_get(c_key) == argument;
}
static int result_of_c(int (*function)(void*), void* argument) {
  thrd_t thread;
  int result = -77;
  if (thrd_create(&thread, function, argument) != thrd_success) return -78;
  thrd_join(thread, &result);
  return result;
}
static void c_threads(void) {
  GIVES(thrd_create, "7.26.5.1, 7.26.5.6: its result", 42, result_of_c(give, (void*)42));
  GIVES(thrd_exit, "7.26.5.5: its result", 43, result_of_c(leave_c, (void*)43));
  GIVES(thrd_equal, "7.26.5.4: oneself", 1, thrd_equal(thrd_current(), thrd_current()) != 0);
  GIVES(thrd_sleep, "7.26.5.7: a time", 0, thrd_sleep(&kShort, NULL));
  mtx_init(&c_mutex, mtx_timed);
  GIVES(mtx_lock, "7.26.4.3: free", thrd_success, mtx_lock(&c_mutex));
  GIVES(mtx_trylock, "7.26.4.5: another's", thrd_busy, result_of_c(try_c, &c_mutex));
  struct timespec time;
  GIVES(timespec_get, "7.27.2.5: TIME_UTC", TIME_UTC, timespec_get(&time, TIME_UTC));
  time = in_ms(CLOCK_REALTIME, 2);
  GIVES(mtx_timedlock, "7.26.4.4: the time has passed", thrd_timedout, mtx_timedlock(&c_mutex, &time));
  cnd_init(&c_condition);
  thrd_t thread;
  flag = 0;
  thrd_create(&thread, set_c, NULL);
  while (flag != 6) cnd_wait(&c_condition, &c_mutex);
  GIVES(cnd_wait, "7.26.3.6: until it is broadcast", 6, flag);
  thrd_join(thread, NULL);
  time = in_ms(CLOCK_REALTIME, 2);
  GIVES(cnd_timedwait, "7.26.3.5: the time has passed", thrd_timedout, cnd_timedwait(&c_condition, &c_mutex, &time));
  GIVES(mtx_unlock, "7.26.4.6: one's own", thrd_success, mtx_unlock(&c_mutex));
  mtx_destroy(&c_mutex), cnd_destroy(&c_condition);
  mtx_init(&c_mutex, mtx_plain | mtx_recursive);
  GIVES(mtx_lock, "7.26.4.2: recursive, twice", thrd_success, mtx_lock(&c_mutex) | mtx_lock(&c_mutex));
  count = 0;
  call_once(&c_once, once_only), call_once(&c_once, once_only);
  GIVES(call_once, "7.26.2.1: once", 1, count);
  count = 0;
  GIVES(tss_create, "7.26.6.1: a key", thrd_success, tss_create(&c_key, destroy));
  GIVES(tss_set, "7.26.6.4: each thread has its own", 1, result_of_c(key_c, (void*)9));
  GIVES(tss_create, "7.26.6.1: the destructor has run", 9, count);
  GIVES(tss_get, "7.26.6.3: nothing here", 0, tss_get(c_key));
}

int main(void) {
  futexes();
  raw_threads();
  posix();
  c_threads();
  return 0;
}
