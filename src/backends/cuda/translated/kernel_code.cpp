// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/kernel_code.h"

asm(".section .rodata\n"
    ".balign 16\n"
    ".hidden kMyriarmTranslatedKernelBegin\n"
    ".global kMyriarmTranslatedKernelBegin\n"
    "kMyriarmTranslatedKernelBegin:\n"
    ".incbin \"" MYRIARM_TRANSLATED_KERNEL
    "\"\n"
    ".hidden kMyriarmTranslatedKernelEnd\n"
    ".global kMyriarmTranslatedKernelEnd\n"
    "kMyriarmTranslatedKernelEnd:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const unsigned char kMyriarmTranslatedKernelBegin[], kMyriarmTranslatedKernelEnd[];

namespace myriarm::cuda {

std::span<const u8> kernel_code() { return {kMyriarmTranslatedKernelBegin, kMyriarmTranslatedKernelEnd}; }

}  // namespace myriarm::cuda
