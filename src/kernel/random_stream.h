// SPDX-License-Identifier: Apache-2.0
// Guest randomness: each seed and lane has a stream of bytes that can be read at any position. It is reproducible, not
// secret.
// The bytes are those of little-endian 64-bit words. Word k is the k-th output of SplitMix64 (Steele, Lea and Flood,
// 2014), started from the first output of SplitMix64 for the state mix64(seed + gamma) + lane.
#pragma once

#include "core/portable.h"

namespace myriarm::kernel {

constexpr u64 kGoldenGamma = 0x9e3779b97f4a7c15;

/// SplitMix64's output function.
MYR_FN constexpr u64 mix64(u64 z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// What the stream of this seed and lane starts from.
MYR_FN constexpr u64 random_start(u64 seed, u64 lane) {
  return mix64(mix64(seed + kGoldenGamma) + lane + kGoldenGamma);
}
/// Bytes 8 * index to 8 * index + 7 of a stream.
MYR_FN constexpr u64 random_word(u64 start, u64 index) { return mix64(start + (index + 1) * kGoldenGamma); }

}  // namespace myriarm::kernel
