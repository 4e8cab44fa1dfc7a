#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where there is no GPU to test on, prints the reason and exits with 77, which most test harnesses take as "skipped": a
# command that has tested nothing must not look as if it had passed.
set -eu
if "$1" info --json | grep -q '"cuda:0"'; then
  exit 0
fi
echo "test-gpu: there is no GPU to test on, so nothing was tested; \"make test\" tests the CPU. myriarm info says:" >&2
"$1" info >&2
exit 77
