// SPDX-License-Identifier: Apache-2.0
// The bytes of a new process's stack that depend on its number alone, next to each other: the digits of MYRIARM_LANE,
// padded with zeros, and the 16 bytes of AT_RANDOM.
#pragma once

#include "kernel/process.h"
#include "kernel/random_stream.h"

namespace myriarm::kernel {

constexpr u32 kLaneDigitBytes = 11;  // ten digits and the NUL
constexpr u32 kStartBytes = kLaneDigitBytes + kStartRandomBytes;

/// `number` has at most ten digits. `bytes` has room for kStartBytes.
MYR_FN void start_bytes(u64 seed, u64 number, u8* bytes) {
  u32 digits = 1;
  for (u64 rest = number / 10; rest != 0; rest /= 10) digits++;
  for (u32 i = 0; i < kLaneDigitBytes; i++) bytes[i] = 0;
  u64 rest = number;
  for (u32 i = digits; i != 0; rest /= 10) bytes[--i] = (u8)('0' + rest % 10);
  const u64 start = random_start(seed, number);
  for (u32 i = 0; i < kStartRandomBytes; i++) {
    bytes[kLaneDigitBytes + i] = (u8)(random_word(start, i / 8) >> i % 8 * 8);
  }
}

}  // namespace myriarm::kernel
