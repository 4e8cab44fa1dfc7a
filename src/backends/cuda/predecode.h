// SPDX-License-Identifier: Apache-2.0
// Makes a predecoded word from the instruction word. Predecoded words depend on nothing but the bytes of their page and
// its place in the window, so that pages can be predecoded, compared and kept one by one. Portable: kernels predecode,
// and tests do on the host.
#pragma once

#include "backends/cuda/code_span.h"
#include "isa/decoder.h"

namespace myriarm::cuda {

/// Whether a relative branch at an offset of the window has its target there. The interpreter's fast path does not
/// check.
MYR_FN bool stays_inside(const Operands& branch, u64 at, u64 window) { return at + (u64)(i64)branch.offset < window; }

/// The predecoded word of `word` at an offset of the window, which has `window` bytes. `next` is the word after it,
/// which is read only in the same page.
MYR_FN Operands predecode(const DecodeTable& table, const DeviceRow* rows, u32 word, u32 next, u64 at, u64 window) {
  Operands o = decode(table, word);
  const DeviceRow device = rows[o.row];
  if ((device.traits & kTraitRelative) && !stays_inside(o, at, window)) return not_predecoded_word();
  o.kind = device.kind;
  o.row = device.row;
  const bool last_of_page = (at & (kPageSize - 1)) == kPageSize - 4;
  if (!(device.traits & kTraitPlain) || last_of_page) return o;
  const Operands branch = decode(table, next);
  const u32 traits = rows[branch.row].traits;
  if (!(traits & kTraitFolds) || !stays_inside(branch, at + 4, window)) return o;
  const i32 words = branch.offset / 4;
  if (words < -512 || words >= 512) return o;
  constexpr u32 kAlways = 14;
  o.row |= (u16)(kRowFoldedBranch | ((traits & kTraitAlways) ? kAlways : branch.aux) << 10 | ((u32)words & 0x3FF));
  return o;
}

}  // namespace myriarm::cuda
