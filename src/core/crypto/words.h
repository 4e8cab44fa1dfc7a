// SPDX-License-Identifier: Apache-2.0
// 128-bit registers as four words, and rotations, for the hash functions and SM4.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// w[0] is the lowest.
struct Words {
  u32 w[4];
};

template <class Cpu>
MYR_FN Words read_words(Cpu& cpu, u32 n) {
  u64 low = cpu.v(n, 0), high = cpu.v(n, 1);
  return {{(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)}};
}
template <class Cpu>
MYR_FN void write_words(Cpu& cpu, u32 n, Words x) {
  cpu.set_v(n, 0, x.w[0] | (u64)x.w[1] << 32);
  cpu.set_v(n, 1, x.w[2] | (u64)x.w[3] << 32);
}

/// 0 < amount < 32.
MYR_FN u32 rotate_left32(u32 x, u32 amount) { return x << amount | x >> (32 - amount); }
MYR_FN u32 rotate_right32(u32 x, u32 amount) { return x >> amount | x << (32 - amount); }
/// 0 <= amount < 64.
MYR_FN u64 rotate_right64(u64 x, u32 amount) { return x >> amount | x << ((64 - amount) & 63); }

// Functions of the manual, for words and doublewords.
template <class T>
MYR_FN T sha_choose(T x, T y, T z) {
  return ((y ^ z) & x) ^ z;
}
template <class T>
MYR_FN T sha_majority(T x, T y, T z) {
  return (x & y) | ((x | y) & z);
}
template <class T>
MYR_FN T sha_parity(T x, T y, T z) {
  return x ^ y ^ z;
}

}  // namespace myriarm
