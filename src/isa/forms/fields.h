// SPDX-License-Identifier: Apache-2.0
// Helpers of the decode functions: bit fields, and the meaning of register number 31.
#pragma once

#include "core/operands.h"

namespace myriarm {

/// Bits [low + width - 1 : low] of a word, zero-extended.
MYR_FN u32 field(u32 word, u32 low, u32 width) { return (word >> low) & ((1u << width) - 1); }
/// The same, sign-extended.
MYR_FN i32 signed_field(u32 word, u32 low, u32 width) { return (i32)(word << (32 - low - width)) >> (32 - width); }

/// A general register where 31 is the zero register: read, or written.
MYR_FN u8 source(u32 number) { return (u8)(number == 31 ? (u32)kSlotZero : number); }
MYR_FN u8 destination(u32 number) { return (u8)(number == 31 ? (u32)kSlotDiscard : number); }
/// A general register where 31 is SP.
MYR_FN u8 or_sp(u32 number) { return (u8)number; }

// The fields at their usual places.
MYR_FN u32 rd_field(u32 word) { return field(word, 0, 5); }
MYR_FN u32 rn_field(u32 word) { return field(word, 5, 5); }
MYR_FN u32 rm_field(u32 word) { return field(word, 16, 5); }
MYR_FN u32 ra_field(u32 word) { return field(word, 10, 5); }

}  // namespace myriarm
