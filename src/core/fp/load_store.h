// SPDX-License-Identifier: Apache-2.0
// Loads and stores of SIMD&FP registers: the transfer types for the addressing modes of
// core/integer/load_store.h. B, H, S, D and Q registers are 8 to 128 bits; loads clear the rest of the register.
#pragma once

#include "core/integer/load_store.h"

namespace myriarm {

/// Stores the low kBits of a SIMD&FP register.
template <int kBits>
struct StoreFp {
  static constexpr u32 bytes = kBits / 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    if constexpr (kBits == 128) return store_pair(cpu, address, cpu.v(o.rd, 0), cpu.v(o.rd, 1));
    else return store(cpu, address, (Unsigned<kBits>)cpu.v(o.rd, 0));
  }
};

/// Loads kBits into a SIMD&FP register.
template <int kBits>
struct LoadFp {
  static constexpr u32 bytes = kBits / 8;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    u64 low, high = 0;
    if constexpr (kBits == 128) {
      if (!load_pair(cpu, address, low, high)) return false;
    } else {
      Unsigned<kBits> value;
      if (!load(cpu, address, value)) return false;
      low = value;
    }
    cpu.set_v(o.rd, 0, low);
    cpu.set_v(o.rd, 1, high);
    return true;
  }
};

/// Stores the low kBits of rd and of ra next to each other.
template <int kBits>
struct StoreFpPair {
  static constexpr u32 bytes = kBits / 4;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    if constexpr (kBits == 128) {
      return may_store_parts(cpu, address, bytes) && store_pair(cpu, address, cpu.v(o.rd, 0), cpu.v(o.rd, 1)) &&
             store_pair(cpu, address + 16, cpu.v(o.ra, 0), cpu.v(o.ra, 1));
    } else {
      return store_pair(cpu, address, (Unsigned<kBits>)cpu.v(o.rd, 0), (Unsigned<kBits>)cpu.v(o.ra, 0));
    }
  }
};

/// Loads two adjacent values into rd and ra. If both are the same register, it gets ra's value, unlike a general
/// register (docs/design/unpredictable.md).
template <int kBits>
struct LoadFpPair {
  static constexpr u32 bytes = kBits / 4;
  template <class Cpu>
  MYR_FN static bool run(Cpu& cpu, const Operands& o, u64 address) {
    u64 low[2], high[2] = {0, 0};
    if constexpr (kBits == 128) {
      if (!load_pair(cpu, address, low[0], high[0]) || !load_pair(cpu, address + 16, low[1], high[1])) return false;
    } else {
      Unsigned<kBits> first, second;
      if (!load_pair(cpu, address, first, second)) return false;
      low[0] = first;
      low[1] = second;
    }
    cpu.set_v(o.rd, 0, low[0]);
    cpu.set_v(o.rd, 1, high[0]);
    cpu.set_v(o.ra, 0, low[1]);
    cpu.set_v(o.ra, 1, high[1]);
    return true;
  }
};

}  // namespace myriarm
