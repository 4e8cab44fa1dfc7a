// SPDX-License-Identifier: Apache-2.0
// nbody.c as a bare program at address 0: the lane number comes in x0 and is the seed, the bits of the energy leave in
// x0. Assemble with -DITERATIONS=n. SP is what the loader set: the end of memory.
    .section .text.start, "ax", %progbits
    .globl _start
_start:
    mov w1, #ITERATIONS
    bl nbody
    hlt #0
    .section .note.GNU-stack, "", %progbits
