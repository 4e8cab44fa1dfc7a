// SPDX-License-Identifier: Apache-2.0
// The pages of the teams of a snapshot, in device memory.
#pragma once

#include "backends/cuda/process/split_pages.h"

namespace myriarm::cuda {

/// The teams of a snapshot, with the touched slices of their page tables.
struct SavedTeams {
  const u32* index;     // for each team of the fleet: its index in the arrays below, or kNotSaved
  const u32* teams;     // the `count` saved teams
  const u32* programs;  // the program of each at that time
  u32 count;
  const u64* touched;  // which slices of each are in `entries`
  const u32* first;    // where the slices of each begin in `entries`
  u32* entries;
  Split* splits;    // kSplits of each; null: the fleet has none
  u8* permissions;  // with flat memory: permissions by lane, page_count * kTeam bytes for each team; else null
};
constexpr u32 kNotSaved = 0xFFFFFFFFu;

}  // namespace myriarm::cuda
