#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Checks the rules of docs/architecture.md: which layer may include which, that core/ is freestanding, that
# every source file has its SPDX line and is not too long, and that no file contains a path of the machine
# that it was made on.
#   check_layers.py [ROOT]     prints one line for each mistake; exit status 1 if there is one
import pathlib
import re
import sys

# By folder, what the files of a layer may include: folders or files. A file belongs to the deepest folder
# listed.
HEADERS = "include/myriarm"
C_HEADERS = "include/myriarm-c"
DATA_TYPES = [
    f"{HEADERS}/{name}.h" for name in ("error", "file_tree", "fleet", "inputs", "process", "program", "stop")
]
# What each backend may include of src/backends, besides its own folder.
BACKEND_HEADERS = (
    "backend.h", "flat_index.h", "host_tree.h", "hosted_machine.h", "machine_call.h", "run_batches.h"
)
BACKENDS = ["src/backends/common", *(f"src/backends/{name}" for name in BACKEND_HEADERS)]
# What the layers above a fleet may know of src/kernel: names, numbers, streams and layouts, and no call.
KERNEL_FACTS = [
    f"src/kernel/{name}"
    for name in (
        "elf_file.h",
        "errno.h",
        "initial_stack.h",
        "path_walk.h",
        "process.h",
        "random_stream.h",
        "script_line.h",
        "signal_numbers.h",
        "start_bytes.h",
        "syscalls.inc",
    )
]
# What every layer from the backends on may include of those below.
BASE = ["src/core", "src/isa", "src/kernel"]
LAYERS = {
    "src/support": ["src/support"],
    "src/core": ["src/core"],
    "src/isa": ["src/core", "src/isa", f"{HEADERS}/isa.h"],
    "src/kernel": ["src/core", "src/kernel"],
    "src/translate": ["src/core", "src/isa", "src/translate", f"{HEADERS}/version.h"],
    "src/translate/cache": [
        "src/core/portable.h", "src/translate/cache", "src/translate/region_store.h",
        *(f"{HEADERS}/{name}.h" for name in ("error", "translation_cache", "version")),
    ],
    "src/backends": [*BASE, *BACKENDS, *DATA_TYPES],
    "src/backends/common": ["src/core", "src/isa", "src/backends/common"],
    "src/backends/cpu": [
        "src/support", *BASE, "src/translate", *BACKENDS, "src/backends/cpu", *DATA_TYPES
    ],
    "src/backends/cuda": [
        "src/support", *BASE, "src/translate", *BACKENDS, "src/backends/cuda", *DATA_TYPES
    ],
    "src/fleet": [
        "src/support", *BASE, "src/backends/backend.h", "src/backends/host_tree.h", "src/fleet", HEADERS
    ],
    HEADERS: [HEADERS],
    C_HEADERS: [C_HEADERS],
    "src/c_api": [HEADERS, C_HEADERS, "src/c_api"],
    "src/linux": ["src/support", *KERNEL_FACTS, HEADERS, "src/linux"],
    "cli": [HEADERS, "cli"],
    "python": [HEADERS, "python"],
    "examples": [HEADERS, C_HEADERS, "examples"],
    "tests": None,  # may include everything
    "bench": None,
    "tools": None,
}
# The folders in which the builds look for included files, after the including file's own folder.
INCLUDE_FOLDERS = ["src", "include", "examples/guest/runtime", "."]
# Code that every engine and compiler shares: it uses no library and none of the FORBIDDEN words, and does not
# ask which compiler this is.
ISA_HEADERS = [f"src/isa/{name}" for name in ("forms", "rows.h", "decoder.h")]
FREESTANDING = ["src/core", "src/kernel", *ISA_HEADERS, "src/backends/common"]
PORTABLE = "src/core/portable.h"
FORBIDDEN = {
    r"\bstd\s*::": "std::",
    r"\bthrow\b": "throw",
    r"\b(?:try|catch)\b": "try or catch",
    r"\bvirtual\b": "virtual",
    r"\bgoto\b": "goto",
}
COMPILER_QUESTION = re.compile(
    r"\b(?:__CUDACC\w*|__CUDA_ARCH__|__NVCC__|__NVPTX__|_MSC_VER|__GNUC__|__clang__)\b"
)
# Libraries, by the beginning of their <include>, and the folders that may use them. src/ itself needs only
# CUDA.
LIBRARIES = {
    r"(?:cuda|cooperative_groups|cub/|thrust/|nvJitLink)": ["src/backends/cuda", "tests", "bench"],
    r"(?:fmt/|nlohmann/|CLI/)": ["cli", "tests", "bench", "examples"],
    r"(?:Python\.h|nanobind/|pybind11/)": ["python"],
}
# Headers that the build generates, by the name in the #include. An entry that nothing includes is a mistake.
GENERATED = {}
# Files that may be longer than MOST_LINES, each with the reason. An entry that is not needed is a mistake.
MOST_LINES = 600
LONG_FILES = {}

CODE = {".h", ".c", ".cpp", ".cu", ".cuh", ".S", ".inc"}
SOURCES = CODE | {".py", ".sh", ".cmake"}
SOURCE_NAMES = {"CMakeLists.txt", "Makefile", "run"}
NOT_TEXT = {".bin", ".elf", ".png", ".gz", ".xz", ".zip", ".so", ".a", ".o", ".npz"}
SKIPPED_FOLDERS = re.compile(r"^(?:build(?:-.*)?|dist|__pycache__|.*\.egg-info|venv|\.(?!ci$|github$).*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.\-/})~*])/(?:root|work|home|Users)/[\w.\-]+")
SPDX = "SPDX-License-Identifier: Apache-2.0"


def walk(folder):
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name == ".git":  # a linked worktree has a file of this name
            continue
        if path.is_dir():
            if not SKIPPED_FOLDERS.match(path.name):
                yield from walk(path)
        elif path.is_file():
            yield path


def inside(name, folders):
    return any(name == folder or name.startswith(folder + "/") for folder in folders)


def layer_of(name):
    found = [folder for folder in LAYERS if inside(name, [folder])]
    return max(found, key=len) if found else None


def without_comments(text, strings=False):
    """The text without comments and, unless `strings`, without literals. Line numbers stay."""
    def keep_lines(match):
        token = match.group(0)
        if token[0] in "\"'" and strings:
            return token
        return "\n" * token.count("\n") or " "

    return re.sub(
        r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", keep_lines, text, flags=re.DOTALL
    )


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Checker:
    def __init__(self, root):
        self.root = root
        self.mistakes = []
        self.used_generated = set()
        self.used_long = set()

    def mistake(self, name, line, sentence):
        self.mistakes.append(f"{name}:{line}: {sentence}")

    def resolve(self, path, quote, target):
        """The file of the project that an #include names, or None."""
        places = [path.parent] if quote == '"' else []
        for place in places + [self.root / folder for folder in INCLUDE_FOLDERS]:
            file = (place / target).resolve()
            if file.is_file() and file.is_relative_to(self.root):
                return file.relative_to(self.root).as_posix()
        return None

    def check_includes(self, path, name, text):
        layer = layer_of(name)
        if layer is None:
            self.mistake(
                name,
                1,
                "no layer has this folder: move the file, or add the folder to LAYERS in check_layers.py.",
            )
            return
        allowed = LAYERS[layer]
        for match in INCLUDE.finditer(text):
            quote, target = match.groups()
            line = line_of(text, match.start(1))
            file = self.resolve(path, quote, target)
            for pattern, folders in LIBRARIES.items():
                if file is None and re.match(pattern, target) and not inside(name, folders):
                    self.mistake(name, line, f"only {', '.join(folders)} may include <{target}>.")
            if inside(name, FREESTANDING) and quote == "<" and name != PORTABLE:
                self.mistake(name, line, f"freestanding code includes no <{target}>; {PORTABLE} alone may.")
            if file is None and quote == '"' and allowed is not None:
                if target in GENERATED:
                    self.used_generated.add(target)
                else:
                    self.mistake(
                        name,
                        line,
                        f'"{target}" is not in the repository; a library\'s header is included with <>.',
                    )
            elif file is not None and allowed is not None and not inside(file, allowed):
                self.mistake(
                    name, line, f"{layer} must not include {file}; it may include {', '.join(allowed)}."
                )

    def check_freestanding(self, name, text):
        code = without_comments(text)
        for pattern, word in FORBIDDEN.items():
            for match in re.finditer(pattern, code):
                self.mistake(name, line_of(code, match.start()), f"freestanding code has no {word}.")
        if name == PORTABLE:
            return
        for match in COMPILER_QUESTION.finditer(code):
            self.mistake(name, line_of(code, match.start()),
                         f"{match.group(0)}: only {PORTABLE} asks which compiler this is.")

    def check_file(self, path):
        name = path.relative_to(self.root).as_posix()
        if path.suffix in NOT_TEXT:
            return
        data = path.read_bytes()
        if b"\0" in data:
            return
        text = data.decode(errors="replace")
        for match in MACHINE_PATH.finditer(text):
            self.mistake(name, line_of(text, match.start()), f"{match.group(0)} is a path of one machine.")
        if path.suffix not in SOURCES and path.name not in SOURCE_NAMES:
            return
        lines = text.splitlines()
        if not any(SPDX in line for line in lines[:3]):
            self.mistake(name, 1, f"the first lines lack \"{SPDX}\".")
        if len(lines) > MOST_LINES and path.suffix != ".inc":
            if name in LONG_FILES:
                self.used_long.add(name)
            else:
                self.mistake(name, len(lines), f"{len(lines)} lines, more than {MOST_LINES}: split the file.")
        if path.suffix in CODE:
            self.check_includes(path, name, without_comments(text, strings=True))
            if inside(name, FREESTANDING):
                self.check_freestanding(name, text)

    def check(self):
        for path in walk(self.root):
            self.check_file(path)
        for name in sorted(set(LONG_FILES) - self.used_long):
            self.mistake(
                "tools/check_layers.py",
                1,
                f"LONG_FILES lists {name}, which is not longer than {MOST_LINES} lines.",
            )
        for name in sorted(set(GENERATED) - self.used_generated):
            self.mistake("tools/check_layers.py", 1, f"GENERATED lists {name}, which nothing includes.")
        return self.mistakes


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]).resolve()
    if not (root / "src").is_dir():
        print(
            f"check_layers.py: {root} has no src/ folder: give the root of the repository.", file=sys.stderr
        )
        return 2
    mistakes = Checker(root).check()
    for mistake in mistakes:
        print(mistake)
    print(f"check_layers.py: {len(mistakes)} mistakes" if mistakes else "check_layers.py: every rule is kept")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
