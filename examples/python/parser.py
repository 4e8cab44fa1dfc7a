# SPDX-License-Identifier: Apache-2.0
"""A parser fed 100,000 inputs: documents that random mutations have damaged. Python's own parser must agree.

python examples/python/parser.py [DEVICE [INPUTS]]
"""

import json
import pathlib
import random
import sys

import myriarm

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
INPUTS = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
PARSER = pathlib.Path(__file__).parents[1] / "prebuilt" / "json"

DOCUMENTS = (
    b'{"name": "lane", "number": 42, "tags": ["a", "b"], "next": null}',
    b'[0, -1, 2.5, 3e8, -4.25E-3, [], {}, [[["deep"]]]]',
    b'{"text": "quote \\" slash \\\\ line \\n snowman \\u2603", "ok": [true, false]}',
)
PIECES = (b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"\\u00", b"0", b"-", b".", b"e+", b"null", b" ")


def mutated(source):
    """A document with up to three bytes removed, replaced by a piece, or with a piece put before them."""
    data = bytearray(source.choice(DOCUMENTS))
    for _ in range(source.randrange(4)):
        at = source.randrange(len(data))
        data[at : at + source.randrange(2)] = source.choice((b"", *PIECES))
    return bytes(data)


def python_takes(document):
    def refuse(constant):
        raise ValueError(constant)  # NaN and Infinity are no JSON

    try:
        json.loads(document, parse_constant=refuse)
    except ValueError:
        return False
    return True


def main():
    source = random.Random(1)
    documents = [mutated(source) for _ in range(INPUTS)]
    verdicts = {"valid": [], "refused": [], "crashed": []}
    agreed = 0
    with myriarm.Queue(PARSER, device=DEVICE) as queue:
        for result in queue.run(documents):
            verdict = {0: "valid", 1: "refused"}.get(result.exit_status, "crashed")
            verdicts[verdict].append(result.instructions)
            agreed += (verdict == "valid") == python_takes(documents[result.number])
        progress, device = queue.progress, queue.device.id

    print(f"{'verdict':10}{'documents':>12}{'instructions each':>20}")
    for verdict, counts in verdicts.items():
        mean = sum(counts) / len(counts) if counts else 0
        print(f"{verdict:10}{len(counts):12,}{mean:20,.0f}")
    print(f"\nPython's parser agrees on {agreed:,} of {INPUTS:,}")
    print(f"{progress.done / progress.seconds:,.0f} documents a second on {device}")


if __name__ == "__main__":
    main()
