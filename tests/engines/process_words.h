// SPDX-License-Identifier: Apache-2.0
// Instructions of guests that make system calls, in sequences that can be put together.
#pragma once

#include "fleet_fixture.h"

namespace fleet_test {

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// Puts a value of 32 bits into a register.
inline Words value_of(uint32_t reg, uint64_t value) {
  return {guest::movz(reg, value & 0xFFFF), guest::movk(reg, value >> 16 & 0xFFFF, 16)};
}
/// A call with the arguments that are in the registers.
inline Words make_call(uint32_t number) { return {guest::movz(8, number), guest::svc(0)}; }

}  // namespace fleet_test
