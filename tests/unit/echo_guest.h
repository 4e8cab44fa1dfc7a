// SPDX-License-Identifier: Apache-2.0
// A guest whose result depends on its input and on its number, for the tests of src/linux/.
#pragma once

#include <cstdint>
#include <vector>

namespace myriarm::test {

/// Reads up to 64 bytes of standard input to the stack, gets 8 random bytes behind them, loops first_byte * 16 times,
/// writes both, and exits with the first byte. It runs at any address.
inline const std::vector<uint32_t> kEcho = {
    0xd10203ff,  //        sub  sp, sp, #128
    0xd2800000,  //        mov  x0, #0
    0x910003e1,  //        mov  x1, sp
    0xd2800802,  //        mov  x2, #64
    0xd28007e8,  //        mov  x8, #63         read
    0xd4000001,  //        svc  #0
    0xaa0003f3,  //        mov  x19, x0
    0x394003f4,  //        ldrb w20, [sp]
    0x8b3363e0,  //        add  x0, sp, x19
    0xd2800101,  //        mov  x1, #8
    0xd2800002,  //        mov  x2, #0
    0xd28022c8,  //        mov  x8, #278        getrandom
    0xd4000001,  //        svc  #0
    0xd37cee89,  //        lsl  x9, x20, #4
    0xf1000529,  // again: subs x9, x9, #1
    0x54ffffec,  //        b.gt again
    0xd2800020,  //        mov  x0, #1
    0x910003e1,  //        mov  x1, sp
    0x91002262,  //        add  x2, x19, #8
    0xd2800808,  //        mov  x8, #64         write
    0xd4000001,  //        svc  #0
    0xaa1403e0,  //        mov  x0, x20
    0xd2800ba8,  //        mov  x8, #93         exit
    0xd4000001,  //        svc  #0
};

}  // namespace myriarm::test
