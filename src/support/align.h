// SPDX-License-Identifier: Apache-2.0
// Rounding addresses and sizes to multiples of a power of two. Host code; nothing here knows what a page is.
#pragma once

#include <cstdint>

namespace myriarm {

/// The largest multiple of `unit` that is not above `value`. `unit` is a power of two.
constexpr uint64_t align_down(uint64_t value, uint64_t unit) { return value & ~(unit - 1); }

/// The smallest multiple of `unit` that is not below `value`; 0 where that would be 2^64. `unit` is a power of two.
constexpr uint64_t align_up(uint64_t value, uint64_t unit) { return align_down(value + unit - 1, unit); }

}  // namespace myriarm
