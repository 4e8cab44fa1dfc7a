#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian or Ubuntu packages that a set of make targets needs, and only those that are missing:
#   tools/setup.sh build|run|test|bench|wheel|format|tidy|lint|ci
#   tools/setup.sh flags      prints the CMake options that leave out packages which this release does not have
# Where all packages are installed it does nothing and needs no root. With MYRIARM_SETUP=check it only prints the
# missing packages (exit status 1); with MYRIARM_SETUP=skip it checks nothing.
set -eu

build="g++ make cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev"
run="$build python3"
python="python3-venv python3-dev"
oracles="libunicorn-dev libcapstone-dev qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross binutils-aarch64-linux-gnu"
# Ubuntu 22.04 has no package of Unicorn. There CMake leaves out the tests that compare with it, and says so.
# shellcheck source=/dev/null
release=$(if [ -r /etc/os-release ]; then . /etc/os-release; fi; echo "${VERSION_CODENAME:-}")
flags=
if [ "$release" = jammy ]; then
  oracles=${oracles#libunicorn-dev }
  flags=-DMYRIARM_WITH_UNICORN=OFF
fi

# LLVM 16 or later with its clang, to translate guest code: the release's newest. Only tests and benchmarks need it; what is
# built without it interprets.
case "$release" in
  bookworm|trixie) llvm="llvm-19-dev clang-19" ;;
  noble) llvm="llvm-18-dev clang-18" ;;
  *) llvm= ;;
esac

# A Python first on the PATH that has venv and its headers needs no packages of the distribution.
if python3 -c 'import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null; then
  python=
fi

case "${1:-}" in
  flags) echo "$flags"; exit 0 ;;
  build) wanted=$build ;;
  run) wanted=$run ;;
  test) wanted="$run libgtest-dev libmpfr-dev clang llvm pkg-config $llvm $oracles $python" ;;
  wheel) wanted="$run $python" ;;
  bench) wanted="$run $llvm $oracles" ;;
  format) wanted="clang-format git" ;;
  tidy) wanted="$build $python git" ;;
  lint) wanted="python3 $python git" ;;
  ci) wanted=ccache ;;
  *) echo "usage: tools/setup.sh build|run|test|bench|wheel|format|tidy|lint|ci|flags" >&2; exit 2 ;;
esac
[ "${MYRIARM_SETUP:-install}" != skip ] || exit 0

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  echo "tools/setup.sh: this is neither Debian nor Ubuntu: install what these packages contain: \"$wanted\", then" \
       "run make with MYRIARM_SETUP=skip." >&2
  exit 1
fi

missing=
for package in $wanted; do
  if ! dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -q '^installed$'; then
    missing="$missing $package"
  fi
done
[ -n "$missing" ] || exit 0
if [ "${MYRIARM_SETUP:-install}" = check ]; then
  echo "tools/setup.sh: missing packages:$missing" >&2
  exit 1
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1; then
  as_root=sudo
else
  echo "tools/setup.sh: you are not root and there is no sudo: become root and run \"apt-get install$missing\"." >&2
  exit 1
fi

echo "tools/setup.sh: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
  if ! $as_root env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "tools/setup.sh: \"$*\" failed; its last lines are above. On Ubuntu some of these packages are in" \
         "\"universe\": enable that, and check the network." >&2
    exit 1
  fi
}
quietly apt-get update
# shellcheck disable=SC2086  # one word a package
quietly apt-get install -y --no-install-recommends $missing
