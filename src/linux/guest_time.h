// SPDX-License-Identifier: Apache-2.0
// Times as system calls take them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace myriarm::linux_process {

constexpr uint64_t kNanoseconds = 1'000'000'000;
/// The highest value of a lane's clocks, in nanoseconds, so that a sleep of centuries does not overflow them.
constexpr uint64_t kEndOfTime = uint64_t{1} << 62;
constexpr uint32_t kTimespecBytes = 16;

/// The nanoseconds of a struct timespec, at most kEndOfTime; -1 if its fields are not valid.
inline int64_t duration(std::span<const uint8_t> bytes) {
  int64_t seconds, rest;
  std::memcpy(&seconds, bytes.data(), 8);
  std::memcpy(&rest, bytes.data() + 8, 8);
  if (seconds < 0 || rest < 0 || rest >= static_cast<int64_t>(kNanoseconds)) return -1;
  const auto most = static_cast<int64_t>(kEndOfTime / kNanoseconds);
  return std::min(seconds, most) * static_cast<int64_t>(kNanoseconds) + (seconds < most ? rest : 0);
}

}  // namespace myriarm::linux_process
