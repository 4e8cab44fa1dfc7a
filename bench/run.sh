#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks of a build and appends JSON lines to bench/results/: run.sh BUILD_FOLDER. The machine must be idle:
# figures of a busy machine are not comparable.
set -eu
cd "$(dirname "$0")/.."
build=${1:?run.sh BUILD_FOLDER: give the folder that make bench builds in}
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit with local changes"
results=bench/results/$(date -u +%Y-%m-%d).jsonl
if [ -x "$build/bin/compare" ]; then
  "$build/bin/compare" --commit "$commit" --json "$results"
else
  echo "run.sh: built without Unicorn: no comparison with other emulators"
fi
"$build/bin/modes_bench" --device auto --commit "$commit" --json "$results"
"$build/bin/fleet_bench" --device auto --commit "$commit" --json "$results"
"$build/bin/written_code" --device auto --commit "$commit" --json "$results"
"$build/bin/queue_bench" examples/prebuilt/sha256 --device auto --commit "$commit" --json "$results"
echo "run.sh: appended to $results"
