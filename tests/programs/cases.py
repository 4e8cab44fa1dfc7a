# SPDX-License-Identifier: Apache-2.0
# The cases of each guest program: arguments, standard input and, if it is known independently, the expected
# output. All other results are compared with QEMU user mode.

TEXT = b"""It was a bright cold day in April, and the clocks were striking thirteen lanes.
the lane the warp the page, the lane the warp the frame
"quoted" and (1 + 2) * 3
\ttabs and trailing blanks   \n\n"""
SUMS = b"1 + 2 * 3\n(1 + 2) * -3\n7 / 0 - 8 / 3\n99999999999 * 7 - -1\n((((((((((5))))))))))\n"
BINARY = bytes(range(256)) * 5
JSONS = [
    b'{"b": [1, 2, {"c": null}], "a": "x\\ny", "a": 0.5e-7}',
    b"[" * 60 + b"]" * 60,
    b"[" * 200,
    b'  "lone string"  ',
    b'{"unfinished": [1, 2',
    b"[1, 2,]",
    b"[01]",
    b"[-]",
    b'["\\u12G4"]',
    b'["control \x01"]',
    b"truth",
    b"[9223372036854775807, -9223372036854775808, 18446744073709551616, 1E400]",
]
FAULTS = ["null", "null-store", "high", "kernel", "readonly", "code", "jump", "brk", "udf",
          "privileged", "stack"]


def case(*arguments, stdin=b"", expect=None, oldest_qemu=0):
    """`oldest_qemu`: first major version of QEMU that is right; older ones must give another exit status."""
    return {"arguments": list(arguments), "stdin": stdin, "expect": expect, "oldest_qemu": oldest_qemu}


def seeds(*more):
    return [case(), case("1"), case("12345"), case("18446744073709551615")] + list(more)


def program(cases, sources=None, flags=(), lanes=True, oldest_qemu=None):
    """`lanes`: also run 100 lanes, each with its lane number as seed. `oldest_qemu`: by variant, the first
    major version of QEMU that is right; older ones must differ in a case."""
    return {
        "cases": cases,
        "sources": sources,
        "flags": list(flags),
        "lanes": lanes,
        "oldest_qemu": oldest_qemu or {},
        "tool": "build_guest.sh",
        "variants": VARIANTS,
    }


def glibc(name, *more, **variants):
    """A program of src/glibc, linked statically with glibc. Each keyword is the name of a build, with its
    flags; the default is one build with -O3. The 100 lanes run the first build."""
    made = program([case("0"), case("12345"), *more], sources=[f"tests/programs/src/glibc/{name}.c"])
    return dict(made, tool="build_glibc_guest.sh", variants=variants or {"O3": []})


# The builds of every program with the runtime of examples/guest. Armv8.2-A has LSE atomics and CRC32.
VARIANTS = {"O2": ["-O2"], "O3-v8.2": ["-O3", "-march=armv8.2-a"]}

PROGRAMS = {
    "aes": program(seeds()),
    "arithmetic": program(seeds()),
    # For 32-bit minima and maxima QEMU 6 compares all 64 bits of the register.
    "atomics": program(seeds(), oldest_qemu={"O3-v8.2": 7}),
    "bigint": program(seeds()),
    "control": program(seeds(case("3", stdin=SUMS))),
    "coremix": program(seeds()),
    "crc": program(seeds()),
    "echo": program([case(), case(stdin=TEXT), case("0", stdin=TEXT), case("6", stdin=BINARY)], lanes=False),
    "exit42": program([case(expect="the answer\n")]),
    # QEMU 6 fetches from addresses that are not multiples of 4 and from pages that are not executable, and
    # allows unaligned exclusives.
    "fault": program(
        [case(kind) for kind in FAULTS]
        + [case(kind, oldest_qemu=7) for kind in ("jump-odd", "jump-data", "exclusive")]
        + [case("none")]
    ),
    "heap": program(seeds()),
    "json": program(seeds(*[case(stdin=text) for text in JSONS])),
    "kernel": program(
        [
            case(),
            case("a", "b c", "", "--lanes", "-x", "*", "\u00e9"),
            case(stdin=b"abc"),
            case("x" * 3000, stdin=TEXT),
        ]
    ),
    "lz": program(seeds(case(stdin=TEXT * 20), case(stdin=b"a" * 5000), case(stdin=BINARY))),
    "matrix": program(seeds()),
    "memory": program(seeds()),
    "regex": program(seeds(case("3", "(a|b)*c", "abbac"), case("4", "x.?z$", "xz"))),
    "selfmod": program(seeds(), flags=["-Wl,-N"]),
    "sha256": program(seeds()),
    "sieve": program(seeds()),
    "sort": program(seeds()),
    "words": program(seeds(case(stdin=TEXT))),
    # The check values of mixed.c, from a native build.
    "mixed": program(
        [
            case("0", "1", expect="0000001647233d8f\n"),
            case("0", "10", expect="cc0884efa9414ef2\n"),
            case("1", "1", expect="000000127e5c108d\n"),
            case("7", "1", expect="00000014dceb8467\n"),
            case("12345", "10", expect="24c8176d4d19db3d\n"),
        ],
        sources=["bench/guests/mixed_linux.c", "bench/guests/mixed.c"],
    ),
    # The results of a native build. None of the builds contracts.
    "nbody": dict(
        program(
            [case("0", "1", expect="bfc5a4236f17f43d\n"), case("7", "1", expect="bfc5a4236f17bfd6\n")],
            sources=["bench/guests/nbody_linux.c", "bench/guests/nbody.c"],
        ),
        variants={name: ["--fp", *flags] for name, flags in VARIANTS.items()},
    ),
    "example_collatz": program([case(), case("5", "100")], sources=["examples/collatz.c"]),
    "example_fault": program(
        [case(), case("readonly"), case("undefined"), case("some")], sources=["examples/fault.c"]
    ),
    "example_hello": program([case(expect="hello from lane 0\n")], sources=["examples/hello.c"]),
    "example_json": program(
        [
            case(stdin=b'{"a": [1, 2.5e3, "\\u00e9"], "b": null}', expect="6 values, depth 2\n"),
            case(stdin=b"[" * 64 + b"]" * 64, expect="64 values, depth 64\n"),
            *[case(stdin=text) for text in (b"", b"[1,]", b"01", b'"a', b"-", b"1.", b"[" * 65, *JSONS)],
        ],
        sources=["examples/json.c"],
    ),
    "example_life": program([case(), case("9", "30")], sources=["examples/life.c"]),
    "example_lock": program(
        [
            case(stdin=b"open sesame, 40 thieves!", expect="it opens\n"),
            case(stdin=b"open sesame, 40 thieves!\n", expect="it opens\n"),
            *[case(stdin=text) for text in (b"", b"open", b"open sesame, 40 thieves!!", BINARY)],
        ],
        sources=["examples/lock.c"],
    ),
    "example_mandelbrot": program([case(), case("17")], sources=["examples/mandelbrot.c"]),
    "example_pi": program([case(), case("3", "1000")], sources=["examples/pi.c"]),
    "example_proof_of_work": program([case(), case("3", "10")], sources=["examples/proof_of_work.c"]),
    "example_queens": program(
        [case("0", str(size)) for size in range(1, 10)]
        + [case("0", "8", expect="8 queens: 92 solutions\n"), case("40")],
        sources=["examples/queens.c"],
    ),
    "example_sha256": program(
        [
            case(
                stdin=b"abc", expect="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n"
            ),
            case(stdin=BINARY),
        ],
        sources=["examples/sha256.c"],
    ),
    "glibc_nbody": glibc("nbody", O3=[], Ofast=["-Ofast", "-mlow-precision-sqrt", "-mlow-precision-div"]),
    "glibc_fft": glibc("fft", O3=[], fast_v8_3=["-ffast-math", "-march=armv8.3-a"]),
    "glibc_matrix": glibc("matrix", O3=[], O1=["-O1"], dot_products=["-march=armv8.2-a+dotprod"]),
    "glibc_mandelbrot": glibc("mandelbrot", O3=[], O2=["-O2"]),
    "glibc_decimal": glibc("decimal", case("1"), case("2")),
    "glibc_libm": glibc("libm", case("1"), case("2")),
    "glibc_fenv": glibc("fenv", O3=[], O0=["-O0"]),
    "glibc_png": glibc("png", O3=[], Os=["-Os"]),
    "glibc_hashes": glibc("hashes", O3=["-march=armv8.2-a+crypto+sha3+sm4+crc"]),
    "glibc_ciphers": glibc("ciphers", O3=["-march=armv8-a+crypto"]),
    "glibc_half": glibc("half", O3=["-march=armv8.2-a+fp16+fp16fml+dotprod"]),
    "glibc_strings": glibc("strings", O3=[], pie_v8_2=["-static-pie", "-march=armv8.2-a"]),
    # QEMU 6 ignores madvise.
    "glibc_blocks": glibc(
        "blocks",
        *[case("1", how) for how in ("read-only", "none", "unmapped")],
        case("1", "advice", oldest_qemu=7),
    ),
    "glibc_ending": glibc(
        "ending",
        *[case("1", how) for how in ("abort", "assert", "raise", "kill", "blocked", "quick", "sleep")],
    ),
}

LANES = 100
SAMPLED_LANES = [0, 1, 2, 7, 15, 31, 32, 33, 63, 64, 99]
