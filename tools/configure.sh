#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a build folder once, and again only when it is asked for something that the folder does not have:
#   tools/configure.sh PRESET FOLDER [-DNAME=VALUE ...]
# A fresh folder has no tests and no benchmarks, so that building needs none of their packages; once they are
# switched on they stay on. CMake itself configures again when a CMakeLists.txt changes.
set -eu
preset=$1
folder=$2
shift 2
if [ ! -f "$folder/build.ninja" ]; then
  exec cmake --preset "$preset" -DMYRIARM_BUILD_TESTS=OFF "$@"
fi
for definition in "$@"; do
  name=${definition%%=*}
  name=${name#-D}
  if ! grep -qxE "${name%%:*}:[A-Z]+=${definition#*=}" "$folder/CMakeCache.txt"; then
    exec cmake --preset "$preset" "$@"
  fi
done
