// SPDX-License-Identifier: Apache-2.0
// The relocatable code of run_translated.cu as bytes of the library.
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
