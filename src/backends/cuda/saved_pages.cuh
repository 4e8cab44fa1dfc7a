// SPDX-License-Identifier: Apache-2.0
// What the pages of a snapshot's teams were, and what a team runs from after it has got them back.
#pragma once

#include "backends/cuda/saved_teams.h"
#include "backends/cuda/team_memory.cuh"

namespace myriarm::cuda {

constexpr u32 kNoPage = 0xFFFFFFFFu;

/// The entry that a saved team had for a page.
static __device__ inline u32 saved_entry(const View& view, const SavedTeams& saved, u32 index, u64 page) {
  const u64 touched = saved.touched[index];
  const u32 slice = view.slices.of(page);
  if (!(touched >> slice & 1)) {
    const u32 base = program_entry(view, saved.programs[index], page);
    return first_entry(view, saved.teams[index], page, base);
  }
  const u64 before = view.slices.entries_before(touched, slice, [](u64 mask) { return (u32)__popcll(mask); });
  return saved.entries[saved.first[index] + before + (page - view.slices.first(slice))];
}

/// To be called when the pages of a team have been restored: it runs its program's words, up to the first page that is not
/// the program's (kNoPage: all are), until the host looks at it. Returns whether the host must look at its code. One thread
/// calls it.
static __device__ inline bool code_is_restored(const View& view, u32 team, u32 first_code) {
  CodeSpan code = view.program_code[view.team_program[team]];
  if (is_flat(view)) {
    code.bytes = 0;
  } else if (first_code != kNoPage) {
    const u64 at = ((u64)first_code << kPageBits) - code.begin;
    if (at < code.bytes) code.bytes = (u32)at;
  }
  view.team_code[team] = code;
  if (!is_flat(view) && first_code == kNoPage && !(view.code_state[team] & kCodeSlotsUsed)) return false;
  atomicOr(&view.code_state[team], kCodeChanged);
  return true;
}

}  // namespace myriarm::cuda
