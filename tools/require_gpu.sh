#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Says why there is no GPU to test on, and exits with 77 ("skipped" to most test harnesses): a test command that
# tested nothing must not look like one that passed.
set -eu
if "$1" info --json | grep -q '"cuda:0"'; then
  exit 0
fi
echo "test-gpu: there is no GPU to test on, so nothing was tested; \"make test\" tests the CPU. What myriarm found:" >&2
"$1" info >&2
exit 77
