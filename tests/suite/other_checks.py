# SPDX-License-Identifier: Apache-2.0
"""How many lines of the other guest programs check each call and are compared with Linux natively."""

import collections
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("roots", "pipes", "signals", "threads", "processes", "isolation")
CHECK = re.compile(r"\b(?:CHECK|SHOW|OPENS|TRY)\((?:AMID_ALARMS\(\w+, )?(?:syscall\(SYS_)?(\w+)")
# Functions of C libraries, with the calls that they make.
CALLS = {
    "open": "openat",
    "creat": "openat",
    "stat": "newfstatat",
    "lstat": "newfstatat",
    "access": "faccessat",
    "readlink": "readlinkat",
    "mkdir": "mkdirat",
    "mknod": "mknodat",
    "mkfifo": "mknodat",
    "symlink": "symlinkat",
    "link": "linkat",
    "chmod": "fchmodat",
    "chown": "fchownat",
    "lchown": "fchownat",
    "unlink": "unlinkat",
    "rmdir": "unlinkat",
    "rename": "renameat",
    "pread": "pread64",
    "pwrite": "pwrite64",
    "posix_fadvise": "fadvise64",
    "posix_fallocate": "fallocate",
    "pipe": "pipe2",
    "dup2": "dup3",
    "poll": "ppoll",
    "select": "pselect6",
    "pselect": "pselect6",
    "eventfd": "eventfd2",
    "epoll_create": "epoll_create1",
    "epoll_wait": "epoll_pwait",
    "ready": "epoll_pwait",
    "add": "epoll_ctl",
    "modify": "epoll_ctl",
    "signalfd": "signalfd4",
    "send": "sendto",
    "recv": "recvfrom",
    "sigaction": "rt_sigaction",
    "raw_action": "rt_sigaction",
    "sigprocmask": "rt_sigprocmask",
    "sigpending": "rt_sigpending",
    "is_pending": "rt_sigpending",
    "sigsuspend": "rt_sigsuspend",
    "sigtimedwait": "rt_sigtimedwait",
    "sigwaitinfo": "rt_sigtimedwait",
    "sigqueue": "rt_sigqueueinfo",
    "raise": "tgkill",
    "fork": "clone",
    "raw_clone": "clone",
    "raw_clone3": "clone3",
    "waitpid": "wait4",
    "wait": "wait4",
    "child_status": "wait4",
    "execv": "execve",
    "execl": "execve",
    "prlimit": "prlimit64",
    "sbrk": "brk",
    "utimes": "utimensat",
    "futimens": "utimensat",
    "getdents": "getdents64",
    "opendir": "openat",
    "readdir": "getdents64",
    "alarm": "setitimer",
    "umount": "umount2",
    "opens": "openat",
}


def other_checks():
    counts = collections.Counter()
    for folder in FOLDERS:
        for source in sorted((TESTS / folder).glob("*.[ch]")):
            for name in CHECK.findall(source.read_text()):
                counts[CALLS.get(name, name)] += 1
    return counts
