#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rebuilds examples/prebuilt/ from its sources. The bytes are the same with the compiler that examples/prebuilt/COMPILER
# names.
#   build_examples.sh           rebuilds in place
#   build_examples.sh --check   compares; exit status 0: same, 1: different, 3: no compiler, 77: other compiler
set -eu
cd "$(dirname "$0")/.."
compiler=${MYRIARM_GUEST_COMPILER:-aarch64-linux-gnu-gcc}
prebuilt=examples/prebuilt
if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "build_examples.sh: $compiler is missing: install the Debian package gcc-aarch64-linux-gnu." >&2
  exit 3
fi
version="$("$compiler" --version | head -n 1); $(aarch64-linux-gnu-ld --version | head -n 1)"

build_all() {
  for name in collatz fault hello json life lock mandelbrot pi proof_of_work queens sha256; do
    tools/build_guest.sh "$1/$name" "examples/$name.c"
  done
  tools/build_guest.sh "$1/mixed" bench/guests/mixed_linux.c bench/guests/mixed.c
  for iterations in 1 4 10; do
    tools/build_bare.sh "$1/mixed_$iterations.bin" "-DITERATIONS=$iterations" bench/guests/mixed_bare.S bench/guests/mixed.c
  done
  tools/build_guest.sh "$1/nbody" --fp bench/guests/nbody_linux.c bench/guests/nbody.c
  tools/build_bare.sh "$1/nbody_1.bin" --fp -DITERATIONS=1 bench/guests/nbody_bare.S bench/guests/nbody.c
  tools/build_bare.sh "$1/loop_add.bin" bench/guests/loop_add.S
  tools/build_bare.sh "$1/loop_store.bin" bench/guests/loop_store.S
  echo "$version" >"$1/COMPILER"
}

case "${1:-}" in
  "")
    build_all "$prebuilt"
    echo "build_examples.sh: rebuilt $prebuilt with $version"
    ;;
  --check)
    recorded=$(cat "$prebuilt/COMPILER")
    if [ "$recorded" != "$version" ]; then
      echo "build_examples.sh: skipped: \"$recorded\" built the examples, this machine has \"$version\"; only the same" \
        "compiler gives the same bytes." >&2
      exit 77
    fi
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    build_all "$fresh"
    if ! diff -rq "$fresh" "$prebuilt"; then
      echo "build_examples.sh: $prebuilt differs from what its sources give: run tools/build_examples.sh and commit the result." >&2
      exit 1
    fi
    echo "build_examples.sh: $prebuilt is what its sources give with $version"
    ;;
  *)
    echo "build_examples.sh: unknown option \"$1\": use --check, or no option." >&2
    exit 2
    ;;
esac
