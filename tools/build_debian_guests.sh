#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the programs of bench/real_programs.py in a folder: tools/build_debian_guests.sh DIR
#   busybox, lua, sqlite3  static, for AArch64: Debian's busybox-static, and Debian's sources of lua5.4 and of sqlite3 with
#                          its shell, built with the cross compiler
#   qemu-aarch64           of Debian's qemu-user-static, for this machine: it needs no other file
# What DIR has already is kept. apt fetches and verifies, from the sources that it knows on this machine, in a state of its
# own; it needs no privileges. Beside the tools below this needs some 130 MB in the folder of temporary files.
set -eu

fail() {
  echo "build_debian_guests.sh: $1" >&2
  exit 3
}

[ $# -eq 1 ] || fail 'give one folder, as in: tools/build_debian_guests.sh guests'
for tool in apt-get dpkg-deb dpkg-source make gcc tclsh aarch64-linux-gnu-gcc aarch64-linux-gnu-strip; do
  command -v "$tool" > /dev/null ||
    fail "$tool is missing: install the Debian packages dpkg-dev, build-essential, tcl and gcc-aarch64-linux-gnu"
done
mkdir -p "$1"
guests=$(cd "$1" && pwd)
host=$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/sources"
: > "$work/state/status"
cat > "$work/apt.conf" <<CONFIGURATION
APT::Architecture "$host";
#clear APT::Architectures;
APT::Architectures { "$host"; "arm64"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
Dir::Log "$work";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/sources";
CONFIGURATION
# The machine's sources of packages, also as sources of source packages.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  copy=$work/sources/$(basename "$file")
  case $file in
    *.sources) sed 's/^Types:.*/Types: deb deb-src/' "$file" > "$copy" ;;
    *.list) [ ! -f "$file" ] || sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' "$file" > "$copy" ;;
  esac
done
export APT_CONFIG="$work/apt.conf"

# Some of the sources may lack arm64 or source packages: what is missing for them is no mistake.
apt-get -qq update > "$work/update" 2>&1 || true
cd "$work"

fetch() {
  apt-get -qq "$@" > "$work/fetch" 2>&1 ||
    fail "apt cannot fetch $2 ($(sed -n 's/^E: //p' "$work/fetch" | head -1)); does it have Debian's sources?"
}

compile() {
  program=$1
  shift
  echo "build_debian_guests.sh: compiling $program" >&2
  # -w: warnings about these sources are not ours to mend.
  aarch64-linux-gnu-gcc -std=gnu11 -O2 -w -static -fno-pie "$@" -o "$work/$program" -lm 2> "$work/errors" ||
    fail "$program cannot be built: $(head -1 "$work/errors")"
  aarch64-linux-gnu-strip -o "$guests/$program" "$work/$program"
}

if [ ! -f "$guests/busybox" ]; then
  fetch download busybox-static:arm64
  dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -xO ./bin/busybox > "$work/busybox"
  install -m 755 "$work/busybox" "$guests/busybox"
fi
if [ ! -f "$guests/qemu-aarch64" ]; then
  fetch download qemu-user-static
  dpkg-deb --fsys-tarfile qemu-user-static_*.deb | tar -xO ./usr/bin/qemu-aarch64-static > "$work/qemu"
  install -m 755 "$work/qemu" "$guests/qemu-aarch64"
fi
if [ ! -f "$guests/lua" ]; then
  fetch source lua5.4
  # Debian's rules make this header, too.
  mv lua5.4-*/src lua-sources
  echo '#define DEB_HOST_MULTIARCH "aarch64-linux-gnu"' > lua-sources/lua5.4-deb-multiarch.h
  rm lua-sources/luac.c
  compile lua -DLUA_USE_POSIX lua-sources/*.c
fi
if [ ! -f "$guests/sqlite3" ]; then
  fetch source sqlite3
  mkdir amalgamation
  (cd amalgamation && ../sqlite3-*/configure --disable-tcl --disable-readline && make sqlite3.c shell.c) > make 2>&1 ||
    fail "the sources of sqlite3 cannot be put together: $(tail -1 make)"
  compile sqlite3 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION amalgamation/sqlite3.c amalgamation/shell.c
fi
