// SPDX-License-Identifier: Apache-2.0
// The tight loop: ADD, B. It never ends; run it with a budget.
    .text
    .globl _start
_start:
    add x0, x0, #1
    b _start
    .section .note.GNU-stack, "", %progbits
