// SPDX-License-Identifier: Apache-2.0
// Data processing on the flags alone.
#pragma once

#include "core/cpu.h"

namespace myriarm {

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
