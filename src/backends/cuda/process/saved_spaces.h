// SPDX-License-Identifier: Apache-2.0
// The further page tables of a snapshot: those in which its lanes have processes beside the team's. docs/design/spaces-on-a-gpu.md.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels.h"

namespace myriarm::cuda {

/// One of them, as it was. A table that several lanes may have keeps its entries, as a team's does; one that a lane has alone keeps
/// what they are for this lane.
struct SavedTable {
  u32 table;       // its number
  u32 lane;        // which has it alone; kNotSaved: several may have it
  u32 owner;       // the number of that lane among those that have tables alone
  u32 first_copy;  // of that lane, in SavedTables::copies
  u64 touched;     // the slices that are in SavedTables::entries
  u64 first;       // where they begin there
};

struct SavedTables {
  const SavedTable* list;
  u32 count;
  u32* entries;
  Split* splits;  // kSplits of each; null: the fleet has none
  u8* copies;     // 4 KiB each
};

/// A page of a table that a lane has alone may be in common with other ones of its tables, or become so, and stores to it are not
/// noticed then. So those that are not shared already are copied at once. Their entries have all of these flags, which no other has,
/// and the number of the copy in place of a frame.
constexpr u32 kSavedCopy = kPageShared | kPageDiffer | kPageCode;

/// Marks the pages to be copied with numbers that count up from 1 for each owner, and counts them in `counts`. `marks` has a zero for
/// each lane's page of each frame, kTeam of them.
void launch_mark_copies(const View& view, const SavedTables& saved, u32* marks, u32* counts, cudaStream_t stream);
/// Saves the entries and the copies, and counts the snapshot as a holder of all other frames.
void launch_save_tables(const View& view, const SavedTables& saved, u32* marks, cudaStream_t stream);

/// A table in which lanes of a team get pages back.
struct RestoredTable {
  u32 table, team, place;
  u32 keeps;           // lanes that have pages there and keep them; if there are none, the table has no pages
  u32 is_alone;        // one lane has it alone
  u32 frames;          // of that lane's copies: where they begin in the array of launch_place_copies()
  u32 sources[kTeam];  // by the place of a lane: the index of the saved table; kNotSaved: it gets nothing here
  u32 lanes[kTeam];    // the saved lane
  u8 parts[kTeam];     // TablePart bits: what it gets
};
enum TablePart : u8 {
  kGuestPart = 1,
  kOwnPart = 2,   // kernel pages of a process
  kLanePart = 4,  // those of all processes of the lane
};
/// A copy that a lane gets back: its number in SavedTables::copies.
struct CopiedPage {
  u32 lane, page;
};
struct RestoredLane {
  u32 lane;
  LaneSpaces spaces;
};

/// Counts the frames that become free when these lanes leave their further tables, in `frames`: at least so many.
void launch_count_leaving(const View& view, const TeamMask* teams, u64 count, u32* frames, cudaStream_t stream);
/// The tables belong to their teams from now on, if they have not before.
void launch_give_tables(const View& view, const RestoredTable* tables, u64 count, cudaStream_t stream);
/// Gives each of these pages a frame with no holder, frames[i] for pages[i].
void launch_place_copies(const View& view, const SavedTables& saved, const CopiedPage* pages, u64 count, u32* frames,
                         RestoreCounts* counts, cudaStream_t stream);
/// As launch_restore_pages().
void launch_restore_tables(const View& view, const SavedTables& saved, const RestoredTable* tables, u64 count, bool dry,
                           const u32* frames, u32* released, RestoreCounts* counts, cudaStream_t stream);
/// The lanes have these spaces. Their pages are there.
void launch_give_spaces(const View& view, const RestoredLane* lanes, u64 count, cudaStream_t stream);

}  // namespace myriarm::cuda
