// SPDX-License-Identifier: Apache-2.0
// The loop with a store: ADD, STR, B, after one instruction that points x1 away from the code. It never
// ends; run it with a budget.
    .text
    .globl _start
_start:
    movz x1, #1, lsl #16
loop:
    add x0, x0, #1
    str x0, [x1]
    b loop
    .section .note.GNU-stack, "", %progbits
