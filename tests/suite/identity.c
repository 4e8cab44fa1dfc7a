// SPDX-License-Identifier: Apache-2.0
// Checks of who a process is and what it may have, by the manual pages: getpid(2), setuid(2) and its relatives, getgroups(2), setpgid(2), setsid(2),
// getrlimit(2), prctl(2), capget(2), personality(2), uname(2), sethostname(2), sysinfo(2), sched_setscheduler(2) and its relatives, getpriority(2),
// getcpu(2), getrandom(2), membarrier(2), rseq(2). A process is user 1000 and group 1000, without privileges, and leads its session.
#include "checking.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)
static char text[1000];

static void ids(void) {
  uid_t ids[3] = {7, 7, 7};
  gid_t groups[4];
  GIVES(getpid, "that of the thread, too", 1, getpid() == syscall(SYS_gettid));
  GIVES(gettid, "always the same", 1, syscall(SYS_gettid) == syscall(SYS_gettid));
  GIVES(getppid, "there is one", 1, syscall(SYS_getppid) >= 0);
  GIVES(getuid, "the user", 1000, syscall(SYS_getuid));
  GIVES(geteuid, "the user", 1000, syscall(SYS_geteuid));
  GIVES(getgid, "the group", 1000, syscall(SYS_getgid));
  GIVES(getegid, "the group", 1000, syscall(SYS_getegid));
  GIVES(getresuid, "three ids", 3000, CALL(getresuid, ids, ids + 1, ids + 2) == 0 ? ids[0] + ids[1] + ids[2] : 0);
  GIVES(getresgid, "three ids", 3000, CALL(getresgid, ids, ids + 1, ids + 2) == 0 ? ids[0] + ids[1] + ids[2] : 0);
  FAILS(getresuid, "to where nothing can be written", EFAULT, CALL(getresuid, ids, ids, nowhere));
  FAILS(getresgid, "to where nothing can be written", EFAULT, CALL(getresgid, ids, ids, nowhere));
  GIVES(setuid, "to oneself", 0, CALL(setuid, 1000));
  FAILS(setuid, "to another", EPERM, CALL(setuid, 0));
  FAILS(setuid, "to none", EINVAL, CALL(setuid, -1));
  GIVES(setgid, "to one's own", 0, CALL(setgid, 1000));
  FAILS(setgid, "to another", EPERM, CALL(setgid, 0));
  FAILS(setgid, "to none", EINVAL, CALL(setgid, -1));
  GIVES(setreuid, "no change", 0, CALL(setreuid, -1, -1));
  GIVES(setreuid, "to oneself", 0, CALL(setreuid, 1000, 1000));
  FAILS(setreuid, "to another", EPERM, CALL(setreuid, 1000, 0));
  GIVES(setregid, "no change", 0, CALL(setregid, -1, -1));
  FAILS(setregid, "to another", EPERM, CALL(setregid, 0, -1));
  GIVES(setresuid, "to oneself", 0, CALL(setresuid, 1000, -1, 1000));
  FAILS(setresuid, "to another", EPERM, CALL(setresuid, -1, -1, 0));
  GIVES(setresgid, "to one's own", 0, CALL(setresgid, 1000, -1, 1000));
  FAILS(setresgid, "to another", EPERM, CALL(setresgid, -1, -1, 0));
  GIVES(setfsuid, "the one before", 1000, CALL(setfsuid, 1000));
  GIVES(setfsuid, "to another: the one before", 1000, CALL(setfsuid, 0));
  GIVES(setfsuid, "to another: no change", 1000, CALL(setfsuid, -1));
  GIVES(setfsgid, "the one before", 1000, CALL(setfsgid, 1000));
  GIVES(setfsgid, "to another: no change", 1000, (CALL(setfsgid, 0), CALL(setfsgid, -1)));
  GIVES(getgroups, "how many", 0, CALL(getgroups, 0, NULL));
  GIVES(getgroups, "none", 0, CALL(getgroups, 4, groups));
  FAILS(getgroups, "a negative count", EINVAL, CALL(getgroups, -1, groups));
  FAILS(setgroups, "which needs a privilege", EPERM, CALL(setgroups, 0, NULL));
  GIVES(getpgid, "it leads its group", 1, CALL(getpgid, 0) == getpid());
  GIVES(getpgid, "by its number", 1, CALL(getpgid, getpid()) == getpid());
  FAILS(getpgid, "of nobody", ESRCH, CALL(getpgid, kNobody));
  GIVES(getsid, "it leads its session", 1, CALL(getsid, 0) == getpid());
  FAILS(getsid, "of nobody", ESRCH, CALL(getsid, kNobody));
  FAILS(setsid, "who leads a group", EPERM, syscall(SYS_setsid));
  FAILS(setpgid, "who leads a session", EPERM, CALL(setpgid, 0, 0));
  FAILS(setpgid, "a negative group", EINVAL, CALL(setpgid, 0, -1));
  FAILS(setpgid, "of nobody", ESRCH, CALL(setpgid, kNobody, 0));
  FAILS(setpgid, "of who is no child", ESRCH, CALL(setpgid, 1, 0));
}

static void limits(void) {
  struct rlimit limit, both[2];
  GIVES(getrlimit, "RLIMIT_NOFILE", 0, CALL(getrlimit, RLIMIT_NOFILE, &limit));
  GIVES(setrlimit, "lower", 0, CALL(setrlimit, RLIMIT_NOFILE, &(struct rlimit){100, 1000}));
  GIVES(getrlimit, "what was set", 1100,
        CALL(getrlimit, RLIMIT_NOFILE, &limit) == 0 ? (long)(limit.rlim_cur + limit.rlim_max) : -1);
  GIVES(setrlimit, "up to the hard limit", 0, CALL(setrlimit, RLIMIT_NOFILE, &(struct rlimit){1000, 1000}));
  FAILS(setrlimit, "a higher hard limit", EPERM, CALL(setrlimit, RLIMIT_NOFILE, &(struct rlimit){100, 1001}));
  FAILS(setrlimit, "a soft limit above the hard one", EINVAL,
        CALL(setrlimit, RLIMIT_NOFILE, &(struct rlimit){1000, 999}));
  FAILS(setrlimit, "a resource that is unknown", EINVAL, CALL(setrlimit, 77, &limit));
  FAILS(setrlimit, "a limit that cannot be read", EFAULT, CALL(setrlimit, RLIMIT_NOFILE, nowhere));
  FAILS(getrlimit, "a resource that is unknown", EINVAL, CALL(getrlimit, 77, &limit));
  FAILS(getrlimit, "to where nothing can be written", EFAULT, CALL(getrlimit, RLIMIT_NOFILE, nowhere));
  GIVES(prlimit64, "one's own", 0, CALL(prlimit64, 0, RLIMIT_CORE, &(struct rlimit){0, 0}, both));
  GIVES(prlimit64, "what was set", 0,
        CALL(prlimit64, getpid(), RLIMIT_CORE, NULL, both) == 0 ? (long)(both[0].rlim_cur + both[0].rlim_max) : -1);
  FAILS(prlimit64, "a higher hard limit", EPERM, CALL(prlimit64, 0, RLIMIT_CORE, &(struct rlimit){0, 5}, NULL));
  FAILS(prlimit64, "a soft limit above the hard one", EINVAL,
        CALL(prlimit64, 0, RLIMIT_CORE, &(struct rlimit){5, 0}, NULL));
  FAILS(prlimit64, "a resource that is unknown", EINVAL, CALL(prlimit64, 0, 77, NULL, both));
  FAILS(prlimit64, "to where nothing can be written", EFAULT, CALL(prlimit64, 0, RLIMIT_CORE, NULL, nowhere));
  FAILS(prlimit64, "a limit that cannot be read", EFAULT, CALL(prlimit64, 0, RLIMIT_CORE, nowhere, NULL));
  FAILS(prlimit64, "of nobody", ESRCH, CALL(prlimit64, kNobody, RLIMIT_CORE, NULL, both));
}

static void processes_own(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{7, 7, 7}, {7, 7, 7}};
  GIVES(capget, "no capability", 0,
        CALL(capget, &header, data) == 0
            ? (long)(data[0].effective | data[0].permitted | data[1].effective | data[1].permitted)
            : -1);
  GIVES(capset, "none", 0, CALL(capset, &header, data));
  data[0].effective = data[0].permitted = 1;
  FAILS(capset, "one that it has not", EPERM, CALL(capset, &header, data));
  FAILS(capset, "data that cannot be read", EFAULT, CALL(capset, &header, nowhere));
  header.pid = kNobody;
  FAILS(capget, "of nobody", ESRCH, CALL(capget, &header, data));
  FAILS(capset, "of another", EPERM, CALL(capset, &header, data));
  header.pid = -1;
  FAILS(capget, "of a negative process", EINVAL, CALL(capget, &header, data));
  header = (struct __user_cap_header_struct){77, 0};
  FAILS(capget, "a version that is unknown", EINVAL, CALL(capget, &header, data));
  GIVES(capget, "the version that it knows", _LINUX_CAPABILITY_VERSION_3, header.version);
  header.version = 77;
  FAILS(capset, "a version that is unknown", EINVAL, CALL(capset, &header, data));
  FAILS(capget, "a header that cannot be read", EFAULT, CALL(capget, nowhere, data));
  FAILS(capset, "a header that cannot be read", EFAULT, CALL(capset, nowhere, data));
  GIVES(personality, "what it is", 0, CALL(personality, 0xffffffff));
  GIVES(personality, "another: what it was", 0, CALL(personality, ADDR_NO_RANDOMIZE));
  GIVES(personality, "the other", ADDR_NO_RANDOMIZE, CALL(personality, 0));
  // prctl
  GIVES(prctl, "PR_SET_NAME", 0, prctl(PR_SET_NAME, "a name that is too long"));
  GIVES(prctl, "PR_GET_NAME", 0, prctl(PR_GET_NAME, text) == 0 ? strcmp(text, "a name that is ") : -1);
  FAILS(prctl, "PR_SET_NAME of what cannot be read", EFAULT, prctl(PR_SET_NAME, nowhere));
  FAILS(prctl, "PR_GET_NAME to where nothing can be written", EFAULT, prctl(PR_GET_NAME, nowhere));
  GIVES(prctl, "PR_GET_DUMPABLE", 0, prctl(PR_SET_DUMPABLE, 0) == 0 ? prctl(PR_GET_DUMPABLE) : -1);
  GIVES(prctl, "PR_SET_DUMPABLE", 1, prctl(PR_SET_DUMPABLE, 1) == 0 ? prctl(PR_GET_DUMPABLE) : -1);
  FAILS(prctl, "PR_SET_DUMPABLE of what is no value", EINVAL, prctl(PR_SET_DUMPABLE, 2));
  GIVES(prctl, "PR_GET_NO_NEW_PRIVS", 0, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  FAILS(prctl, "PR_SET_NO_NEW_PRIVS of what is no value", EINVAL, prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0));
  GIVES(prctl, "PR_SET_NO_NEW_PRIVS", 1,
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) : -1);
  GIVES(prctl, "PR_SET_PDEATHSIG", 0, prctl(PR_SET_PDEATHSIG, SIGUSR1));
  GIVES(prctl, "PR_GET_PDEATHSIG", SIGUSR1, prctl(PR_GET_PDEATHSIG, text) == 0 ? *(int*)text : -1);
  FAILS(prctl, "PR_SET_PDEATHSIG of no signal", EINVAL, prctl(PR_SET_PDEATHSIG, 77));
  FAILS(prctl, "PR_GET_PDEATHSIG to where nothing can be written", EFAULT, prctl(PR_GET_PDEATHSIG, nowhere));
  GIVES(prctl, "PR_GET_KEEPCAPS", 1, prctl(PR_SET_KEEPCAPS, 1) == 0 ? prctl(PR_GET_KEEPCAPS) : -1);
  FAILS(prctl, "PR_SET_KEEPCAPS of what is no value", EINVAL, prctl(PR_SET_KEEPCAPS, 2));
  GIVES(prctl, "PR_GET_TIMERSLACK", 50000, prctl(PR_GET_TIMERSLACK));
  GIVES(prctl, "PR_SET_TIMERSLACK", 77000, prctl(PR_SET_TIMERSLACK, 77000) == 0 ? prctl(PR_GET_TIMERSLACK) : -1);
  GIVES(prctl, "PR_GET_TIMING", PR_TIMING_STATISTICAL, prctl(PR_GET_TIMING));
  FAILS(prctl, "PR_CAPBSET_READ of no capability", EINVAL, prctl(PR_CAPBSET_READ, 777));
  FAILS(prctl, "PR_CAPBSET_DROP, which needs a privilege", EPERM, prctl(PR_CAPBSET_DROP, 1));
  FAILS(prctl, "an option that is unknown", EINVAL, prctl(7777));
  // What the machine is.
  struct utsname name;
  struct sysinfo system;
  GIVES(uname, "the system", 0, CALL(uname, &name) == 0 ? strcmp(name.sysname, "Linux") : -1);
  FAILS(uname, "to where nothing can be written", EFAULT, CALL(uname, nowhere));
  FAILS(sethostname, "which needs a privilege", EPERM, CALL(sethostname, "x", 1));
  FAILS(setdomainname, "which needs a privilege", EPERM, CALL(setdomainname, "x", 1));
  GIVES(sysinfo, "memory, and less free", 1,
        CALL(sysinfo, &system) == 0 && system.totalram > 0 && system.freeram <= system.totalram);
  FAILS(sysinfo, "to where nothing can be written", EFAULT, CALL(sysinfo, nowhere));
  GIVES(getrandom, "bytes", 100, CALL(getrandom, text, 100, 0));
  GIVES(getrandom, "GRND_RANDOM, GRND_NONBLOCK", 10, CALL(getrandom, text, 10, GRND_RANDOM | GRND_NONBLOCK));
  GIVES(getrandom, "no bytes", 0, CALL(getrandom, text, 0, 0));
  FAILS(getrandom, "a flag that is unknown", EINVAL, CALL(getrandom, text, 10, 77));
  FAILS(getrandom, "GRND_RANDOM and GRND_INSECURE", EINVAL, CALL(getrandom, text, 10, GRND_RANDOM | 4));
  FAILS(getrandom, "to where nothing can be written", EFAULT, CALL(getrandom, nowhere, 10, 0));
  FAILS(rseq, "a structure not at 32 bytes", EINVAL, CALL(rseq, text + 1, 32, 0, 0));
}

struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t minimum, maximum;
};
static void scheduling(void) {
  struct sched_param none = {0}, one = {1}, got = {77};
  unsigned long set[16] = {0};
  GIVES(sched_yield, "always", 0, sched_yield());
  GIVES(sched_get_priority_max, "SCHED_FIFO", 99, sched_get_priority_max(SCHED_FIFO));
  GIVES(sched_get_priority_max, "SCHED_OTHER", 0, sched_get_priority_max(SCHED_OTHER));
  GIVES(sched_get_priority_min, "SCHED_RR", 1, sched_get_priority_min(SCHED_RR));
  FAILS(sched_get_priority_max, "a policy that is unknown", EINVAL, sched_get_priority_max(77));
  FAILS(sched_get_priority_min, "a policy that is unknown", EINVAL, sched_get_priority_min(77));
  GIVES(sched_getscheduler, "SCHED_OTHER", SCHED_OTHER, CALL(sched_getscheduler, 0));
  FAILS(sched_getscheduler, "a negative thread", EINVAL, CALL(sched_getscheduler, -1));
  FAILS(sched_getscheduler, "of nobody", ESRCH, CALL(sched_getscheduler, kNobody));
  GIVES(sched_getparam, "the priority", 0, CALL(sched_getparam, 0, &got) == 0 ? got.sched_priority : -1);
  FAILS(sched_getparam, "no parameter", EINVAL, CALL(sched_getparam, 0, NULL));
  FAILS(sched_getparam, "to where nothing can be written", EFAULT, CALL(sched_getparam, 0, nowhere));
  FAILS(sched_getparam, "of nobody", ESRCH, CALL(sched_getparam, kNobody, &got));
  GIVES(sched_setparam, "the priority", 0, CALL(sched_setparam, 0, &none));
  FAILS(sched_setparam, "a priority that the policy has not", EINVAL, CALL(sched_setparam, 0, &one));
  FAILS(sched_setparam, "of nobody", ESRCH, CALL(sched_setparam, kNobody, &none));
  FAILS(sched_setparam, "of another's process", EPERM, CALL(sched_setparam, 1, &none));
  GIVES(sched_setscheduler, "SCHED_BATCH", SCHED_BATCH,
        CALL(sched_setscheduler, 0, SCHED_BATCH, &none) == 0 ? CALL(sched_getscheduler, 0) : -1);
  GIVES(sched_setscheduler, "SCHED_OTHER", SCHED_OTHER,
        CALL(sched_setscheduler, 0, SCHED_OTHER, &none) == 0 ? CALL(sched_getscheduler, 0) : -1);
  FAILS(sched_setscheduler, "SCHED_FIFO, which needs a privilege", EPERM,
        CALL(sched_setscheduler, 0, SCHED_FIFO, &one));
  FAILS(sched_setscheduler, "a policy that is unknown", EINVAL, CALL(sched_setscheduler, 0, 77, &none));
  FAILS(sched_setscheduler, "of nobody", ESRCH, CALL(sched_setscheduler, kNobody, SCHED_OTHER, &none));
  FAILS(sched_setscheduler, "no parameter", EINVAL, CALL(sched_setscheduler, 0, SCHED_OTHER, NULL));
  GIVES(sched_getaffinity, "at least one processor", 1,
        CALL(sched_getaffinity, 0, sizeof set, set) > 0 && set[0] + set[1] != 0);
  GIVES(sched_setaffinity, "the same", 0, CALL(sched_setaffinity, 0, sizeof set, set));
  FAILS(sched_getaffinity, "too little room", EINVAL, CALL(sched_getaffinity, 0, 1, set));
  FAILS(sched_getaffinity, "to where nothing can be written", EFAULT, CALL(sched_getaffinity, 0, sizeof set, nowhere));
  FAILS(sched_getaffinity, "of nobody", ESRCH, CALL(sched_getaffinity, kNobody, sizeof set, set));
  FAILS(sched_setaffinity, "a set that cannot be read", EFAULT, CALL(sched_setaffinity, 0, sizeof set, nowhere));
  FAILS(sched_setaffinity, "of nobody", ESRCH, CALL(sched_setaffinity, kNobody, sizeof set, set));
  FAILS(sched_setaffinity, "of another's process", EPERM, CALL(sched_setaffinity, 1, sizeof set, set));
  memset(set, 0, sizeof set);
  FAILS(sched_setaffinity, "no processor", EINVAL, CALL(sched_setaffinity, 0, sizeof set, set));
  struct timespec time = {-1, -1};
  GIVES(sched_rr_get_interval, "a time", 1, CALL(sched_rr_get_interval, 0, &time) == 0 && time.tv_sec >= 0);
  FAILS(sched_rr_get_interval, "a negative thread", EINVAL, CALL(sched_rr_get_interval, -1, &time));
  FAILS(sched_rr_get_interval, "of nobody", ESRCH, CALL(sched_rr_get_interval, kNobody, &time));
  FAILS(sched_rr_get_interval, "to where nothing can be written", EFAULT, CALL(sched_rr_get_interval, 0, nowhere));
  struct attributes wanted = {48, SCHED_BATCH, 0, 3}, longer[2] = {{96}, {1}};
  GIVES(sched_setattr, "a policy and a nice value", 0, CALL(sched_setattr, 0, &wanted, 0));
  GIVES(sched_getattr, "what was set", SCHED_BATCH + 3,
        (wanted.policy = 0, wanted.nice = 0, CALL(sched_getattr, 0, &wanted, sizeof wanted, 0)) == 0
            ? wanted.policy + wanted.nice
            : -1);
  FAILS(sched_setattr, "no structure", EINVAL, CALL(sched_setattr, 0, NULL, 0));
  FAILS(sched_setattr, "flags", EINVAL, CALL(sched_setattr, 0, &wanted, 1));
  FAILS(sched_setattr, "of nobody", ESRCH, CALL(sched_setattr, kNobody, &wanted, 0));
  FAILS(sched_setattr, "a longer structure with more in it", E2BIG, CALL(sched_setattr, 0, longer, 0));
  FAILS(sched_setattr, "a structure that cannot be read", EFAULT, CALL(sched_setattr, 0, nowhere, 0));
  wanted = (struct attributes){48, 77};
  FAILS(sched_setattr, "a policy that is unknown", EINVAL, CALL(sched_setattr, 0, &wanted, 0));
  wanted = (struct attributes){48, SCHED_FIFO, 0, 0, 1};
  FAILS(sched_setattr, "SCHED_FIFO, which needs a privilege", EPERM, CALL(sched_setattr, 0, &wanted, 0));
  FAILS(sched_getattr, "too little room", EINVAL, CALL(sched_getattr, 0, &wanted, 8, 0));
  FAILS(sched_getattr, "flags", EINVAL, CALL(sched_getattr, 0, &wanted, sizeof wanted, 1));
  FAILS(sched_getattr, "of nobody", ESRCH, CALL(sched_getattr, kNobody, &wanted, sizeof wanted, 0));
  CALL(sched_setscheduler, 0, SCHED_OTHER, &none);
  GIVES(getpriority, "20 less the nice value", 17, CALL(getpriority, PRIO_PROCESS, 0));
  GIVES(setpriority, "nicer", 15, CALL(setpriority, PRIO_PROCESS, 0, 5) == 0 ? CALL(getpriority, PRIO_PROCESS, 0) : -1);
  GIVES(setpriority, "more than there is", 1,
        CALL(setpriority, PRIO_PROCESS, 0, 100) == 0 ? CALL(getpriority, PRIO_PROCESS, 0) : -1);
  FAILS(setpriority, "less nice, which needs a privilege", EACCES, CALL(setpriority, PRIO_PROCESS, 0, 0));
  FAILS(setpriority, "of another's process", EPERM, CALL(setpriority, PRIO_PROCESS, 1, 19));
  FAILS(setpriority, "of nobody", ESRCH, CALL(setpriority, PRIO_PROCESS, kNobody, 19));
  FAILS(setpriority, "of what is unknown", EINVAL, CALL(setpriority, 77, 0, 19));
  FAILS(getpriority, "of nobody", ESRCH, CALL(getpriority, PRIO_PROCESS, kNobody));
  FAILS(getpriority, "of what is unknown", EINVAL, CALL(getpriority, 77, 0));
  GIVES(getpriority, "of its group", 1, CALL(getpriority, PRIO_PGRP, 0));
  unsigned cpu = 7777, node = 7777;
  GIVES(getcpu, "a processor and a node", 1, CALL(getcpu, &cpu, &node, NULL) == 0 && cpu < 7777 && node < 7777);
  GIVES(getcpu, "nowhere to write to", 0, CALL(getcpu, NULL, NULL, NULL));
  FAILS(getcpu, "to where nothing can be written", EFAULT, CALL(getcpu, nowhere, NULL, NULL));
  GIVES(membarrier, "what it has", 1, CALL(membarrier, 0, 0, 0) > 0);
  GIVES(membarrier, "MEMBARRIER_CMD_GLOBAL", 0, CALL(membarrier, 1, 0, 0));
  FAILS(membarrier, "MEMBARRIER_CMD_PRIVATE_EXPEDITED, without being registered", EPERM, CALL(membarrier, 8, 0, 0));
  GIVES(membarrier, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED", 0, CALL(membarrier, 16, 0, 0));
  GIVES(membarrier, "MEMBARRIER_CMD_PRIVATE_EXPEDITED", 0, CALL(membarrier, 8, 0, 0));
  FAILS(membarrier, "a command that is unknown", EINVAL, CALL(membarrier, 1 << 20, 0, 0));
  FAILS(membarrier, "flags", EINVAL, CALL(membarrier, 0, 7, 0));
}

int main(void) {
  ids();
  limits();
  scheduling();
  processes_own();
  return 0;
}
