#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes errors.txt: which errors the manual page of each call of the table lists.
#   errors_of_pages.py FOLDER
# FOLDER has man2/ and man3/, as usr/share/man of Debian's package manpages-dev. One page may be about several
# calls; then each has the errors of all. EWOULDBLOCK is EAGAIN, and ENOTSUP EOPNOTSUPP, as on Linux.
import gzip
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "src/kernel/syscalls.inc"
ROW = re.compile(r"^SYSCALL\(\d+, (\w+), (\w+), (\w+), ", re.MULTILINE)
# Pages that say of their errors that they are those of others as well.
AND_THOSE_OF = {
    "pread64": ["pread", "read", "lseek"],
    "pwrite64": ["pwrite", "write", "lseek"],
    "readv": ["readv", "read"],
    "writev": ["writev", "write"],
    "preadv": ["preadv", "read", "lseek"],
    "pwritev": ["pwritev", "write", "lseek"],
    "preadv2": ["preadv2", "read", "lseek"],
    "pwritev2": ["pwritev2", "write", "lseek"],
    "wait4": ["waitpid"],
    "fchmodat2": ["fchmodat"],
    "openat2": ["openat2", "openat"],
    "execveat": ["execveat", "execve"],
    "timerfd_create": ["timerfd_create"],
}
THE_SAME = {"EWOULDBLOCK": "EAGAIN", "ENOTSUP": "EOPNOTSUPP"}
# Names of the kernel's own, and flags that begin with an E.
NO_ERRORS = re.compile(r"EPOLL|ERESTART|EHWPOISON|EUSERS|ENOPKG")


def served_calls():
    """The calls that the table implements, each with its place."""
    rows = ROW.findall(TABLE.read_text())
    return {name: place for name, place, handler in rows if handler != "unimplemented"}


def page_of(folder, name):
    for section in "23":
        page = folder / f"man{section}/{name}.{section}.gz"
        if page.exists():
            text = gzip.decompress(page.read_bytes()).decode(errors="replace")
            other = re.match(r"\.so man\d/(\w+)\.", text)
            return page_of(folder, other[1]) if other else text
    return ""


def errors_of(folder, name):
    lists = re.findall(r"^\.SH ERRORS\n(.*?)^\.SH ", page_of(folder, name), re.MULTILINE | re.DOTALL)
    found = re.findall(r"^\.BR? (E[A-Z0-9]+)", "".join(lists), re.MULTILINE)
    return {THE_SAME.get(error, error) for error in found if not NO_ERRORS.match(error)}


def main(folder):
    text = "# The errors that each call's manual page lists, of man-pages 6.03. Made by errors_of_pages.py.\n"
    for call in served_calls():
        pages = AND_THOSE_OF.get(call, [call])
        errors = sorted(set().union(*(errors_of(pathlib.Path(folder), page) for page in pages)))
        text += f"{call}: {' '.join(errors)}".strip() + "\n"
    (HERE / "errors.txt").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
