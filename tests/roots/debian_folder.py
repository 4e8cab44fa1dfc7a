# SPDX-License-Identifier: Apache-2.0
"""The folder in which each command of debian_test.py runs."""

import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import tarfile
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
USER = 1000


def make_database(path):
    base = sqlite3.connect(path)
    base.execute("create table people(id integer primary key, name text unique)")
    base.execute(
        "create table sales(id integer primary key, person references people, day text, amount real)"
    )
    base.execute("create index by_person on sales(person)")
    base.executemany("insert into people values(?, ?)", ((i, f"p{i}") for i in range(100)))
    for i in range(8000):
        row = (i, i * 7919 % 100, f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}", i * 104729 % 1000 + i % 4 / 4)
        base.execute("insert into sales values(?, ?, ?, ?)", row)
    base.commit()
    base.close()


def make_repository(path):
    variables = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], env=variables, check=True)
    stream = io.BytesIO()
    for i in range(12):
        lines = [f"line{k} of {i if k % 4 == i % 4 else 0}\n" for k in range(40)]
        text = "".join(lines).encode()
        who = b"Some Body <some@example.org> %d +0100" % (1600000000 + i * 86400)
        stream.write(
            b"commit refs/heads/main\nauthor %s\ncommitter %s\ndata 9\nchange %02d\n" % (who, who, i)
        )
        for name in (b"file%d" % (i % 4), b"folder/inner"):
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(text), text))
    command = ["git", "--git-dir", path, "fast-import", "--quiet"]
    subprocess.run(command, input=stream.getvalue(), env=variables, check=True)
    shutil.rmtree(path / "hooks", ignore_errors=True)


def make_tar(work):
    with tarfile.open(work / "given.tar", "w") as archive:
        for name in ("sub", "text", "link"):
            member = archive.gettarinfo(work / name, f"from-tar/{name}")
            member.uid = member.gid = USER
            member.uname = member.gname = ""
            member.mtime = 1600000000
            archive.addfile(member, open(work / name, "rb") if member.isreg() else None)
        member = archive.gettarinfo(work / "sub/inner", "sub/inner")
        member.mtime = 1600000000
        archive.addfile(member, open(work / "sub/inner", "rb"))


def cpio_member(number, name, content, mode):
    """As the format newc has it."""
    fields = [number, mode, USER, USER, 1, 1600000000, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = "070701" + "".join(f"{field:08x}" for field in fields) + name + "\0"
    return head.encode() + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


def make_folder(work):
    """Fills a new folder."""
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
    make_tar(work)
    plain = b"was compressed\n"
    (work / "given.gz").write_bytes(gzip.compress(plain, mtime=0))
    (work / "given.xz").write_bytes(lzma.compress(plain))
    (work / "given.lzma").write_bytes(lzma.compress(plain, format=lzma.FORMAT_ALONE))
    (work / "given.bz2").write_bytes(bz2.compress(plain))
    with zipfile.ZipFile(work / "given.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("inside", (2020, 1, 2, 3, 4, 6)), plain)
    members = [(name, (work / name).read_bytes(), 0o100644) for name in ("text", "sub/inner")]
    members.append(("TRAILER!!!", b"", 0))
    (work / "given.cpio").write_bytes(b"".join(cpio_member(i, *member) for i, member in enumerate(members)))
    (work / "given.patch").write_text("--- text\n+++ text\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n")
    people = [{"name": f"p{i}", "age": 20 + i, "address": {"city": "x" * i}} for i in range(0, 30, 3)]
    (work / "data.json").write_text(json.dumps({"people": people, "text": "a\u00e4\u20ac"}))
    make_database(work / "base.db")
    make_repository(work / "repo.git")
    shutil.copytree(SCRIPTS, work / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [work, *work.rglob("*")]:
        os.utime(path, (1700000000, 1700000000), follow_symlinks=False)
        if os.geteuid() == 0:
            os.lchown(path, USER, USER)


def left_in(folder):
    """Types, permissions and contents of what is in a folder."""
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
