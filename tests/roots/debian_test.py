#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian's own arm64 programs give the same under myriarm as under QEMU user mode, and leave the same
# files. By hand, since it downloads them:
#   debian_test.py MYRIARM ROOT
# ROOT: made by tools/debian-root with PACKAGES, or made now if it is not there. Prints a line for each
# command: the same, or what differs. Exit status 1 if one differs that is not in DIFFERENT, or the other way.
import gzip
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/debian-root"
PACKAGES = """coreutils dash grep sed mawk gawk bc lua5.4 sqlite3 jq python3-minimal libpython3.11-stdlib
findutils diffutils bash gzip xz-utils file bzip2 zstd tar patch perl-base""".split()
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
# Commands that change files in their working folder, which fill() makes.
WRITES = r"""
/usr/bin/touch new text
/usr/bin/touch -d @1000000000 old
/usr/bin/mkdir -p x/y/z
/usr/bin/mkdir -m 700 private
/usr/bin/mkdir sub
/usr/bin/rmdir empty
/usr/bin/rmdir sub
/usr/bin/cp text copy
/usr/bin/cp large copy
/usr/bin/cp text sub/other
/usr/bin/cp -r sub copied
/usr/bin/cp -a sub copied
/usr/bin/cp -s text linked
/usr/bin/cp -l text linked
/usr/bin/mv text renamed
/usr/bin/mv text sub
/usr/bin/mv sub moved
/usr/bin/mv -n text large
/usr/bin/mv nothing there
/usr/bin/rm text
/usr/bin/rm sub
/usr/bin/rm -r sub
/usr/bin/rm -rf many
/usr/bin/rm nothing
/usr/bin/unlink text
/usr/bin/link text hard
/usr/bin/ln text hard
/usr/bin/ln -s sub/inner soft
/usr/bin/ln -sf text link
/usr/bin/ln text large
/usr/bin/chmod 640 text
/usr/bin/chmod -R go-rwx sub
/usr/bin/truncate -s 5 text
/usr/bin/truncate -s +1M text
/usr/bin/truncate -s 10G sparse
/usr/bin/install -m 600 text installed
/usr/bin/install -d a/b/c
/usr/bin/install -D text deep/er/text
/usr/bin/dd if=text of=out bs=3 count=2 status=none
/usr/bin/dd if=text of=large bs=7 seek=100 conv=notrunc status=none
/usr/bin/dd if=large of=out bs=1000 skip=2 status=none
/usr/bin/tee new sub/new
/usr/bin/tee -a text
/usr/bin/sort -o text text
/usr/bin/sort -o sorted large
/usr/bin/uniq text out
/usr/bin/split -l 1 text part-
/usr/bin/split -b 1000 large
/usr/bin/csplit text 2
/usr/bin/tac text
/usr/bin/tac
/usr/bin/shred -n 1 --random-source=large text
/usr/bin/sync text
/usr/bin/cat link
/usr/bin/tar cf out.tar --sort=name --numeric-owner sub text link
/usr/bin/tar xf given.tar
/usr/bin/tar xvf given.tar -C empty
/usr/bin/tar tf given.tar
/usr/bin/tar rf given.tar --numeric-owner text
/usr/bin/tar xf given.tar --overwrite sub/inner
/usr/bin/sed -i s/one/ONE/ text
/usr/bin/sed -i.bak -e 1d text sub/inner
/usr/bin/sed -n 'w copied' text
/usr/bin/gzip text
/usr/bin/gzip -k -9 large
/usr/bin/gzip -d given.gz
/usr/bin/bzip2 -k large
/usr/bin/bzip2 text
/usr/bin/xz text
/usr/bin/xz -k -T1 large
/usr/bin/zstd -q text
/usr/bin/zstd -q --single-thread large -o out.zst
/usr/bin/patch -i given.patch text
/usr/bin/patch -b -i given.patch text
/usr/bin/patch -R -i given.patch text
/usr/bin/patch --dry-run -i given.patch text
/usr/bin/find . -name f1* -delete
/usr/bin/find sub -newer nothing
/usr/bin/mawk '{ print > $1 ".txt" }' text
/usr/bin/gawk '{ print >> "log" } END { close("log"); while ((getline l < "log") > 0) print l }' text
/usr/bin/dash -c 'echo hi > f; read b < f; echo "$b"; echo more >> f; read a < f; echo "$a"; : > text; exec 3<> f; echo over >&3'
/usr/bin/bash -c 'mapfile -t lines < text; printf "%s\n" "${lines[@]}" > out; set -o noclobber; echo x > out; cd sub && echo in > inner'
/usr/bin/bash -c 'cat() { while read -r l; do echo "[$l]"; done; }; cat < text > new; test -s new && test new -nt text || echo older'
/usr/bin/bash -c 'while read -r l; do echo "[$l]"; done < <(echo a; echo b); exec 3> >(read -r x; echo "got $x" > out); echo through >&3; exec 3>&-; wait'
/usr/bin/sqlite3 -init /dev/null base.db "create table t(a, b); insert into t values(1, 'x'), (2, 'y'); select * from t; update t set b = b || a; select * from t"
/usr/bin/sqlite3 -init /dev/null base.db "pragma journal_mode=truncate; create table t(a); begin; insert into t values(1); rollback; insert into t values(2); select * from t; vacuum"
/usr/bin/sqlite3 -init /dev/null base.db "create table t(a primary key); with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000) insert into t select x from n; delete from t where a % 2; create index i on t(a); select count(*), sum(a) from t; pragma integrity_check"
/usr/bin/python3.11 -S -c 'import os; open("new", "w").write("text"); os.rename("new", "n2"); os.makedirs("p/q"); print(sorted(os.listdir(".")), os.stat("n2").st_size)'
/usr/bin/python3.11 -S -c 'import tempfile, os; f = tempfile.TemporaryFile(); f.write(b"x" * 100000); f.seek(0); print(len(f.read()))'
/usr/bin/python3.11 -S -c 'import shutil; shutil.copytree("sub", "s2"); shutil.rmtree("sub"); shutil.move("text", "s2/text")'
/usr/bin/python3.11 -S -c 'import mmap; f = open("large", "rb"); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); print(m[5], len(m))'
/usr/bin/python3.11 -S -c 'import os; fd = os.open("f", os.O_RDWR | os.O_CREAT); os.pwrite(fd, b"end", 99999); os.truncate(fd, 50000); print(os.fstat(fd).st_size, os.lseek(fd, 0, os.SEEK_HOLE))'
/usr/bin/perl -i -pe s/two/2/ text
/usr/bin/perl -e 'open(F, ">", "new") or die; print F "x" x 10000; close F; print -s "new", "\n"; unlink "text"; mkdir "d"; print join(" ", sort glob("*")), "\n"'
/usr/bin/lua5.4 -e 'local f = io.open("new", "w"); f:write("lua"); f:close(); os.rename("new", "n2"); os.remove("text"); print(io.open("n2"):read("a"), io.open("text"))'
/usr/bin/diff -r sub many
/usr/bin/cmp text large
/usr/bin/stat -c %n:%s:%a:%F:%h text sub link
/usr/bin/du -b --apparent-size text large
/usr/bin/realpath --relative-to=. link sub/../text
/usr/bin/ls -a .
/usr/bin/ls -n --time-style=+%s text /nothing
"""  # noqa: E501
# Commands that differ, and why.
DIFFERENT = {
    "/usr/bin/pwd": "the working folder is /",
    "/usr/bin/truncate -s 10G sparse": "it is too large to be collected",
}
VARIABLES = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def fill(work):
    shutil.rmtree(work, ignore_errors=True)
    (work / "sub/folder").mkdir(parents=True)
    (work / "empty").mkdir()
    (work / "many").mkdir()
    (work / "text").write_text("one\ntwo\nthree\nfour\n")
    (work / "large").write_bytes(b"".join(b"line %d\n" % (i * 7919 % 5000) for i in range(5000)))
    (work / "sub/inner").write_text("one\ninner\n")
    (work / "sub/folder/deep").write_text("deep\n")
    (work / "link").symlink_to("sub/inner")
    for i in range(120):
        (work / f"many/f{i}").write_text(str(i))
    with tarfile.open(work / "given.tar", "w") as archive:
        for name in ("sub", "text", "link"):
            member = archive.gettarinfo(work / name, f"from-tar/{name}")
            member.uid = member.gid = 1000
            member.uname = member.gname = ""
            member.mtime = 1600000000
            archive.addfile(member, open(work / name, "rb") if member.isreg() else None)
        member = archive.gettarinfo(work / "sub/inner", "sub/inner")
        member.mtime = 1600000000
        archive.addfile(member, open(work / "sub/inner", "rb"))
    (work / "given.gz").write_bytes(gzip.compress(b"was compressed\n", mtime=0))
    (work / "given.patch").write_text("--- text\n+++ text\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n")
    for path in [work, *work.rglob("*")]:
        os.utime(path, (1700000000, 1700000000), follow_symlinks=False)
        if os.geteuid() == 0:
            os.lchown(path, 1000, 1000)


def left_in(folder):
    """Types, permissions and contents of what is in a folder; of what gzip has written not the time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = "large" if status.st_size > 10**8 else path.read_bytes()
        else:
            content = None
        found[str(path.relative_to(folder))] = (stat.filemode(status.st_mode), content)
    return found


def run(command, **options):
    done = subprocess.run(command, input=INPUT, capture_output=True, timeout=300, **options)
    return done.stdout, done.stderr, done.returncode % 256


class Comparison:
    def __init__(self):
        self.same = self.wrong = self.count = 0

    def add(self, line, qemu, got):
        self.count += 1
        self.same += got == qemu
        if (got == qemu) == (line in DIFFERENT):
            self.wrong += 1
            print(f"WRONG {line}")
            for wanted, here in zip(qemu, got):
                if wanted == here:
                    continue
                if isinstance(wanted, dict):
                    names = [name for name in {*wanted, *here} if wanted.get(name) != here.get(name)]
                    wanted, here = ({name: which.get(name) for name in names} for which in (wanted, here))
                print(f"  QEMU:    {str(wanted)[:1000]}\n  myriarm: {str(here)[:1000]}")
        else:
            print(f"{'differs: ' + DIFFERENT[line] if line in DIFFERENT else 'same'}: {line}")


def main(myriarm, root):
    if not os.path.isdir(root):
        subprocess.run([TOOL, root, *PACKAGES], check=True)
    ours = [os.path.abspath(myriarm), "run", "--device", "cpu", "--root", root, "--quiet"]
    ours += ["--ignore-unimplemented", "--memory", "256M", "--stdin", "-"]
    ours += [f"--env={name}={value}" for name, value in VARIABLES.items()]
    seen = Comparison()
    for line in COMMANDS.strip().splitlines():
        words = shlex.split(line)
        qemu = run(["qemu-aarch64", "-L", root, "-0", words[0], root + words[0], *words[1:]], env=VARIABLES)
        seen.add(line, qemu, run(ours + words))
    user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as scratch:
        top = pathlib.Path(scratch)
        top.chmod(0o755)
        for line in WRITES.strip().splitlines():
            words = shlex.split(line)
            fill(top / "own")
            options = [
                "--bind",
                f"{top}/own:/own:rw",
                "--cwd",
                "/own",
                "--collect",
                "/own",
                "--output-dir",
                top / "out",
            ]
            got = run([*ours, *options, *words])
            files = left_in(top / "out/0/own")
            shutil.rmtree(top / "out")
            command = [*user, "qemu-aarch64", "-L", root, "-0", words[0], root + words[0], *words[1:]]
            qemu = run(command, env=VARIABLES, cwd=top / "own")
            seen.add(line, (*qemu, left_in(top / "own")), (*got, files))
    print(f"{seen.same} of {seen.count} are the same, {seen.wrong} are not as expected")
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
