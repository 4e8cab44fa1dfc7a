// SPDX-License-Identifier: Apache-2.0
// The tables that decode() reads, as plain data, so that the host can copy them to a device. They need no row, so files
// that only hold or copy them do not include the instruction table.
#pragma once

#include "core/portable.h"

namespace myriarm {

struct RowPattern;

/// Rows are looked up by bits 31:21 of the word: bucket b holds candidates[first[b]] up to candidates[first[b + 1]],
/// the row with the most fixed bits first.
struct DecodeTable {
  static constexpr u32 kBucketShift = 21;
  static constexpr u32 kBuckets = 1u << (32 - kBucketShift);
  const u32* first;       // kBuckets + 1
  const u16* candidates;  // rows
  u32 candidate_count;
  const RowPattern* patterns;  // kRowCount; patterns[0] matches nothing
};

}  // namespace myriarm
