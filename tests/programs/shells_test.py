#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian's static shells run the same scripts under myriarm and under QEMU user mode, with the same output and
# status:
#   shells_test.py MYRIARM FOLDER
# FOLDER keeps the programs, which apt downloads for arm64 and checks. Without apt or a network the test is
# skipped (status 77).
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SHELLS = {
    "bash": ("bash-static", "bin/bash-static", ["--norc", "--noprofile"]),
    "zsh": ("zsh-static", "bin/zsh-static", ["-f"]),
    "busybox": ("busybox-static", "bin/busybox", ["sh"]),
}
# All three shells give the same meaning to these; standard input is INPUT.
INPUT = b"first line\nsecond  line\\\n continued\n\nlast one without an end"
SCRIPTS = [
    "echo hello; printf '%s|%5d|%x\\n' word 42 255",
    "x=5; echo $((x * 7 + 2 ** 3)) $((x << 4)) $((-7 / 2)) $((-7 % 3))",
    "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); case $i in *7) continue;; 15) break;; esac; echo $i; done",
    "for w in a 'b c' d; do echo \"<$w>\"; done; set -- x y z; shift; echo $# $1 \"$@\"",
    "f() { local n=$1; [ $n -le 1 ] && { r=1; return; }; f $((n - 1)); r=$((r * n)); }; f 15; echo $r",
    "read a b; echo \"$a/$b\"; read -r c; echo \"$c\"; read d; echo \"$d\"; read e; echo \"$e\" $?",
    "while read line; do n=$((n + 1)); echo \"$n:$line\"; done; echo \"rest $line\"",
    "IFS=: read a b; echo \"$a\"; unset x; echo ${x:-none} ${#a} ${a%e} ${a#f}; x=1; echo ${x:+set}",
    "echo to error >&2; exec 3>&1; echo through three >&3; exec 3>&-; echo gone >&3; echo $?",
    "test -t 0; echo $?; [ -d / ]; echo $?; umask; umask 077; umask; echo ${PWD:-none}; exit 9",
    "trap - INT; set -e; false; echo never",
    "trap 'echo usr1' USR1; kill -USR1 $$; echo after; kill -USR1 $$; echo again",
    "trap 'echo bye $?' EXIT; echo hi; exit 3",
    "trap 'echo int; trap - INT' INT; kill -INT $$; kill -INT $$; echo never",
    "trap '' TERM; kill -TERM $$; echo still; trap - TERM; kill -TERM $$; echo never",
    "trap 'echo both' USR1 USR2; kill -USR2 $$; trap - USR1; kill -USR1 $$; echo never",
    "f() { trap 'echo inner' USR1; kill -USR1 $$; }; trap 'echo outer' USR1; f; kill -USR1 $$",
    "trap 'echo hup; exit 5' HUP; kill -HUP $$; echo never",
    "i=0; trap 'i=$((i + 1)); [ $i -lt 5 ] && kill -USR1 $$' USR1; kill -USR1 $$; echo $i",
    "eval 'y=3'; echo $y; unset y; : ${y:=new}; echo $y; type echo >&2",
    "kill -9 $$; echo never",
    "kill -TERM $$; echo never",
    # Several processes, and pipes between them. There is no root, so they execute nothing.
    "echo one | while read w; do echo \"<$w>\"; done; echo $?",
    "x=$(echo inner; echo second); echo \"[$x]\"; y=$(exit 7); echo $?; echo $(echo $(echo deep))",
    "(x=1; echo sub; exit 4); echo $? ${x:-none}; { echo group; } | { read g; echo \"$g!\"; }",
    "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo \"line $i of many\"; done | "
    "{ n=0; while read a b c; do n=$((n + b)); done; echo $n; }",
    "(trap 'echo pipe >&2; exit 1' PIPE; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo $i; done; "
    "echo ended) | { read a; echo $a; }",
    "f() { echo \"$1\"; [ $1 -gt 0 ] && f $(($1 - 1)) | while read l; do echo \" $l\"; done; }; f 4",
    "(kill -TERM $$); echo never",
    "trap 'echo usr1' USR1; (kill -USR1 $$; exit 5); echo $?",
    "false | true; echo $?; true | false; echo $?; ! false | false; echo $?",
]
# Shells that keep here-documents in pipes; others make files, for which they need a root.
HERE_DOCUMENTS = [
    "while read l; do echo \"here: $l\"; done <<END\nfirst $((1 + 1))\nsecond\nEND\necho done",
    "cat_() { while read -r x; do echo \"$x$x\"; done; }; echo a | cat_ | cat_ | cat_; cat_ <<E\nq\nE",
    "exec 3<<E\nthree\nE\nread -r x <&3; echo $x; exec 3<&-",
]
# What only some have.
OWN = {
    "busybox": HERE_DOCUMENTS,
    "bash": [
        *HERE_DOCUMENTS,
        "(exit 3) & wait $!; echo $?; (echo bg) & wait; echo all",
        "a=(1 2 3 [10]=x); a+=(y); echo ${#a[@]} ${!a[@]} ${a[-1]} ${a[@]:1:2}",
        "declare -A m=([k]=v [w]=u); echo ${m[k]} ${#m[@]}; s=Hello; echo ${s,,} ${s^^} ${s//l/L} ${s:1:3}",
        "set -o pipefail; (exit 2) | (exit 3) | true; echo $? ${PIPESTATUS[@]}; "
        "cat_() { while read l; do echo \"$l\"; done; }; "
        "coproc cat_; echo to >&${COPROC[1]}; read -u ${COPROC[0]} x; echo \"$x\"",
        "read z <<< \"word $((6 * 7))\"; echo $z",
        "read -t 5 -a words; echo ${words[1]}; mapfile -t lines; echo ${#lines[@]} ${lines[1]}",
        "[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[2]}; printf -v out '%(%Y)T' 0; echo $out",
        "for ((i = 0; i < 5; i++)); do ((i % 2)) && echo $i; done; echo {a..e} {1..10..3}",
        "RANDOM=42; echo $RANDOM $RANDOM; echo $UID $EUID $$",
        "trap 'echo err $?' ERR; false; true; trap 'echo line' DEBUG; :; trap - DEBUG; trap -p ERR",
        "f() { trap 'echo return' RETURN; :; }; f; "
        "trap 'echo sig' SIGRTMIN+1; kill -SIGRTMIN+1 $$; echo done",
    ],
    "zsh": [
        "a=(1 2 3); a+=(y); echo $#a $a[2] ${a[2,-1]} ${(j:-:)a} ${(U):-up}",
        "typeset -A m; m=(k v w u); echo $m[k] ${(k)m[(r)u]}; s=Hello; echo ${s:l} ${s:u} ${s//l/L}",
        "echo $((1.5 * 3)) $((2 ** 40)) {1..5}; print -l x y; repeat 3 print -n .; print",
        "read -t 5 line; echo $line; read -k 3 c; echo $c; integer i=7; echo $((i / 2)) $UID $$",
    ],
}
# Of QEMU's process and ours: the user and the process's number.
DIFFERENT = {"$UID": "1000", "$EUID": "1000", "$$": "1000"}


def fetch(folder):
    """The paths of the shells, or why they cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    root = folder / "root"
    if not all((root / path).exists() for _, path, _ in SHELLS.values()):
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        apt = ["apt-get", "-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64"]
        apt += [f"-oDir::State::Lists={folder}/lists", "-oAcquire::Retries=1", "-oAPT::Sandbox::User="]
        packages = [package for package, _, _ in SHELLS.values()]
        try:
            for command in (["update"], ["download", *packages]):
                subprocess.run([*apt, *command], cwd=folder, check=True, capture_output=True, timeout=120)
            for package in folder.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package.name, "root"], cwd=folder, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            return None, f"apt cannot download the shells for arm64 ({error})"
    return {name: root / path for name, (_, path, _) in SHELLS.items()}, ""


def run(command):
    done = subprocess.run(command, input=INPUT, capture_output=True, timeout=120, env={}, cwd="/")
    # QEMU dies of the guest's signal itself.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return done.stdout, done.stderr, status


def main(myriarm, folder):
    programs, missing = fetch(pathlib.Path(folder).resolve())
    if programs is None:
        print(f"skipped: {missing}")
        return SKIPPED
    ours = [os.path.abspath(myriarm), "run", "--device", DEVICE, "--quiet", "--ignore-unimplemented"]
    ours += ["--stdin", "-"]
    failed = count = 0
    for shell, program in programs.items():
        options = SHELLS[shell][2]
        for script in SCRIPTS + OWN.get(shell, []):
            theirs = script
            for name, value in DIFFERENT.items():
                if "kill" not in script:
                    theirs = theirs.replace(name, value)
            expected = run(["qemu-aarch64", str(program), *options, "-c", theirs])
            got = run([*ours, str(program), *options, "-c", script])
            count += 1
            # Messages on standard error begin with the program's path, and QEMU adds a line about a signal.
            if (got[0], got[2]) != (expected[0], expected[2]):
                failed += 1
                print(f"{shell}: {script}\n  QEMU:    {expected}\n  myriarm: {got}")
    print(f"{count} scripts, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
