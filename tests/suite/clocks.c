// SPDX-License-Identifier: Apache-2.0
// Checks of clocks and timers, by the manual pages: clock_getres(2), gettimeofday(2), nanosleep(2), clock_nanosleep(2), getitimer(2), timer_create(2),
// timer_settime(2), timer_getoverrun(2), timer_delete(2), times(2), getrusage(2). No check asks how long something takes.
#include "checking.h"

#include <sys/times.h>

static long before(const struct timespec* a, const struct timespec* b) {
  return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec <= b->tv_nsec);
}

static void clocks(void) {
  struct timespec first, second, resolution;
  static const clockid_t all[] = {CLOCK_REALTIME,          CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
                                  CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                  CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME,      CLOCK_TAI};
  int good = 0, forward = 0, fine = 0;
  for (int i = 0; i < 9; i++) {
    good += syscall(SYS_clock_gettime, all[i], &first) == 0;
    forward += syscall(SYS_clock_gettime, all[i], &second) == 0 && before(&first, &second);
    fine += syscall(SYS_clock_getres, all[i], &resolution) == 0 && resolution.tv_sec == 0 && resolution.tv_nsec > 0;
  }
  GIVES(clock_gettime, "nine clocks", 9, good);
  GIVES(clock_gettime, "nine clocks go forward", 9, forward);
  GIVES(clock_getres, "nine clocks", 9, fine);
  FAILS(clock_gettime, "a clock that is unknown", EINVAL, syscall(SYS_clock_gettime, 77, &first));
  FAILS(clock_gettime, "to where nothing can be written", EFAULT, syscall(SYS_clock_gettime, CLOCK_REALTIME, nowhere));
  FAILS(clock_gettime, "the clock of a process that is not there", EINVAL,
        syscall(SYS_clock_gettime, (~kNobody << 3) | 2, &first));
  FAILS(clock_getres, "a clock that is unknown", EINVAL, syscall(SYS_clock_getres, 77, &first));
  FAILS(clock_getres, "to where nothing can be written", EFAULT, syscall(SYS_clock_getres, CLOCK_REALTIME, nowhere));
  GIVES(clock_getres, "nowhere to write to", 0, syscall(SYS_clock_getres, CLOCK_REALTIME, NULL));
  FAILS(clock_settime, "CLOCK_REALTIME, which needs a privilege", EPERM,
        syscall(SYS_clock_settime, CLOCK_REALTIME, &(struct timespec){5, 5}));
  FAILS(clock_settime, "CLOCK_MONOTONIC, which cannot be set", EINVAL,
        syscall(SYS_clock_settime, CLOCK_MONOTONIC, &(struct timespec){5, 5}));
  FAILS(clock_settime, "a clock that is unknown", EINVAL, syscall(SYS_clock_settime, 77, &(struct timespec){5, 5}));
  FAILS(clock_settime, "a time that cannot be read", EFAULT, syscall(SYS_clock_settime, CLOCK_REALTIME, nowhere));
  FAILS(clock_settime, "nanoseconds that are a second", EINVAL,
        syscall(SYS_clock_settime, CLOCK_REALTIME, &(struct timespec){5, 1000000000}));
  struct timeval now;
  struct timezone zone = {7, 7};
  GIVES(gettimeofday, "now", 1,
        syscall(SYS_gettimeofday, &now, &zone) == 0 && now.tv_sec > 1600000000 && now.tv_usec < 1000000);
  GIVES(gettimeofday, "nowhere to write to", 0, syscall(SYS_gettimeofday, NULL, NULL));
  FAILS(gettimeofday, "to where nothing can be written", EFAULT, syscall(SYS_gettimeofday, nowhere, NULL));
  FAILS(gettimeofday, "a zone to where nothing can be written", EFAULT, syscall(SYS_gettimeofday, NULL, nowhere));
  FAILS(settimeofday, "which needs a privilege", EPERM, syscall(SYS_settimeofday, &now, NULL));
  FAILS(settimeofday, "a time that cannot be read", EFAULT, syscall(SYS_settimeofday, nowhere, NULL));
  FAILS(settimeofday, "microseconds that are a second", EINVAL,
        syscall(SYS_settimeofday, &(struct timeval){5, 1000000}, NULL));
  struct tms used;
  GIVES(times, "used", 1, times(&used) != -1 && used.tms_utime >= 0 && used.tms_stime >= 0);
  FAILS(times, "to where nothing can be written", EFAULT, syscall(SYS_times, nowhere));
  struct rusage usage;
  GIVES(getrusage, "RUSAGE_SELF", 0, getrusage(RUSAGE_SELF, &usage));
  GIVES(getrusage, "RUSAGE_THREAD", 0, getrusage(RUSAGE_THREAD, &usage));
  GIVES(getrusage, "RUSAGE_CHILDREN", 0, getrusage(RUSAGE_CHILDREN, &usage));
  FAILS(getrusage, "of somebody that is unknown", EINVAL, getrusage(77, &usage));
  FAILS(getrusage, "to where nothing can be written", EFAULT, getrusage(RUSAGE_SELF, nowhere));
}

static void sleeping(void) {
  struct timespec time = {0, 2000000}, left = {77, 77}, first, second;
  clock_gettime(CLOCK_MONOTONIC, &first);
  GIVES(nanosleep, "a time", 0, syscall(SYS_nanosleep, &time, &left));
  clock_gettime(CLOCK_MONOTONIC, &second);
  GIVES(nanosleep, "at least that time", 1,
        (second.tv_sec - first.tv_sec) * 1000000000 + second.tv_nsec - first.tv_nsec >= 2000000);
  GIVES(nanosleep, "leaves what is left as it was", 77, left.tv_sec);
  FAILS(nanosleep, "a time that cannot be read", EFAULT, syscall(SYS_nanosleep, nowhere, NULL));
  FAILS(nanosleep, "nanoseconds that are a second", EINVAL,
        syscall(SYS_nanosleep, &(struct timespec){0, 1000000000}, NULL));
  FAILS(nanosleep, "a negative time", EINVAL, syscall(SYS_nanosleep, &(struct timespec){-1, 0}, NULL));
  alarms(0);
  FAILS(nanosleep, "a signal", EINTR, syscall(SYS_nanosleep, &(struct timespec){1000, 0}, &left));
  GIVES(nanosleep, "what is left", 1, left.tv_sec > 0 && left.tv_sec <= 1000);
  FAILS(nanosleep, "what is left cannot be written", EFAULT,
        syscall(SYS_nanosleep, &(struct timespec){1000, 0}, nowhere));
  FAILS(clock_nanosleep, "a signal", EINTR,
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){1000, 0}, &left));
  GIVES(clock_nanosleep, "what is left", 1, left.tv_sec > 0 && left.tv_sec <= 1000);
  left.tv_sec = 77;
  clock_gettime(CLOCK_MONOTONIC, &first);
  first.tv_sec += 1000;
  FAILS(clock_nanosleep, "TIMER_ABSTIME and a signal", EINTR,
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &first, &left));
  GIVES(clock_nanosleep, "TIMER_ABSTIME does not say what is left", 77, left.tv_sec);
  no_alarms();
  GIVES(clock_nanosleep, "a time", 0, syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &time, NULL));
  GIVES(clock_nanosleep, "TIMER_ABSTIME that has passed", 0,
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){0, 1}, NULL));
  FAILS(clock_nanosleep, "a clock that is unknown", EINVAL, syscall(SYS_clock_nanosleep, 77, 0, &time, NULL));
  FAILS(clock_nanosleep, "the clock of the thread", EOPNOTSUPP,
        syscall(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &time, NULL));
  FAILS(clock_nanosleep, "a clock with which one cannot sleep", EOPNOTSUPP,
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC_RAW, 0, &time, NULL));
  FAILS(clock_nanosleep, "a time that cannot be read", EFAULT,
        syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, nowhere, NULL));
  FAILS(clock_nanosleep, "nanoseconds that are a second", EINVAL,
        syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &(struct timespec){0, 1000000000}, NULL));
}

static void interval_timers(void) {
  struct itimerval time = {{7, 0}, {9000, 0}}, got;
  on_signal(SIGALRM, 0);
  GIVES(setitimer, "ITIMER_REAL", 0, setitimer(ITIMER_REAL, &time, NULL));
  GIVES(getitimer, "its interval", 7, getitimer(ITIMER_REAL, &got) == 0 ? got.it_interval.tv_sec : -1);
  GIVES(getitimer, "the time that is left", 1, got.it_value.tv_sec > 8000 && got.it_value.tv_sec <= 9000);
  time = (struct itimerval){{0, 0}, {0, 1000}};
  GIVES(setitimer, "what was set before", 7, setitimer(ITIMER_REAL, &time, &got) == 0 ? got.it_interval.tv_sec : -1);
  while (runs == 0) nap(1);
  GIVES(setitimer, "a SIGALRM", SIGALRM, last_signal);
  GIVES(getitimer, "one that has expired", 0,
        getitimer(ITIMER_REAL, &got) == 0 ? got.it_value.tv_sec + got.it_value.tv_usec : -1);
  on_signal(SIGVTALRM, 0);
  setitimer(ITIMER_VIRTUAL, &time, NULL);
  while (runs == 0) {
  }
  GIVES(setitimer, "ITIMER_VIRTUAL has SIGVTALRM", SIGVTALRM, last_signal);
  on_signal(SIGPROF, 0);
  setitimer(ITIMER_PROF, &time, NULL);
  while (runs == 0) {
  }
  GIVES(setitimer, "ITIMER_PROF has SIGPROF", SIGPROF, last_signal);
  FAILS(setitimer, "a timer that is unknown", EINVAL, setitimer(77, &time, NULL));
  FAILS(setitimer, "microseconds that are a second", EINVAL,
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 1000000}}, NULL));
  FAILS(setitimer, "a time that cannot be read", EFAULT, setitimer(ITIMER_REAL, nowhere, NULL));
  FAILS(setitimer, "a time before that cannot be written", EFAULT,
        setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, nowhere));
  FAILS(getitimer, "a timer that is unknown", EINVAL, getitimer(77, &got));
  FAILS(getitimer, "to where nothing can be written", EFAULT, getitimer(ITIMER_REAL, nowhere));
}

static volatile int codes, values, overruns;
static void note(int signal, siginfo_t* information, void* context) {
  (void)signal, (void)context;
  codes = information->si_code;
  values = information->si_value.sival_int;
  if (runs == 0) overruns = information->si_overrun;
  runs++;
}
static void timers(void) {
  struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 4711};
  struct itimerspec time = {{7, 0}, {9000, 0}}, got;
  int timer = -1, second = -1;
  GIVES(timer_create, "with a signal", 0, syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
  GIVES(timer_create, "with SIGALRM, if nothing is said", 0, syscall(SYS_timer_create, CLOCK_REALTIME, NULL, &second));
  GIVES(timer_create, "a second has another number", 1, timer != second);
  GIVES(timer_gettime, "one that is not set", 0,
        syscall(SYS_timer_gettime, timer, &got) == 0 ? got.it_value.tv_sec : -1);
  GIVES(timer_settime, "a time", 0, syscall(SYS_timer_settime, timer, 0, &time, NULL));
  GIVES(timer_gettime, "its interval", 7, syscall(SYS_timer_gettime, timer, &got) == 0 ? got.it_interval.tv_sec : -1);
  GIVES(timer_gettime, "the time that is left", 1, got.it_value.tv_sec > 8000 && got.it_value.tv_sec <= 9000);
  runs = 0;
  time = (struct itimerspec){{0, 0}, {0, 1000000}};
  GIVES(timer_settime, "what was set before", 7,
        syscall(SYS_timer_settime, timer, 0, &time, &got) == 0 ? got.it_interval.tv_sec : -1);
  while (runs == 0) nap(1);
  GIVES(timer_settime, "SI_TIMER", SI_TIMER, codes);
  GIVES(timer_settime, "the value of the event", 4711, values);
  GIVES(timer_getoverrun, "none", 0, syscall(SYS_timer_getoverrun, timer));
  runs = 0;
  time = (struct itimerspec){{0, 0}, {0, 1}};
  GIVES(timer_settime, "TIMER_ABSTIME that has passed", 0,
        syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &time, NULL));
  while (runs == 0) nap(1);
  sigset_t set, old;
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  runs = 0;
  time = (struct itimerspec){{0, 100000}, {0, 100000}};
  syscall(SYS_timer_settime, timer, 0, &time, NULL);
  nap(3);
  sigprocmask(SIG_SETMASK, &old, NULL);
  while (runs == 0) nap(1);
  GIVES(timer_getoverrun, "a signal that was blocked has overruns", 1, overruns > 10);
  GIVES(timer_delete, "a timer", 0, syscall(SYS_timer_delete, timer));
  FAILS(timer_delete, "twice", EINVAL, syscall(SYS_timer_delete, timer));
  FAILS(timer_gettime, "a timer that has been deleted", EINVAL, syscall(SYS_timer_gettime, timer, &got));
  FAILS(timer_getoverrun, "a timer that has been deleted", EINVAL, syscall(SYS_timer_getoverrun, timer));
  FAILS(timer_settime, "a timer that has been deleted", EINVAL, syscall(SYS_timer_settime, timer, 0, &time, NULL));
  FAILS(timer_settime, "nanoseconds that are a second", EINVAL,
        syscall(SYS_timer_settime, second, 0, &(struct itimerspec){{0, 0}, {0, 1000000000}}, NULL));
  FAILS(timer_settime, "no time", EINVAL, syscall(SYS_timer_settime, second, 0, NULL, NULL));
  FAILS(timer_settime, "a time that cannot be read", EFAULT, syscall(SYS_timer_settime, second, 0, nowhere, NULL));
  FAILS(timer_settime, "a time before that cannot be written", EFAULT,
        syscall(SYS_timer_settime, second, 0, &(struct itimerspec){{0, 0}, {0, 0}}, nowhere));
  FAILS(timer_gettime, "to where nothing can be written", EFAULT, syscall(SYS_timer_gettime, second, nowhere));
  FAILS(timer_create, "a clock that is unknown", EINVAL, syscall(SYS_timer_create, 77, &event, &timer));
  FAILS(timer_create, "a clock that has no timers", EOPNOTSUPP,
        syscall(SYS_timer_create, CLOCK_MONOTONIC_RAW, &event, &timer));
  FAILS(timer_create, "a number that cannot be written", EFAULT,
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, nowhere));
  FAILS(timer_create, "an event that cannot be read", EFAULT,
        syscall(SYS_timer_create, CLOCK_MONOTONIC, nowhere, &timer));
  event.sigev_signo = 77;
  FAILS(timer_create, "a signal that is unknown", EINVAL, syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
  event.sigev_notify = 77;
  FAILS(timer_create, "a way to notify that is unknown", EINVAL,
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
  syscall(SYS_timer_delete, second);
}

int main(void) {
  clocks();
  sleeping();
  interval_timers();
  timers();
  return 0;
}
