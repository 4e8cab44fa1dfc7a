# SPDX-License-Identifier: Apache-2.0
"""A search that keeps the inputs whose output is new, as a fuzzer does, without reading any output.

Digests have the hash of what a process wrote. The inputs are rows of one array, 20,000 a round: copies of
documents that were kept, with some bytes mutated. The parser prints how many values a document has, and how
deep they lie; one that it takes, and whose output is new, is kept. At the end the kept ones run once more, to
show what was printed.

python examples/python/coverage.py [DEVICE [ROUNDS]]
"""

import pathlib
import sys

import myriarm
import numpy as np

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
PARSER = pathlib.Path(__file__).parents[1] / "prebuilt" / "json"
INPUTS, SIZE = 20_000, 32
CHARACTERS = np.frombuffer(b'[]{}:,"1 ', np.uint8)


def mutated(kept, random):
    """An array of shape (INPUTS, SIZE): kept documents, each with up to three bytes replaced."""
    rows = kept[random.integers(0, len(kept), INPUTS)]
    for _ in range(3):
        places = random.integers(0, SIZE, INPUTS)
        rows[np.arange(INPUTS), places] = CHARACTERS[random.integers(0, len(CHARACTERS), INPUTS)]
    return rows


def main():
    random = np.random.default_rng(1)
    kept = np.frombuffer(b"[]".ljust(SIZE), np.uint8).reshape(1, SIZE)
    seen = np.empty(0, np.uint64)
    print("   inputs   new outputs   in all")
    with myriarm.Queue(PARSER, device=DEVICE) as queue:
        for number in range(1, ROUNDS + 1):
            rows = mutated(kept, random)
            digests = np.concatenate(list(queue.digests([rows])))
            taken = np.flatnonzero(digests["stop_detail"] == 0)  # the exit status
            hashes, first = np.unique(digests["stdout_hash"][taken], return_index=True)
            new = ~np.isin(hashes, seen)
            kept = np.concatenate([kept, rows[taken[first[new]]]])
            seen = np.concatenate([seen, hashes[new]])
            print(f"{number * INPUTS:9,}{new.sum():14,}{len(seen):9,}")
        results = list(queue.run([row.tobytes() for row in kept]))

    most = max(results, key=lambda result: int(result.stdout.split()[0]))
    print(f"\n{most.stdout.decode().strip()}: {kept[most.number].tobytes().decode().strip()}")


if __name__ == "__main__":
    main()
