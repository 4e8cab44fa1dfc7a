// SPDX-License-Identifier: Apache-2.0
// The flags of a Cpu policy of translated code: what NZCV results from, instead of NZCV. Few flags are ever looked at, and a
// comparison of the operands tells most conditions in one instruction.
#pragma once

#include "core/integer/add_sub.h"
#include "core/integer/logical.h"

namespace myriarm::translate {

enum class FlagKind : u32 { packed, add32, add64, subtract32, subtract64, logical32, logical64 };
constexpr u32 kFlagKinds = 7;

/// `kApart`: how far apart the numbers of two kinds are. Compilers make tables of switches over numbers that lie close together.
template <u32 kApart>
struct FlagSource {
  u64 operand1, operand2;  // packed: nzcv, -
  u32 source;              // number of a FlagKind

  static constexpr u32 number(FlagKind kind) { return (u32)kind * kApart; }

  MYR_FN Flags flags() const {
    Flags flags;
    switch (source) {
      case number(FlagKind::packed): return unpack_flags((u32)operand1);
      case number(FlagKind::add32): add_with_carry<32>(operand1, operand2, false, flags); return flags;
      case number(FlagKind::add64): add_with_carry<64>(operand1, operand2, false, flags); return flags;
      case number(FlagKind::subtract32): add_with_carry<32>(operand1, ~operand2, true, flags); return flags;
      case number(FlagKind::subtract64): add_with_carry<64>(operand1, ~operand2, true, flags); return flags;
      case number(FlagKind::logical32): return logical_flags<32>(operand1);
      default: return logical_flags<64>(operand1);
    }
  }
  MYR_FN void set_flags(Flags flags) { set_source(FlagKind::packed, pack_flags(flags), 0); }
  MYR_FN void set_source(FlagKind kind, u64 first, u64 second) {
    source = number(kind);
    operand1 = first;
    operand2 = second;
  }
  template <int kWidth, AddSub kOp>
  static constexpr FlagKind kind_of() {
    constexpr FlagKind kAdd = kWidth == 64 ? FlagKind::add64 : FlagKind::add32;
    constexpr FlagKind kSubtract = kWidth == 64 ? FlagKind::subtract64 : FlagKind::subtract32;
    return kOp == AddSub::add ? kAdd : kSubtract;
  }
  template <int kWidth>
  static constexpr FlagKind kind_of_logical() {
    return kWidth == 64 ? FlagKind::logical64 : FlagKind::logical32;
  }
  template <int kWidth, AddSub kOp>
  MYR_FN void set_flags_of(u64 first, u64 second) {
    constexpr FlagKind kKind = kind_of<kWidth, kOp>();
    set_source(kKind, first, second);
  }
  template <int kWidth>
  MYR_FN void set_flags_of_logical(u64 result) {
    constexpr FlagKind kKind = kind_of_logical<kWidth>();
    set_source(kKind, result, 0);
  }
  /// Whether a condition holds. After a subtraction it is a comparison of the operands, and LLVM sees it.
  MYR_FN bool holds(u32 cond) const {
    if (source == number(FlagKind::subtract64)) return compares<u64, i64>(cond);
    if (source == number(FlagKind::subtract32)) return compares<u32, i32>(cond);
    return condition_holds(cond, flags());
  }
  template <class Unsigned, class Signed>
  MYR_FN bool compares(u32 cond) const {
    const Unsigned a = (Unsigned)operand1, b = (Unsigned)operand2;
    bool result = false;
    switch (cond >> 1) {
      case 0: result = a == b; break;
      case 1: result = a >= b; break;
      case 4: result = a > b; break;
      case 5: result = (Signed)a >= (Signed)b; break;
      case 6: result = (Signed)a > (Signed)b; break;
      default: return condition_holds(cond, flags());
    }
    return result != ((cond & 1) != 0);
  }
};

}  // namespace myriarm::translate
