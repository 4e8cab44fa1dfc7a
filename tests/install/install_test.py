#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The tests of CMakeLists.txt here: `copy` installs and moves, `cmake` and `pkg_config` build the examples of
# README.md against the copy and compare what they print.
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HEADERS = {
    "myriarm": ["byte_strings", "error", "file_tree", "fleet", "guest_thread", "inputs", "isa", "likeness"]
    + ["linux", "myriarm", "process", "program", "queue", "queue_rate", "run", "shared_queue", "snapshot"]
    + ["stop", "translation_cache", "version"],
    "myriarm-c": ["myriarm"],
}


class Failed(Exception):
    pass


def run(*command, **options):
    """The standard output of a command that must succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def require(condition, sentence):
    if not condition:
        raise Failed(sentence)


def examples(readme):
    """For each language of README.md's examples the source and its output, which is the block after it."""
    text = readme.read_text(encoding="utf-8")
    found = {}
    for language, source, printed in re.findall(
        r"^```(c\+\+|c)\n(.*?)^```\n\s*^```\n(.*?)^```\n", text, re.M | re.S
    ):
        require(language not in found, f"{readme} has two examples in {language}")
        found[language] = (source, printed)
    require(
        set(found) == {"c", "c++"},
        f"{readme} has examples in {sorted(found)}, each with what it prints; not in c and c++",
    )
    return found


class Test:
    def __init__(self, options):
        self.options = options
        self.first, self.moved = options.work / "first", options.work / "moved"
        self.sources = options.work / "examples"

    # install.copy
    def copy(self):
        shutil.rmtree(self.options.work, ignore_errors=True)
        run(self.options.cmake, "--install", self.options.build, "--prefix", self.first)
        self.first.rename(self.moved)
        names = {str(path.relative_to(self.moved)) for path in self.moved.rglob("*") if not path.is_dir()}
        wanted = {f"include/{folder}/{name}.h" for folder, files in HEADERS.items() for name in files}
        lib = self.options.libdir
        wanted |= {f"{lib}/libmyriarm.a", f"{lib}/libmyriarm.so", f"{lib}/libmyriarm.so.0"}
        wanted |= {
            f"{lib}/pkgconfig/myriarm.pc",
            f"{lib}/pkgconfig/myriarm-cpp.pc",
            "share/doc/myriarm/LICENSE",
        }
        wanted |= {
            f"{lib}/cmake/myriarm/myriarmConfig.cmake",
            f"{lib}/cmake/myriarm/myriarmConfigVersion.cmake",
        }
        require(wanted <= names, f"not installed: {sorted(wanted - names)}")
        foreign = {name for name in names if name.startswith("include/")} - wanted
        require(not foreign, f"headers that this test does not know: {sorted(foreign)}")
        require(
            not [name for name in names if name.endswith((".py", "_core.so"))],
            "the Python package is the wheel's",
        )
        program = self.moved / "bin" / "myriarm"
        if program.exists():
            require("cpu" in run(program, "info"), "the installed command line does not know the CPU")
        # The copy has been moved, so no text file may contain the path of the build or of the installation.
        for name in names:
            path = self.moved / name
            if path.suffix in (".cmake", ".pc", ".h"):
                text = path.read_text(encoding="utf-8")
                for folder in (self.options.work, self.options.build, self.options.source):
                    require(str(folder) not in text, f"{name} names {folder}: the copy cannot be moved")

    def write_examples(self):
        found = examples(self.options.source / "README.md")
        self.sources.mkdir(exist_ok=True)
        for language, name in (("c++", "main.cpp"), ("c", "main.c")):
            file = self.sources / name
            if not file.exists() or file.read_text(encoding="utf-8") != found[language][0]:
                file.write_text(found[language][0], encoding="utf-8")
        return found

    def compare(self, program, expected, environment=None):
        printed = run(program, env=environment)
        require(printed == expected, f"{program} printed\n{printed}README.md says\n{expected}")

    # install.cmake
    def cmake(self):
        found = self.write_examples()
        folder = self.options.work / "cmake"
        shutil.rmtree(folder, ignore_errors=True)
        o = self.options
        configure = [
            o.cmake, "-S", pathlib.Path(__file__).parent / "consumer", "-B", folder, "-G", o.generator,
            f"-DCMAKE_C_COMPILER={o.c}", f"-DCMAKE_CXX_COMPILER={o.cxx}", f"-DCMAKE_C_FLAGS={o.flags}",
            f"-DCMAKE_CXX_FLAGS={o.flags}", f"-DEXAMPLES={self.sources}",
        ]  # fmt: skip
        run(*configure, f"-DCMAKE_PREFIX_PATH={self.moved}", f"-DMYRIARM_VERSION={o.version}")
        run(o.cmake, "--build", folder)
        self.compare(folder / "cxx_example", found["c++"][1])
        self.compare(folder / "c_example", found["c"][1])
        # find_package() must refuse another version.
        later = subprocess.run(
            [*map(str, configure), f"-DCMAKE_PREFIX_PATH={self.moved}", "-DMYRIARM_VERSION=77.0"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        require(
            later.returncode != 0 and "77.0" in later.stderr, "find_package(myriarm 77.0) found this version"
        )

        self.readme_project(found["c++"])
        self.example_project()

    def configure(self, source, folder, *options):
        o = self.options
        shutil.rmtree(folder, ignore_errors=True)
        run(o.cmake, "-S", source, "-B", folder, "-G", o.generator, f"-DCMAKE_CXX_COMPILER={o.cxx}",
            f"-DCMAKE_CXX_FLAGS={o.flags}", *options)  # fmt: skip

    def readme_project(self, example):
        """README.md's CMakeLists.txt: with the installed copy, and with the sources."""
        o = self.options
        text = (o.source / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```cmake\n(.*?)^```\n", text, re.M | re.S)
        require(len(blocks) == 1, f"README.md has {len(blocks)} blocks in cmake; it should have 1")
        installed = "find_package(myriarm REQUIRED)"
        require(installed in blocks[0] and "add_subdirectory(PATH_OF_MYRIARM myriarm)" in text,
                "README.md does not say how CMake finds the library")  # fmt: skip
        for name, lines in (("found", installed), ("added", f"add_subdirectory({o.source} myriarm)")):
            folder = o.work / f"readme_{name}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "sum.cpp").write_text(example[0], encoding="utf-8")
            (folder / "CMakeLists.txt").write_text(blocks[0].replace(installed, lines), encoding="utf-8")
            self.configure(
                folder, folder / "build", f"-DCMAKE_PREFIX_PATH={self.moved}", "-DMYRIARM_WITH_CUDA=OFF"
            )
        run(o.cmake, "--build", o.work / "readme_found" / "build")
        self.compare(o.work / "readme_found" / "build" / "sum", example[1])
        # All of the library would take minutes: the object alone shows that its compiler gets the options.
        compiled = "CMakeFiles/sum.dir/sum.cpp.o" if "Ninja" in o.generator else "sum.cpp.o"
        run(o.cmake, "--build", o.work / "readme_added" / "build", "--target", compiled)

    def example_project(self):
        folder = self.options.work / "example"
        self.configure(self.options.source / "examples" / "cpp", folder, f"-DCMAKE_PREFIX_PATH={self.moved}")
        run(self.options.cmake, "--build", folder)
        program = self.options.source / "examples" / "prebuilt" / "hello"
        printed = run(folder / "linux_program", program, 3)
        wanted = "".join(f"lane {lane} exited with 0: hello from lane {lane}\n" for lane in range(3))
        require(re.fullmatch(wanted + r"\d+ instructions\n", printed), f"linux_program printed\n{printed}")

    # install.pkg_config
    def pkg_config(self):
        found = self.write_examples()
        folder = self.options.work / "pkg_config"
        folder.mkdir(exist_ok=True)
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.moved / self.options.libdir / "pkgconfig"))

        def flags(*arguments):
            return shlex.split(run(self.options.pkg_config, *arguments, env=environment))

        require(flags("--modversion", "myriarm") == [self.options.version], "myriarm.pc has another version")
        extra = shlex.split(self.options.flags)
        run(self.options.cxx, "-std=c++20", *extra, self.sources / "main.cpp", "-o", folder / "cxx_example",
            *flags("--cflags", "--libs", "myriarm-cpp"))  # fmt: skip
        self.compare(folder / "cxx_example", found["c++"][1])
        run(self.options.c, "-std=c11", *extra, self.sources / "main.c", "-o", folder / "c_example",
            *flags("--cflags", "--libs", "myriarm"))  # fmt: skip
        shared = dict(os.environ, LD_LIBRARY_PATH=str(self.moved / self.options.libdir))
        self.compare(folder / "c_example", found["c"][1], shared)
        needed = run("readelf", "-d", folder / "c_example")
        require("[libmyriarm.so.0]" in needed, "the C example does not use the shared library")
        # Libs.private: the same without the shared library.
        libraries = flags("--libs", "--static", "myriarm")
        require("-lmyriarm" in libraries, "myriarm.pc does not link the library")
        archive = [
            f"{self.moved / self.options.libdir}/libmyriarm.a" if part == "-lmyriarm" else part
            for part in libraries
        ]
        run(self.options.c, "-std=c11", *extra, self.sources / "main.c", "-o", folder / "static_example",
            *flags("--cflags", "myriarm"), *archive)  # fmt: skip
        require(
            "libmyriarm" not in run("readelf", "-d", folder / "static_example"), "the archive was not used"
        )
        self.compare(folder / "static_example", found["c"][1])


def main():
    parser = argparse.ArgumentParser()
    for path in ("build", "source", "work"):
        parser.add_argument(f"--{path}", type=pathlib.Path, required=True)
    for text in ("cmake", "generator", "c", "cxx", "flags", "pkg-config", "libdir", "version"):
        parser.add_argument(f"--{text}", required=True)
    parser.add_argument("what", choices=["copy", "cmake", "pkg_config"])
    options = parser.parse_args()
    try:
        getattr(Test(options), options.what)()
    except Failed as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
