#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a build folder if it is new, or if an option is asked for that the folder does not have:
#   tools/configure.sh PRESET FOLDER [-DNAME=VALUE ...]
# A new folder has no tests and no benchmarks, so that a build needs none of their packages. Once switched on, they stay
# on. When a CMakeLists.txt changes, the build itself configures again.
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
