// SPDX-License-Identifier: Apache-2.0
// The rows' bitcode as bytes of the module. The assembler includes the files, since a C++ array of them takes seconds.
#define MYR_BITCODE(name, file)      \
  asm(".section .rodata\n"           \
      ".balign 16\n"                 \
      ".hidden " name                \
      "Begin\n"                      \
      ".global " name "Begin\n" name \
      "Begin:\n"                     \
      ".incbin \"" file              \
      "\"\n"                         \
      ".hidden " name                \
      "End\n"                        \
      ".global " name "End\n" name   \
      "End:\n"                       \
      ".byte 0\n"                    \
      ".text\n")

MYR_BITCODE("kMyriarmRows", MYRIARM_ROWS_BITCODE);
#if MYRIARM_WITH_NVPTX
MYR_BITCODE("kMyriarmDeviceRows", MYRIARM_DEVICE_ROWS_BITCODE);
#endif
