// SPDX-License-Identifier: Apache-2.0
// A stress of what POSIX gives threads: mutexes of all kinds, condition variables, barriers, read-write locks, semaphores, spin locks,
// atomics by exclusives and by LSE, thread-local storage, once, keys, cancellation, signals. What it prints does not depend on
// the order in which threads run.
//   stress [ROUNDS]
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
static int rounds = 200;
static pthread_t threads[THREADS];
static void each(void* (*run)(void*)) {
  for (long i = 0; i < THREADS; i++) {
    const int failed = pthread_create(&threads[i], NULL, run, (void*)i);
    if (failed) {
      printf("pthread_create: %s\n", strerrorname_np(failed));
      exit(9);
    }
  }
}
static long join_all(void) {
  long sum = 0;
  for (int i = 0; i < THREADS; i++) {
    void* result;
    if (pthread_join(threads[i], &result)) exit(8);
    sum += (long)result;
  }
  return sum;
}

// ---- mutexes

static pthread_mutex_t mutex;
static volatile long counter;
static int is_recursive;
static void* count_with_mutex(void* argument) {
  (void)argument;
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&mutex);
    if (is_recursive) pthread_mutex_lock(&mutex);
    const long seen = counter;
    for (volatile int spin = 0; spin < 20; spin++) {
    }
    counter = seen + 1;
    if (i % 16 == 0) sched_yield();
    if (is_recursive) pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}
static void* die_with_mutex(void* argument) {
  pthread_mutex_lock(&mutex);
  return argument;
}
static void* recover(void* argument) {
  (void)argument;
  const int error = pthread_mutex_lock(&mutex);
  if (error == EOWNERDEAD) pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  return (void*)(long)(error == EOWNERDEAD);
}
static void mutexes(void) {
  static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                              PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int protocol = 0; protocol < 2; protocol++) {
    for (int robust = 0; robust < 2; robust++) {
      for (int kind = 0; kind < 4; kind++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, kinds[kind]);
        pthread_mutexattr_setrobust(&attributes, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
        pthread_mutexattr_setprotocol(&attributes, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
        pthread_mutex_init(&mutex, &attributes);
        counter = 0;
        is_recursive = kinds[kind] == PTHREAD_MUTEX_RECURSIVE;
        each(count_with_mutex);
        join_all();
        printf("mutex %d %d %d: %ld", protocol, robust, kind, counter);
        pthread_mutex_lock(&mutex);
        const int again = kinds[kind] == PTHREAD_MUTEX_NORMAL || kinds[kind] == PTHREAD_MUTEX_ADAPTIVE_NP
                              ? pthread_mutex_trylock(&mutex)
                              : pthread_mutex_lock(&mutex);
        printf(", again %s", again ? strerrorname_np(again) : "0");
        if (again == 0) pthread_mutex_unlock(&mutex);
        pthread_mutex_unlock(&mutex);
        if (robust) {
          pthread_t thread;
          pthread_create(&thread, NULL, die_with_mutex, NULL);
          pthread_join(thread, NULL);
          each(recover);
          printf(", owner died %ld times", join_all());
        }
        printf(", destroyed %d\n", pthread_mutex_destroy(&mutex));
      }
    }
  }
  struct timespec when;
  pthread_mutex_init(&mutex, NULL);
  pthread_mutex_lock(&mutex);
  clock_gettime(CLOCK_REALTIME, &when);
  printf("timedlock: %s\n", strerrorname_np(pthread_mutex_timedlock(&mutex, &when)));
  when.tv_nsec = (when.tv_nsec + 1000000) % 1000000000, when.tv_sec += when.tv_nsec < 1000000;
  printf("timedlock: %s\n", strerrorname_np(pthread_mutex_timedlock(&mutex, &when)));
  pthread_mutex_unlock(&mutex);
}

// ---- condition variables: a bounded queue

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queue[5], queued, head_of_queue;
static void* produce_or_consume(void* argument) {
  const long self = (long)argument;
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&queue_mutex);
    if (self < THREADS / 2) {
      while (queued == 5) pthread_cond_wait(&not_full, &queue_mutex);
      queue[(head_of_queue + queued++) % 5] = (int)self * rounds + i;
      pthread_cond_signal(&not_empty);
    } else {
      while (queued == 0) pthread_cond_wait(&not_empty, &queue_mutex);
      sum += queue[head_of_queue];
      head_of_queue = (head_of_queue + 1) % 5;
      queued--;
      if (i % 2) pthread_cond_broadcast(&not_full);
      else pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&queue_mutex);
  }
  return (void*)sum;
}

// ---- barriers, read-write locks, semaphores, spin locks

static pthread_barrier_t barrier;
static int grid[2][THREADS];
static void* in_step(void* argument) {
  const long self = (long)argument;
  long serial = 0;
  for (int i = 0; i < rounds; i++) {
    const int* const from = grid[i % 2];
    grid[1 - i % 2][self] = from[self] + from[(self + 1) % THREADS] * 3 + i;
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  return (void*)serial;
}
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static volatile long left_half, right_half;
static void* read_or_write(void* argument) {
  const long self = (long)argument;
  long torn = 0;
  for (int i = 0; i < rounds; i++) {
    if ((i + self) % 4 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      left_half++;
      if (i % 8 == 0) sched_yield();
      right_half++;
      pthread_rwlock_unlock(&rwlock);
    } else {
      pthread_rwlock_rdlock(&rwlock);
      torn += left_half != right_half;
      pthread_rwlock_unlock(&rwlock);
    }
  }
  return (void*)torn;
}
static sem_t semaphore;
static _Atomic int inside, most_inside;
static void* through_semaphore(void* argument) {
  for (int i = 0; i < rounds; i++) {
    sem_wait(&semaphore);
    const int now = ++inside;
    if (now > 3) most_inside = now;
    if (i % 8 == 0) sched_yield();
    inside--;
    sem_post(&semaphore);
  }
  return argument;
}
static pthread_spinlock_t spinlock;
static void* count_with_spinlock(void* argument) {
  for (int i = 0; i < rounds * 10; i++) {
    pthread_spin_lock(&spinlock);
    counter = counter + 1;
    pthread_spin_unlock(&spinlock);
  }
  return argument;
}

// ---- atomics

static _Atomic uint64_t sums[4];
static uint64_t pair[2] __attribute__((aligned(16)));
static void* add_atomically(void* argument) {
  const uint64_t self = (uint64_t)argument;
  for (int i = 0; i < rounds * 50; i++) {
    sums[0]++;
    atomic_fetch_xor(&sums[1], (self + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i);
    uint64_t old = sums[2];
    while (!atomic_compare_exchange_weak(&sums[2], &old, old * 3 % 1000003 + old / 1000003 + 1)) {
    }
#if defined(__aarch64__)
    // A pair by exclusives, and a sum by LSE.
    uint64_t low, high, failed;
    do {
      __asm__ volatile(
          "ldaxp %0, %1, [%3]\nadd %0, %0, #1\nadd %1, %1, %0, lsr #63\nsub %1, %1, #1\nstlxp %w2, %0, %1, [%3]"
          : "=&r"(low), "=&r"(high), "=&r"(failed)
          : "r"(pair)
          : "memory");
    } while (failed);
    __asm__ volatile(".arch armv8.1-a\nstadd %0, [%1]" ::"r"(self + 1), "r"(&sums[3]) : "memory");
#else
    uint64_t low = pair[0], high = pair[1];
    (void)low, (void)high;
    __atomic_fetch_add(&pair[0], 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(&pair[1], 1, __ATOMIC_SEQ_CST);
    sums[3] += self + 1;
#endif
  }
  return NULL;
}

// ---- storage, once, keys

static _Thread_local long own_value;
static _Thread_local char own_bytes[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int onces, destroyed;
static pthread_key_t keys[3];
static void run_once(void) {
  onces++;
  sched_yield();
}
static void destroy(void* value) { destroyed += (int)(long)value; }
static void* use_storage(void* argument) {
  const long self = (long)argument;
  long bad = 0;
  own_value = self;
  memset(own_bytes, (int)self, sizeof own_bytes);
  for (int i = 0; i < 3; i++) pthread_setspecific(keys[i], (void*)(self + 1));
  for (int i = 0; i < rounds; i++) {
    pthread_once(&once, run_once);
    sched_yield();
    own_value++;
    bad += own_value != self + i + 1 || own_bytes[i % 300] != self ||
           pthread_getspecific(keys[i % 3]) != (void*)(self + 1);
    errno = (int)self;
    sched_yield();
    bad += errno != self;
    free(malloc((size_t)(i * 37 % 5000 + self)));
  }
  return (void*)bad;
}

// ---- cancellation and signals

static _Atomic int cleaned;
static void clean(void* argument) { cleaned += (int)(long)argument; }
static void* be_cancelled(void* argument) {
  const long self = (long)argument;
  pthread_cleanup_push(clean, (void*)(self + 1));
  if (self % 4 == 0) pause();
  if (self % 4 == 1) {
    pthread_mutex_lock(&queue_mutex);
    pthread_cleanup_push((void (*)(void*))pthread_mutex_unlock, &queue_mutex);
    for (;;) pthread_cond_wait(&not_empty, &queue_mutex);
    pthread_cleanup_pop(0);
  }
  if (self % 4 == 2) sem_wait(&semaphore);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (volatile long i = 0;; i++) {
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static _Atomic int caught[THREADS];
static _Thread_local long index_of_thread;
static void catch_signal(int signal) {
  (void)signal;
  caught[index_of_thread]++;
}
static _Atomic int ready_threads, stop;
static void* be_signalled(void* argument) {
  index_of_thread = (long)argument;
  ready_threads++;
  while (!stop) {
    if (index_of_thread % 2) sched_yield();
    else nanosleep(&(struct timespec){0, 100000}, NULL);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  mutexes();
  each(produce_or_consume);
  const long taken = join_all();
  printf("queue: %ld, %d left\n", taken, queued);
  pthread_barrier_init(&barrier, NULL, THREADS);
  each(in_step);
  const long serials = join_all();
  unsigned sum = 0;
  for (int i = 0; i < THREADS; i++) sum = sum * 31 + (unsigned)grid[0][i];
  printf("barrier: %ld, %u\n", serials, sum);
  each(read_or_write);
  const long torn = join_all();
  printf("rwlock: %ld torn, %ld %ld\n", torn, left_half, right_half);
  sem_init(&semaphore, 0, 3);
  each(through_semaphore);
  join_all();
  printf("semaphore: %d inside, %d at once\n", inside, most_inside);
  pthread_spin_init(&spinlock, 0);
  counter = 0;
  each(count_with_spinlock);
  join_all();
  printf("spinlock: %ld\n", counter);
  each(add_atomically);
  join_all();
  printf("atomics: %lu %lx %d %lu, %ld %ld\n", (unsigned long)sums[0], (unsigned long)sums[1], sums[2] != 0,
         (unsigned long)sums[3], (long)pair[0], (long)pair[1]);
  for (int i = 0; i < 3; i++) pthread_key_create(&keys[i], i < 2 ? destroy : NULL);
  each(use_storage);
  const long bad = join_all();
  printf("storage: %ld bad, once %d, destroyed %d\n", bad, onces, destroyed);
  for (int i = 0; i < 3; i++) sem_wait(&semaphore);
  each(be_cancelled);
  nanosleep(&(struct timespec){0, 5000000}, NULL);
  long cancelled = 0;
  for (int i = 0; i < THREADS; i++) pthread_cancel(threads[i]);
  for (int i = 0; i < THREADS; i++) {
    void* result;
    pthread_join(threads[i], &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("cancelled: %ld, cleaned %d\n", cancelled, cleaned);
  struct sigaction action = {.sa_handler = catch_signal};
  sigaction(SIGUSR1, &action, NULL);
  each(be_signalled);
  while (ready_threads < THREADS) sched_yield();
  for (int i = 0; i < rounds; i++) {
    const int target = i % THREADS, before = caught[target];
    pthread_kill(threads[target], SIGUSR1);
    while (caught[target] == before) sched_yield();
  }
  stop = 1;
  join_all();
  int all = 0;
  for (int i = 0; i < THREADS; i++) all += caught[i];
  printf("signals: %d\n", all);
  return 0;
}
