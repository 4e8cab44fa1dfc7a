// SPDX-License-Identifier: Apache-2.0
// Code of files that lanes have mapped, and of pages in common among teams: pages that all lanes have from one unit, whose bytes never
// change. Behind the sources of a span of predecoded words lies for each of its pages the unit that the words were made of, if they are
// such a page's; so tables are compared by numbers of units, and no byte is read.
#pragma once

#include "backends/cuda/code_span_units.h"
#include "backends/cuda/team_memory.cuh"

namespace myriarm::cuda {

/// The unit of a page of a file that all lanes of a table may execute and share; 0: it is no such page. `base`: the entry that the
/// table's program begins with; a page of the program that nobody has changed is none.
static __device__ inline u32 file_unit(const View& view, u32 base, u32 entry) {
  constexpr u32 kWanted = kPageShared | kPageExecutable;
  if (is_flat(view) || (entry & (kWanted | kPageDiffer)) != kWanted) return 0;
  if ((base & kPageCode) && entry == base) return 0;
  const u32 unit = entry >> kPageFlagBits;
  return unit == kZeroUnit ? 0 : unit;
}

}  // namespace myriarm::cuda
