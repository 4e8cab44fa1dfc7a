// SPDX-License-Identifier: Apache-2.0
// Operands whose field `ra` is a number and names no register: an index, or whether there is an upper half.
#pragma once

#include "core/cpu.h"

namespace myriarm {

/// A policy whose registers are no numbers: for code that is made before the operands are known.
template <class C>
concept KeepsNumbers = requires(u8 field) {
  { C::number(field) } -> detail::Is<u32>;
};

/// What `ra` says, where it is a number.
template <class Cpu>
MYR_FN u32 number_in(Cpu&, u8 ra) {
  if constexpr (KeepsNumbers<Cpu>) {
    return Cpu::number(ra);
  } else {
    return ra;
  }
}

}  // namespace myriarm
