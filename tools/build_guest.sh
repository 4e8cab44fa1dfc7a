#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds one freestanding Linux guest: build_guest.sh OUTPUT [--fp] [FLAG or SOURCE]...
# Only this script has the compiler flags of guests: general registers only, no C library, one small static ELF file
# whose bytes depend only on the sources and the compiler. Later flags win, so a test can choose another optimisation.
# --fp allows floating point and vector registers. Contraction stays off, so that results are the same on every machine.
set -eu
cd "$(dirname "$0")/.."
compiler=${MYRIARM_GUEST_COMPILER:-aarch64-linux-gnu-gcc}
if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "build_guest.sh: $compiler is missing: install the Debian package gcc-aarch64-linux-gnu." >&2
  exit 3
fi
output=$1
shift
registers=-mgeneral-regs-only
if [ "${1:-}" = --fp ]; then
  registers="-ffp-contract=off -fno-math-errno"
  shift
fi
# Linkers before 2.39 do not warn of such segments and do not know the option.
quiet=
if "$("$compiler" -print-prog-name=ld)" --help | grep -q -e --no-warn-rwx-segments; then
  quiet=-Wl,--no-warn-rwx-segments
fi
# shellcheck disable=SC2086  # flags, or nothing
exec "$compiler" -std=gnu11 -O2 -ffreestanding -fno-builtin $registers -mno-outline-atomics \
  -fno-pic -no-pie -fno-stack-protector -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ident \
  -fno-tree-loop-distribute-patterns -ffunction-sections -fdata-sections -Wall -Wextra -Werror \
  -Iexamples/guest/runtime examples/guest/runtime/guest.c examples/guest/runtime/start.S "$@" \
  -static -nostdlib -nostartfiles -s -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
  -Wl,-z,noseparate-code $quiet -o "$output"
