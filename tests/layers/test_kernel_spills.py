#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The test of tools/kernel_spills.py: which commands compile kernels, what ptxas says of them, and what is
# more than before.
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import kernel_spills  # noqa: E402

FOLDER = "/s/src/backends/cuda"
OF_LIBRARY = (
    "/usr/bin/ccache /usr/local/cuda/bin/nvcc -DA=many -I/s/src -O3"
    " --generate-code=arch=compute_90,code=[compute_90,sm_90]"
    f" -maxrregcount=80 -MD -MT a.o -MF a.d -x cu -rdc=true -c {FOLDER}/interpreter/many_blocks.cu -o a.o"
)
BY_ITSELF = (
    "cd /s/build && /usr/local/cuda/bin/nvcc -std=c++20 -gencode arch=compute_90,code=sm_90 -rdc=true -fatbin"
    f" -I/s/src -MD -MT a.fatbin -MF a.d -o a.fatbin {FOLDER}/translated/run_translated.cu"
    " && /usr/bin/cmake -E true a.d"
)
OTHERS = [
    f"/usr/local/cuda/bin/nvcc -O3 -arch=sm_90 -c {FOLDER}/code_kernels.cu -o a.o",
    f"/usr/bin/c++ -O3 -c {FOLDER}/stepper/launch.cpp -o a.o",
    "/usr/bin/cmake -E touch a",
]
MESSAGES = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN7myriarm4cuda10run_kernelILj6EEEvNS0_4ViewE' for 'sm_90'
ptxas info    : Function properties for _ZN7myriarm4cuda10run_kernelILj6EEEvNS0_4ViewE
    88 bytes stack frame, 94 bytes spill stores, 256 bytes spill loads
ptxas info    : Used 80 registers, used 0 barriers, 88 bytes cumulative stack size, 1016 bytes cmem[0]
ptxas info    : Function properties for _ZN7myriarm4cuda9fill_factsEv
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function '__nv_static_32__1b9_10_step_cu_0f4__ZN1a4stepEv' for 'sm_90'
ptxas info    : Function properties for step
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 126 registers, used 1 barriers
"""


def main():
    words = ["-cubin", "-arch=sm_90", "-Xptxas=-v"]
    many = f"{FOLDER}/interpreter/many_blocks.cu"
    flags = ["-DA=many", "-I/s/src", "-O3", "-maxrregcount=80", "-x", "cu", "-rdc=true"]
    assert kernel_spills.command_of(OF_LIBRARY) == (["/usr/local/cuda/bin/nvcc", *flags, many, *words], many)
    translated = f"{FOLDER}/translated/run_translated.cu"
    flags = ["-std=c++20", "-rdc=true", "-I/s/src"]
    assert kernel_spills.command_of(BY_ITSELF) == (
        ["/usr/local/cuda/bin/nvcc", *flags, translated, *words],
        translated,
    )
    for line in OTHERS:
        assert kernel_spills.command_of(line) is None, line
    try:
        kernel_spills.command_of(OF_LIBRARY.replace("[compute_90,sm_90]", "[compute_90]"))
        raise AssertionError("PTX alone has no registers")
    except SystemExit as refused:
        assert "PTX alone" in str(refused)

    kernels = kernel_spills.kernels_of(MESSAGES)
    run, step = "run_kernel<6u>", "step"
    assert kernels == {
        run: {"registers": 80, "stack": 88, "spill stores": 94, "spill loads": 256},
        step: {"registers": 126, "stack": 0, "spill stores": 0, "spill loads": 0},
    }
    assert kernel_spills.spills_more(kernels, kernels) == []
    assert kernel_spills.spills_more(kernels, {}) == [], "a new kernel has no figures of before"
    fewer = {run: {**kernels[run], "spill loads": 255}, step: kernels[step]}
    assert kernel_spills.spills_more(kernels, fewer) == [run]
    assert kernel_spills.spills_more(fewer, kernels) == []


if __name__ == "__main__":
    main()
