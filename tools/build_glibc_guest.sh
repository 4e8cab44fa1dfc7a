#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds one static Linux guest with glibc: build_glibc_guest.sh OUTPUT [FLAG or SOURCE]...
# Unless a flag says otherwise, it is compiled with -O3, which vectorises, and is not position-independent. It contains
# the static C library of the cross compiler's packages.
set -eu
cd "$(dirname "$0")/.."
compiler=${MYRIARM_GUEST_COMPILER:-aarch64-linux-gnu-gcc}
if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "build_glibc_guest.sh: $compiler is missing: install the Debian package gcc-aarch64-linux-gnu." >&2
  exit 3
fi
if [ "$("$compiler" -print-file-name=libc.a)" = libc.a ]; then
  echo "build_glibc_guest.sh: $compiler has no static C library: install the Debian package libc6-dev-arm64-cross." >&2
  exit 3
fi
output=$1
shift
link="-fno-pie -static"
for word; do
  [ "$word" != -static-pie ] || link=-fpie
done
# shellcheck disable=SC2086  # flags
exec "$compiler" -std=gnu11 -O3 -Wall -Wextra $link "$@" -o "$output" -lm
