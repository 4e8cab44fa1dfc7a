// SPDX-License-Identifier: Apache-2.0
// Entry point of a freestanding Linux guest: passes the initial stack (argc, argv, envp, auxv) to guest_start.
    .text
    .globl _start
    .type _start, %function
_start:
    mov x29, #0
    mov x30, #0
    mov x0, sp
    bl guest_start
    brk #1
    .size _start, . - _start
    .section .note.GNU-stack, "", %progbits
