#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Compares the symbols that the shared library exports, and their versions, with a list:
#   symbols_test.py NM LIBRARY LIST
# As long as no line of the list goes away, programs that were linked with an earlier library find their
# functions.
import re
import subprocess
import sys


def exported(nm, library):
    """The exported symbols of the library, as lines of the list."""
    output = subprocess.run(
        [nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    found = set()
    for line in output.splitlines():
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        if not re.fullmatch(r"MYRIARM_[0-9.]+", name):  # nm lists the versions themselves too
            found.add(f"{name} {version}")
    return found


def main(nm, library, list_file):
    with open(list_file, encoding="utf-8") as file:
        listed = set(file.read().splitlines())
    have = exported(nm, library)
    for symbol in sorted(have - listed):
        print(f"{library} exports {symbol}, which {list_file} does not list")
    for symbol in sorted(listed - have):
        print(f"{library} does not export {symbol}, which {list_file} lists")
    header = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    soname = re.search(r"SONAME\).*\[(.*)\]", header)
    if not soname or soname[1] != "libmyriarm.so.0":
        print(f"{library} has the SONAME {soname and soname[1]}, not libmyriarm.so.0")
        return 1
    return 1 if have != listed or not listed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
