# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""The commands of debian_commands.py that differ from their peers, and why."""

BLOCKS = (
    "`st_blocks`: a file has the blocks of 512 bytes that it fills, on the host's file system whole pages"
)
CALENDAR = "the guest's calendar begins on 1 January 2024"
HOST_ID = "the number that the C library makes of the host's name and address"
INTERNET = "missing: `socket` of AF_INET is EAFNOSUPPORT"
RANDOM = "a random name"

DIFFERENT = {
    "/usr/bin/ls -lnR --time-style=+%s sub": BLOCKS,
    "/usr/bin/vdir --time-style=+%s -n sub": BLOCKS,
    "/usr/bin/date -u +%Y": CALENDAR,
    "/usr/bin/mktemp -u -p . --suffix=x XXXXXX": RANDOM,
    "/usr/bin/truncate -s 10G sparse": "the file is right, but too large to be collected",
    "/usr/bin/hostid": HOST_ID,
    "/usr/bin/runcon": "missing: `/proc/thread-self/attr/current`; both fail, with another error",
    "/usr/sbin/chroot / /usr/bin/true": "missing: `chroot`, which is ENOSYS, and EPERM for such a user on Linux",
    "/usr/bin/find many -name f11[0-3] -o -name f5": "the order of a folder: ours is that of the names",
    "/usr/bin/bash -c 'exec 5<>/dev/tcp/127.0.0.1/1'": INTERNET,
    "/usr/bin/bash --norc -i -c 'echo interactive'": "the message has the number of a process group, -1 for none",
    "/usr/bin/openssl enc -d -aes-128-cbc -K 0102 -iv 03 -in text -out out": "the message has the address of the thread",
    '/usr/bin/python3.11 -c \'import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1)); '
    'socket.socket().connect(("127.0.0.1", 1))\'': INTERNET,
    "/bin/busybox du -s text": BLOCKS,
    "/bin/busybox free": "a lane has as much memory as its window, and all of it is free",
    "/bin/busybox hostid": HOST_ID,
    "/bin/busybox ls -ln sub": BLOCKS + "; " + CALENDAR,
    "/bin/busybox mktemp -u": RANDOM,
    "/bin/busybox ps": "a lane has a `/proc`, with the process that reads alone; the root of QEMU has an empty one",
    "/bin/busybox setsid /bin/busybox echo hi": "the first process is the leader of its group, so it forks and ends, and with it the lane, before the child has written",
    "/bin/busybox ts": CALENDAR,
    "/bin/busybox uptime": CALENDAR + ", and there is no load",
}
