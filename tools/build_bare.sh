#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds one bare program for `myriarm run --raw 0`: build_bare.sh OUTPUT [--fp] [FLAG or SOURCE]...
# The code starts with _start at address 0. Zeroed data lies from 64 KiB on and takes no space in the file.
# --fp allows floating point and vector registers. Contraction stays off, so that results are the same on every machine.
set -eu
cd "$(dirname "$0")/.."
compiler=${MYRIARM_GUEST_COMPILER:-aarch64-linux-gnu-gcc}
if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "build_bare.sh: $compiler is missing: install the Debian package gcc-aarch64-linux-gnu." >&2
  exit 3
fi
output=$1
shift
registers=-mgeneral-regs-only
if [ "${1:-}" = --fp ]; then
  registers="-ffp-contract=off -fno-math-errno"
  shift
fi
elf=$(mktemp)
trap 'rm -f "$elf"' EXIT
# shellcheck disable=SC2086  # flags
"$compiler" -std=gnu11 -O2 -ffreestanding -fno-builtin $registers -fno-pic -no-pie -fno-stack-protector \
  -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ident -fno-tree-loop-distribute-patterns \
  -Wall -Wextra -Werror "$@" -static -nostdlib -nostartfiles -Wl,--build-id=none -Wl,-e,_start -Wl,-N \
  -Wl,--no-warn-rwx-segments -Wl,-Ttext=0 -Wl,-Tdata=0x10000 -Wl,-Tbss=0x10000 -o "$elf"
if [ "$(aarch64-linux-gnu-nm "$elf" | grep ' _start$')" != "0000000000000000 T _start" ]; then
  echo "build_bare.sh: _start of $output is not at address 0: put it into the section .text.start." >&2
  exit 1
fi
aarch64-linux-gnu-objcopy -O binary -R .comment -R '.note*' "$elf" "$output"
chmod 644 "$output"
