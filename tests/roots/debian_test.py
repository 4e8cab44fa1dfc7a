#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian's own arm64 programs give the same under myriarm as under QEMU user mode. By hand, since it downloads
# them:
#   debian_test.py MYRIARM ROOT
# ROOT: made by tools/debian-root with PACKAGES, or made now if it is not there. Prints a line for each
# command: the same, or what differs. Exit status 1 if one differs that is not in DIFFERENT, or the other way.
import os
import pathlib
import shlex
import subprocess
import sys

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/debian-root"
PACKAGES = """coreutils dash grep sed mawk gawk bc lua5.4 sqlite3 jq python3-minimal libpython3.11-stdlib
findutils diffutils bash gzip xz-utils file""".split()
INPUT = b"one\ntwo words\nthree 3\nfour\n10\n9\n"
TEXT = "/usr/share/doc/coreutils/copyright"
COMMANDS = f"""
/usr/bin/ls /usr/share/doc/coreutils
/usr/bin/ls -a /usr/share/doc/coreutils
/usr/bin/ls /nonexistent
/usr/bin/cat {TEXT}
/usr/bin/cat /nonexistent
/usr/bin/wc {TEXT}
/usr/bin/wc
/usr/bin/sort
/usr/bin/sort -n -r
/usr/bin/sha256sum /usr/lib/aarch64-linux-gnu/libc.so.6
/usr/bin/md5sum {TEXT}
/usr/bin/head -n 5 {TEXT}
/usr/bin/tail -n 5 {TEXT}
/usr/bin/cut -c1-3
/usr/bin/tr a-z A-Z
/usr/bin/basename /a/b/c.d .d
/usr/bin/dirname /a/b/c
/usr/bin/stat -c %n:%s:%a:%F:%Y {TEXT}
/usr/bin/uniq
/usr/bin/nl
/usr/bin/od -c
/usr/bin/seq 1 20
/usr/bin/factor 1234567890 97
/usr/bin/expr 3 + 4
/usr/bin/printf %s-%d abc 42
/usr/bin/echo hi there
/usr/bin/base64
/usr/bin/cksum
/usr/bin/comm {TEXT} {TEXT}
/usr/bin/fold -w 5
/usr/bin/fmt
/usr/bin/paste - -
/usr/bin/tac
/usr/bin/expand
/usr/bin/join {TEXT} {TEXT}
/usr/bin/test -f /usr/bin/ls
/usr/bin/test -r /usr/bin/nothing
/usr/bin/readlink -f /bin/sh
/usr/bin/realpath /usr/share/doc/../doc
/usr/bin/numfmt --to=iec 123456
/usr/bin/tsort
/usr/bin/dd if={TEXT} bs=100 count=1 status=none
/usr/bin/tee
/usr/bin/true
/usr/bin/false
/usr/bin/yes --version
/usr/bin/pwd
/usr/bin/env /usr/bin/true
/usr/bin/grep -n o
/usr/bin/grep -c GNU {TEXT}
/usr/bin/sed s/o/0/g
/usr/bin/sed -n 2,3p
/usr/bin/mawk '{{ print NR, $1 }}'
/usr/bin/gawk '{{ n += NF }} END {{ print n, sin(1) }}'
/usr/bin/bc -q /dev/null
/usr/bin/lua5.4 -e 'print(string.format("%5.2f", math.pi), _VERSION)'
/usr/bin/lua5.4 -e 'for k in pairs({{1, 2, 3}}) do print(k) end error("x")'
/usr/bin/sqlite3 -init /dev/null :memory: "create table t(a); insert into t values(1); select sum(a) from t"
/usr/bin/jq -n '{{a: [1, 2, {{b: 3}}]}} | .a[2].b + 1'
/usr/bin/jq -R .
/usr/bin/dash -c 'i=0; while [ $i -lt 5 ]; do echo $i; i=$((i + 1)); done; cd /usr; pwd; exit 4'
/usr/bin/dash -c 'while read a; do echo "[$a]"; done; read x < {TEXT}; echo "$x"'
/usr/bin/bash -c 'a=(1 2 3); echo ${{a[@]}} ${{#a[@]}}; [[ abc =~ b. ]] && echo ${{BASH_REMATCH[0]}}'
/usr/bin/diff {TEXT} /usr/share/doc/dash/copyright
/usr/bin/cmp {TEXT} /usr/share/doc/dash/copyright
/usr/bin/find {TEXT} -printf %p:%s
/usr/bin/gzip -c -n
/usr/bin/xz -c -T1
/usr/bin/file /usr/bin/ls
/usr/bin/python3.11 -S -c 'print(sum(range(100)))'
/usr/bin/python3.11 -S -c 'import json, re; print(json.dumps([1, {{}}]), re.findall("o.", "foo bor"))'
/usr/bin/python3.11 -S -c 'import hashlib; print(hashlib.sha256(b"x").hexdigest())'
/usr/bin/python3.11 -S -c 'import sys; sys.exit(7)'
"""
# Commands that differ, and why.
DIFFERENT = {
    "/usr/bin/pwd": "the working folder is /",
    "/usr/bin/tac": "needs a temporary file",
    "/usr/bin/env /usr/bin/true": "needs execve",
    "/usr/bin/xz -c -T1": "needs pipe2",
}
VARIABLES = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def run(command, **options):
    done = subprocess.run(command, input=INPUT, capture_output=True, timeout=300, **options)
    return done.stdout, done.stderr, done.returncode % 256


def main(myriarm, root):
    if not os.path.isdir(root):
        subprocess.run([TOOL, root, *PACKAGES], check=True)
    ours = [os.path.abspath(myriarm), "run", "--device", "cpu", "--root", root, "--quiet"]
    ours += ["--ignore-unimplemented", "--memory", "256M", "--stdin", "-"]
    ours += [f"--env={name}={value}" for name, value in VARIABLES.items()]
    wrong = same = 0
    for line in COMMANDS.strip().splitlines():
        words = shlex.split(line)
        qemu = run(["qemu-aarch64", "-L", root, "-0", words[0], root + words[0], *words[1:]], env=VARIABLES)
        got = run(ours + words)
        same += got == qemu
        if (got == qemu) == (line in DIFFERENT):
            wrong += 1
            print(f"WRONG {line}\n  QEMU:    {qemu}\n  myriarm: {got}")
        else:
            print(f"{'differs: ' + DIFFERENT[line] if line in DIFFERENT else 'same'}: {line}")
    print(f"{same} of {len(COMMANDS.strip().splitlines())} are the same, {wrong} are not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
