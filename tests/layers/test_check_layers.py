#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Tests tools/check_layers.py: a small tree that keeps every rule passes, and a break of each rule is found.
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "src/core/portable.h": SPDX + "#include <stdint.h>\n#if defined(__CUDACC__)\n#endif\n",
    "src/core/cpu.h": SPDX + '#include "core/portable.h"\n// std::vector, goto, virtual: allowed here\n',
    "src/isa/rows.h": SPDX + '#include "core/cpu.h"\nconst char* kText = "throw";\n',
    "src/isa/a64.inc": SPDX + "ROW\n" * 2000,
    "src/isa/disassembler.cpp": SPDX + '#include "myriarm/isa.h"\n#include "isa/rows.h"\n#include <vector>\n',
    "src/support/text.h": SPDX + "#include <string>\n",
    "src/backends/common/run.h": SPDX + '#include "core/cpu.h"\n#include "isa/rows.h"\n',
    "src/backends/backend.h": SPDX + '#include "backends/common/run.h"\n#include "myriarm/fleet.h"\n',
    "src/backends/cpu/run.h": SPDX + '#include "backends/backend.h"\n#include "backends/common/run.h"\n',
    "src/backends/cpu/run.cpp": SPDX + '#include "backends/cpu/run.h"\n#include "support/text.h"\n',
    "src/backends/cuda/run.h": SPDX,
    "src/backends/cuda/run.cu": SPDX
    + '#include <cuda_runtime.h>\n#include "backends/backend.h"\n#include "run.h"\n',
    "src/fleet/fleet.cpp": SPDX + '#include "backends/backend.h"\n#include "myriarm/fleet.h"\n',
    "src/fleet/image.cpp": SPDX + '#include "support/text.h"\n',
    "src/linux/elf.cpp": SPDX
    + '#include "linux/elf.h"\n#include "myriarm/linux.h"\n#include "support/text.h"\n',
    "src/linux/elf.h": SPDX,
    "include/myriarm/fleet.h": SPDX + "#include <cstdint>\n",
    "include/myriarm/isa.h": SPDX,
    "include/myriarm/linux.h": SPDX + '#include "myriarm/fleet.h"\n',
    "cli/main.cpp": SPDX + '#include "run.h"\n#include <CLI/CLI.hpp>\n#include "myriarm/linux.h"\n',
    "cli/run.h": SPDX,
    "examples/guest/guest.h": SPDX,
    "examples/hello.c": SPDX + '#include "guest/guest.h"\n',
    "tests/unit/any.cpp": SPDX + '#include "fleet/fleet.h"\n#include <goto>\n',
    "tools/x.py": "#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n",
    "README.md": 'Write to "$HOME/{}/x" or ../{}/y or https://example.org/home/page.\n'.format(
        "work", "root"
    ),
    "build/bad.h": "not ours",
}
# Breaks each rule: a file, its text, and what the message must contain.
BROKEN = [
    ("src/core/x.h", SPDX + '#include "isa/rows.h"\n', "src/core must not include src/isa/rows.h"),
    (
        "src/core/x.h",
        SPDX + '#include "myriarm/fleet.h"\n',
        "src/core must not include include/myriarm/fleet.h",
    ),
    ("src/core/x.h", SPDX + "#include <cstring>\n", "freestanding code includes no <cstring>"),
    ("src/core/x.h", SPDX + "std::size_t x;\n", "x.h:2: freestanding code has no std::"),
    ("src/core/x.h", SPDX + "void f() { throw 1; }\n", "has no throw"),
    ("src/core/x.h", SPDX + "void f() { try {\n} catch (...) {} }\n", "has no try or catch"),
    ("src/core/x.h", SPDX + "struct A { virtual void f(); };\n", "has no virtual"),
    ("src/core/x.h", SPDX + "void f() { goto end; }\n", "has no goto"),
    ("src/core/x.h", SPDX + "#ifdef __CUDA_ARCH__\n#endif\n", "only src/core/portable.h asks"),
    ("src/isa/forms/x.h", SPDX + "#include <vector>\n", "freestanding code includes no <vector>"),
    (
        "src/isa/x.cpp",
        SPDX + '#include "backends/backend.h"\n',
        "src/isa must not include src/backends/backend.h",
    ),
    (
        "src/isa/x.cpp",
        SPDX + '#include "myriarm/fleet.h"\n',
        "src/isa must not include include/myriarm/fleet.h",
    ),
    ("src/support/x.h", SPDX + '#include "core/cpu.h"\n', "src/support must not include src/core/cpu.h"),
    ("src/support/x.h", SPDX + "#include <fmt/format.h>\n", "may include <fmt/format.h>"),
    ("src/core/x.h", SPDX + '#include "support/text.h"\n', "src/core must not include src/support/text.h"),
    (
        "src/backends/x.h",
        SPDX + '#include "fleet/fleet.cpp"\n',
        "src/backends must not include src/fleet/fleet.cpp",
    ),
    (
        "src/backends/x.h",
        SPDX + '#include "myriarm/linux.h"\n',
        "src/backends must not include include/myriarm/linux.h",
    ),
    (
        "src/backends/x.h",
        SPDX + '#include "backends/cpu/run.h"\n',
        "src/backends must not include src/backends/cpu/run.h",
    ),
    (
        "src/backends/common/x.h",
        SPDX + '#include "backends/backend.h"\n',
        "src/backends/common must not include src/backends/backend.h",
    ),
    (
        "src/backends/common/x.h",
        SPDX + '#include "backends/cpu/run.h"\n',
        "src/backends/common must not include src/backends/cpu/run.h",
    ),
    (
        "src/backends/common/x.h",
        SPDX + '#include "support/text.h"\n',
        "src/backends/common must not include src/support/text.h",
    ),
    ("src/backends/common/x.h", SPDX + "#include <vector>\n", "freestanding code includes no <vector>"),
    ("src/backends/common/x.h", SPDX + "std::size_t x;\n", "freestanding code has no std::"),
    (
        "src/backends/cpu/x.cpp",
        SPDX + '#include "backends/cuda/run.h"\n',
        "src/backends/cpu must not include src/backends/cuda/run.h",
    ),
    (
        "src/backends/cuda/x.cpp",
        SPDX + '#include "backends/cpu/run.h"\n',
        "src/backends/cuda must not include src/backends/cpu/run.h",
    ),
    (
        "src/backends/cuda/x.cpp",
        SPDX + '#include "../cpu/run.h"\n',
        "src/backends/cuda must not include src/backends/cpu/run.h",
    ),
    (
        "src/backends/cpu/x.cpp",
        SPDX + '#include "fleet/fleet.cpp"\n',
        "src/backends/cpu must not include src/fleet/fleet.cpp",
    ),
    (
        "src/backends/cuda/x.cpp",
        SPDX + '#include "myriarm/linux.h"\n',
        "src/backends/cuda must not include include/myriarm/linux.h",
    ),
    ("src/backends/cpu/x.cpp", SPDX + "#include <cuda_runtime.h>\n", "may include <cuda_runtime.h>"),
    ("src/fleet/x.cpp", SPDX + '#include "linux/elf.h"\n', "src/fleet must not include src/linux/elf.h"),
    ("src/linux/x.cpp", SPDX + '#include "core/cpu.h"\n', "src/linux must not include src/core/cpu.h"),
    ("src/linux/x.cpp", SPDX + "# include <core/cpu.h>\n", "src/linux must not include src/core/cpu.h"),
    ("src/linux/x.cpp", SPDX + '#include "../core/cpu.h"\n', "src/linux must not include src/core/cpu.h"),
    ("src/linux/x.cpp", SPDX + "#include <fmt/format.h>\n", "may include <fmt/format.h>"),
    (
        "src/fleet/x.cpp",
        SPDX + '#include "backends/cpu/run.h"\n',
        "src/fleet must not include src/backends/cpu/run.h",
    ),
    (
        "src/fleet/x.cpp",
        SPDX + '#include "backends/common/run.h"\n',
        "src/fleet must not include src/backends/common/run.h",
    ),
    (
        "include/myriarm/x.h",
        SPDX + '#include "support/text.h"\n',
        "include/myriarm must not include src/support/text.h",
    ),
    ("cli/x.cpp", SPDX + '#include "support/text.h"\n', "cli must not include src/support/text.h"),
    (
        "include/myriarm/x.h",
        SPDX + '#include "core/cpu.h"\n',
        "include/myriarm must not include src/core/cpu.h",
    ),
    ("include/myriarm/x.h", SPDX + "#include <Python.h>\n", "may include <Python.h>"),
    ("cli/x.cpp", SPDX + '#include "fleet/fleet.cpp"\n', "cli must not include src/fleet/fleet.cpp"),
    ("python/x.cpp", SPDX + '#include "core/cpu.h"\n', "python must not include src/core/cpu.h"),
    ("examples/x.c", SPDX + '#include "core/cpu.h"\n', "examples must not include src/core/cpu.h"),
    ("cli/x.cpp", SPDX + '#include "nowhere.h"\n', '"nowhere.h" is not in the repository'),
    ("lib/x.cpp", SPDX, "no layer has this folder"),
    ("src/x/x.cpp", SPDX, "no layer has this folder"),
    ("tests/x.py", "#!/usr/bin/env python3\n", "the first lines lack"),
    ("bench/CMakeLists.txt", "project(x)\n", "the first lines lack"),
    ("src/fleet/x.cpp", SPDX + "//\n" * 600, "601 lines, more than 600"),
    ("docs/x.md", "see /" + "root/x/build\n", "is a path of one machine"),
    ("bench/results/x.json", '{"elf": "/' + 'home/someone/mixed"}', "is a path of one machine"),
]


def mistakes(extra=()):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in [*GOOD.items(), *extra]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_layers.Checker(root).check()


def main():
    wrong = 0

    def expect(what, condition, found):
        nonlocal wrong
        if not condition:
            wrong += 1
            print(f"{what}: {found}")

    check_layers.LONG_FILES, check_layers.GENERATED = {}, {}
    found = mistakes()
    expect("a good tree passes", found == [], found)
    for name, text, sentence in BROKEN:
        found = mistakes([(name, text)])
        expect(
            f'{name} must be found with "{sentence}"',
            len(found) == text.count("catch") + 1 and sentence in found[0],
            found,
        )

    check_layers.LONG_FILES = {"src/fleet/x.cpp": "a test"}
    found = mistakes([("src/fleet/x.cpp", SPDX + "//\n" * 600)])
    expect("a listed long file passes", found == [], found)
    found = mistakes([("src/fleet/x.cpp", SPDX)])
    expect(
        "a listed file that is short is a mistake", len(found) == 1 and "LONG_FILES lists" in found[0], found
    )
    check_layers.LONG_FILES = {}
    check_layers.GENERATED = {"made.h": "a test"}
    found = mistakes([("src/fleet/x.cpp", SPDX + '#include "made.h"\n')])
    expect("a listed generated header passes", found == [], found)
    found = mistakes()
    expect(
        "a listed header that nothing includes is a mistake",
        len(found) == 1 and "GENERATED lists" in found[0],
        found,
    )
    print("every broken rule is found" if not wrong else f"{wrong} checks failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
