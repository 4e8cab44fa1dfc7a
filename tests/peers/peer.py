# SPDX-License-Identifier: Apache-2.0
"""What a program prints on a peer: natively on the host's Linux, or under QEMU user mode upon it.

When the host is loaded, a timer or a thread may come later than usual there, and a call then gives another
result. Myriarm's results do not depend on the host's load, so a test runs myriarm once, and asks the peer
again where the two differ."""

RUNS = 5  # of a peer, at most


class Peer:
    """`run` runs the program and returns (lines, status, text of standard error)."""

    def __init__(self, run):
        self._run = run
        self.lines, self.status, self.problem = run()
        self._runs, self._asked = [self.lines], 1

    def _ask_again(self):
        """A run that ends otherwise than the first one, or has more or fewer lines, says nothing."""
        lines, status, _ = self._run()
        self._asked += 1
        if (len(lines), status) == (len(self.lines), self.status):
            self._runs.append(lines)

    def differences(self, got, may_differ=lambda line: False, first=None):
        """(peer's line, line of `got`) of each place where no run of the peer has the line of `got`, without
        those lines of the peer that may differ; of the `first` places, or of all. Where one side has no more
        lines, it has "nothing". `got` is a list of lines, or another peer, of which any run will do."""
        peers = [self] + ([got] if isinstance(got, Peer) else [])
        while True:
            theirs = got._runs if isinstance(got, Peer) else [got]
            different = []
            for i in range(first or max(map(len, self._runs + theirs))):
                right, found = _lines_at(i, self._runs), _lines_at(i, theirs)
                if not set(right) & set(found) and not may_differ(right[0]):
                    different.append((right[0], found[0]))
            again = [peer for peer in peers if peer._asked < RUNS]
            if not different or not again:
                return different
            for peer in again:
                peer._ask_again()


def _lines_at(i, runs):
    return [lines[i] if i < len(lines) else "nothing" for lines in runs]
