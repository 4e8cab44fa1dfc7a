// SPDX-License-Identifier: Apache-2.0
// Data processing on the flags alone.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// CFINV.
template <class Cpu>
MYR_FN Outcome invert_carry(Cpu& cpu, const Operands&) {
  Flags flags = cpu.flags();
  flags.c = !flags.c;
  cpu.set_flags(flags);
  return Outcome::next;
}

/// RMIF: the lowest four bits of the rotated register are written to those of NZCV that the mask names.
template <class Cpu>
MYR_FN Outcome rotate_into_flags(Cpu& cpu, const Operands& o) {
  u64 value = cpu.r(o.rn);
  u32 shift = (u32)o.offset;
  u32 rotated = (u32)(shift == 0 ? value : value >> shift | value << (64 - shift));
  cpu.set_flags(unpack_flags((pack_flags(cpu.flags()) & ~o.aux) | (rotated & o.aux)));
  return Outcome::next;
}

/// SETF8, SETF16: N and Z of the lowest kWidth bits, V where the bit above them differs from their sign. C is kept.
template <int kWidth, class Cpu>
MYR_FN Outcome set_flags_from(Cpu& cpu, const Operands& o) {
  u32 value = (u32)cpu.r(o.rn);
  Flags flags = cpu.flags();
  flags.n = (value >> (kWidth - 1) & 1) != 0;
  flags.z = (value & ((1u << kWidth) - 1)) == 0;
  flags.v = (value >> kWidth & 1) != (value >> (kWidth - 1) & 1);
  cpu.set_flags(flags);
  return Outcome::next;
}

}  // namespace myriarm
