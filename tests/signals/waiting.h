// SPDX-License-Identifier: Apache-2.0
// Checks of signals.c: calls that wait, and timers.
#pragma once

#include "noting.h"

// ---- calls that wait

static void waits(void) {
  struct timespec sleep = {0, 50 * 1000 * 1000}, left = {0, 0}, none = {0, 0};
  sigset_t mask, empty, pending;
  sigemptyset(&empty);
  set(SIGALRM, note, 0, NULL);
  for (int restarts = 0; restarts < 2; restarts++) {
    set(SIGALRM, note, restarts ? SA_RESTART : 0, NULL);
    clear();
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(nanosleep(&sleep, &left));
    SHOW(left.tv_sec == 0 && left.tv_nsec > 0 && left.tv_nsec < sleep.tv_nsec);
    SHOW(runs);
    set_timer(ITIMER_REAL, 2000, 0);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, &left));
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 5;
    set_timer(ITIMER_REAL, 2000, 0);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(pause());
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(poll(NULL, 0, 1000));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(select(0, NULL, NULL, NULL, &(struct timeval){1, 0}));
    struct timespec second = {1, 0};
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(syscall(SYS_ppoll, NULL, 0, &second, NULL, 8));
    SHOW(second.tv_sec == 0 && second.tv_nsec > 0);
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(sigsuspend(&empty));
    set_timer(ITIMER_REAL, 2000, 0);
    mask_of(&mask, SIGNALS(SIGUSR1));
    CHECK(sigwaitinfo(&mask, NULL));
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(sigtimedwait(&mask, NULL, &sleep));
    int word = 5;
    struct timespec limit = {1, 0};
    set_timer(ITIMER_REAL, 2000, 0);
    CHECK(syscall(SYS_futex, &word, 0, 5, &limit, NULL, 0));
    SHOW(runs);
  }
  // Ignored or blocked signals end no wait.
  struct timespec short_sleep = {0, 6000000};
  set(SIGALRM, SIG_IGN, 0, NULL);
  set_timer(ITIMER_REAL, 1000, 0);
  CHECK(nanosleep(&short_sleep, NULL));
  clear();
  set(SIGALRM, note, 0, NULL);
  block(SIGNALS(SIGALRM));
  set_timer(ITIMER_REAL, 1000, 0);
  CHECK(nanosleep(&short_sleep, NULL));
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  CHECK(sigsuspend(&empty));
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGALRM));  // the mask is what it was

  // A mask for the time of the call.
  clear();
  raise(SIGALRM);
  CHECK(ppoll(NULL, 0, &short_sleep, &empty));
  SHOW(runs);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  SHOW(sigismember(&mask, SIGALRM));
  raise(SIGALRM);
  CHECK(pselect(0, NULL, NULL, NULL, &short_sleep, &empty));
  SHOW(runs);
  raise(SIGALRM);
  CHECK(ppoll(NULL, 0, &none, &empty));
  SHOW(runs);
  raise(SIGALRM);
  struct pollfd out = {1, POLLOUT, 0};
  CHECK(ppoll(&out, 1, &short_sleep, &empty));  // ready: no signal is looked for
  SHOW(runs);
  SHOW(is_pending(SIGALRM));
  CHECK(ppoll(NULL, 0, &short_sleep, NULL));
  SHOW(is_pending(SIGALRM));
  unblock(SIGNALS(SIGALRM));
  SHOW(runs);
  CHECK(syscall(SYS_rt_sigsuspend, &empty, 4));
  CHECK(syscall(SYS_rt_sigsuspend, nowhere, 8));

  // sigtimedwait()
  siginfo_t information;
  block(SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
  mask_of(&mask, SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
  CHECK(sigtimedwait(&mask, &information, &none));
  CHECK(sigtimedwait(&mask, &information, &short_sleep));
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){0, -1}));
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){0, 1000000000}));
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, NULL, &none, 4));
  CHECK(syscall(SYS_rt_sigtimedwait, nowhere, NULL, &none, 8));
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, NULL, nowhere, 8));
  clear();
  raise(SIGUSR2);
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
  CHECK(sigtimedwait(&mask, &information, &none));
  SHOW(information.si_code);
  SHOW(information.si_signo);
  CHECK(sigtimedwait(&mask, &information, &none));
  SHOW(information.si_value.sival_int);
  raise(SIGUSR1);
  CHECK(syscall(SYS_rt_sigtimedwait, &mask, nowhere, &none, 8));
  SHOW(is_pending(SIGUSR1));  // it is taken nevertheless
  set_timer(ITIMER_REAL, 2000, 0);
  CHECK(sigtimedwait(&mask, &information, &(struct timespec){5, 0}));
  SHOW(information.si_code == SI_KERNEL);
  set_timer(ITIMER_REAL, 2000, 0);
  int taken = 0;
  SHOW(sigwait(&mask, &taken));
  SHOW(taken);
  SHOW(runs);
  sigpending(&pending);
  SHOW(sigisemptyset(&pending));
  unblock(SIGNALS(SIGUSR1, SIGUSR2, SIGALRM));
}

// ---- timers

static void timers(void) {
  struct itimerval timer, old;
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
  CHECK(getitimer(3, &timer));
  CHECK(getitimer(ITIMER_REAL, nowhere));
  CHECK(getitimer(3, nowhere));
  CHECK(setitimer(ITIMER_REAL, nowhere, NULL));
  CHECK(syscall(SYS_setitimer, 3, &timer, NULL));
  CHECK(syscall(SYS_setitimer, 3, nowhere, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 1000000}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, -1}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{-1, 0}, {0, 1}}, NULL));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{3, 4}, {100, 5}}, nowhere));
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{7, 8}, {50, 0}}, &old));
  SHOW(old.it_interval.tv_sec * 10 + old.it_interval.tv_usec);
  SHOW(old.it_value.tv_sec == 99 || (old.it_value.tv_sec == 100 && old.it_value.tv_usec <= 5));
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_interval.tv_sec * 10 + timer.it_interval.tv_usec);
  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{7, 8}, {0, 0}}, NULL));
  CHECK(getitimer(ITIMER_REAL, &timer));
  SHOW(timer.it_interval.tv_sec + timer.it_value.tv_sec + timer.it_value.tv_usec);
  CHECK(alarm(10));
  CHECK(alarm(20) >= 9);
  CHECK(alarm(0) >= 19);
  CHECK(alarm(0));

  set_information(SIGALRM, note_information, 0);
  clear();
  set_timer(ITIMER_REAL, 1000, 1000);
  while (runs < 5) pause();
  getitimer(ITIMER_REAL, &timer);
  SHOW(timer.it_interval.tv_usec);
  SHOW(timer.it_value.tv_usec > 0 && timer.it_value.tv_usec <= 1000);
  set_timer(ITIMER_REAL, 0, 0);
  clear();
  set_timer(ITIMER_REAL, 1000, 0);
  for (volatile int i = 0; runs == 0; i++) {
  }  // without a call
  SHOW(runs);
  // While its signal waits, a timer does not expire again.
  clear();
  block(SIGNALS(SIGALRM));
  set_timer(ITIMER_REAL, 1000, 1000);
  nanosleep(&(struct timespec){0, 10000000}, NULL);
  getitimer(ITIMER_REAL, &timer);
  SHOW(timer.it_value.tv_sec + timer.it_value.tv_usec);
  SHOW(timer.it_interval.tv_usec);
  set_timer(ITIMER_REAL, 0, 0);
  unblock(SIGNALS(SIGALRM));
  SHOW(runs);
  set_information(SIGVTALRM, note_information, 0);
  set_information(SIGPROF, note_information, 0);
  clear();
  set_timer(ITIMER_VIRTUAL, 1000, 0);
  for (volatile int i = 0; runs == 0; i++) {
  }
  SHOW(order[0] == SIGVTALRM);
  SHOW(last_code == SI_KERNEL);
  clear();
  set_timer(ITIMER_PROF, 1000, 1000);
  for (volatile int i = 0; runs < 3; i++) {
  }
  set_timer(ITIMER_PROF, 0, 0);
  SHOW(order[2] == SIGPROF);
  CHECK(getitimer(ITIMER_PROF, &timer));
  SHOW(timer.it_interval.tv_usec + timer.it_value.tv_usec);
  clear();
  set_timer(ITIMER_VIRTUAL, 1000000, 0);  // does not count sleep
  nanosleep(&(struct timespec){0, 3000000}, NULL);
  getitimer(ITIMER_VIRTUAL, &timer);
  SHOW(timer.it_value.tv_sec != 0 || timer.it_value.tv_usec > 900000);
  set_timer(ITIMER_VIRTUAL, 0, 0);
  SHOW(runs);
}
