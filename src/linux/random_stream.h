// SPDX-License-Identifier: Apache-2.0
// Guest randomness: each seed and lane has a stream of bytes that can be read at any position. It is reproducible, not
// secret.
// The bytes are those of little-endian 64-bit words. Word k is the k-th output of SplitMix64 (Steele, Lea and Flood,
// 2014), started from the first output of SplitMix64 for the state mix64(seed + gamma) + lane.
#pragma once

#include <cstdint>
#include <span>

namespace myriarm::linux_process {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

/// SplitMix64's output function.
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// Fills `out` with the bytes from `position` on of the stream of this seed and lane.
inline void random_bytes(uint64_t seed, uint64_t lane, uint64_t position, std::span<uint8_t> out) {
  uint64_t state = mix64(mix64(seed + kGoldenGamma) + lane + kGoldenGamma);
  for (uint8_t& byte : out) {
    uint64_t word = mix64(state + (position / 8 + 1) * kGoldenGamma);
    byte = static_cast<uint8_t>(word >> position % 8 * 8);
    position++;
  }
}

}  // namespace myriarm::linux_process
