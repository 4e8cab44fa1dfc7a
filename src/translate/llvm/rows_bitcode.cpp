// SPDX-License-Identifier: Apache-2.0
// The rows' bitcode as bytes of the module. The assembler includes the file, since a C++ array of it takes seconds.
asm(R"(
.section .rodata
.balign 16
.hidden kMyriarmRowsBegin
.global kMyriarmRowsBegin
kMyriarmRowsBegin:
.incbin ")" MYRIARM_ROWS_BITCODE R"("
.hidden kMyriarmRowsEnd
.global kMyriarmRowsEnd
kMyriarmRowsEnd:
.byte 0
.text
)");
