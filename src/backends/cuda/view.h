// SPDX-License-Identifier: Apache-2.0
// What the kernels know of a fleet: pointers into device memory, passed by value so that they are constants in a
// kernel.
#pragma once

#include "backends/common/run_protocol.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/operands.h"
#include "core/stop.h"
#include "isa/decode_table.h"

namespace myriarm::cuda {

constexpr u32 kTeam = 32;  // lanes of a team: one warp

// The team of a lane, and its place in the team, 0 to kTeam - 1.
MYR_FN u32 team_of(u64 lane) { return (u32)(lane / kTeam); }
MYR_FN u32 place_of(u64 lane) { return (u32)(lane % kTeam); }
MYR_FN u64 lane_at(u32 team, u32 place) { return (u64)team * kTeam + place; }

/// A unit is 4 KiB of the range of frames. Unit 0 is never used, 1 is the page of zeros, then come the programs' pages,
/// then frames.
constexpr u32 kZeroUnit = 1, kFirstImageUnit = 2;
/// The most slices of a page table: each is one bit of View::touched.
constexpr u32 kMostSlices = 64;

/// Bump allocation of frames, with a stack of freed ones. A launch either takes frames or frees them, never both.
struct Pool {
  u32 first;       // first unit of the first frame
  u32 next;        // first unit that was never used; beyond `end` after failed allocations, until the host corrects it
  u32 end;         // units from here on are not backed by memory
  u32 free_count;  // frames on the stack
};

/// What a launch must do: see RunOrder in backend.h. Two planes hold how far each lane may go in the run and in the
/// batch.
struct Control {
  u64 budget, batch;
  u64 batches;  // of a chain that the device launches by itself
  Phase phase;
  u16 go_on;
  u16 pool_may_grow;  // a chain ends when a lane is out of memory, so that the host can grow the pool
};
/// The result of a launch.
struct Report {
  u64 retired;
  u64 batches;
  u64 left;               // lanes with StopCode::budget that have budget left, after the last batch
  u64 stops[kStopCodes];  // lanes that have this stop now and did not before; budget: those with none left
  u64 cancel_checked_at;  // when a warp last read View::cancel, in ticks of 2^21 ns
  u32 cancelled;          // the value that it read
};

/// Planes of the state array, in the order of Field up to `limit`, then the exclusive monitor, then where the run ends
/// for the lane (a RunEnd) and where the batch does (a count).
constexpr u32 kPlaneSp = 31, kPlanePc = 32, kPlaneNzcv = 33, kPlaneTpidr = 34, kPlaneFpcr = 35, kPlaneFpsr = 36,
              kPlaneInstructions = 37, kPlaneLimit = 38, kPlaneMonitor = 39, kPlaneRunEnd = 43, kPlaneBatchEnd = 44,
              kPlaneCount = 45;
constexpr u32 kLanePlanes = kPlaneRunEnd;  // planes of the lane's state, which a snapshot saves

/// The plane of a system field.
MYR_FN u32 plane_of(SystemField field) {
  switch (field) {
    case SystemField::tpidr: return kPlaneTpidr;
    case SystemField::fpcr: return kPlaneFpcr;
    case SystemField::fpsr: return kPlaneFpsr;
    default: return kPlaneMonitor + (u32)field - (u32)SystemField::monitor;
  }
}

/// What the device dispatches on, in place of Operands::kind and row.
struct DeviceRow {
  u16 kind;  // number of the semantics, or kKindOutOfLine
  u16 row;   // kRowCallOrReturn, or kRowFoldedBranch and a branch, or 0; with kKindOutOfLine: what to do
};
constexpr u16 kKindOutOfLine = 0xFFFF;  // above all others, so that the range check of the dispatch finds it
constexpr u16 kFirstKind = 0;
constexpr u16 kRowNotImplemented = 0;     // with kKindOutOfLine
constexpr u16 kRowNotPredecoded = 1;      // with kKindOutOfLine
constexpr u16 kFirstRareRow = 2;          // with kKindOutOfLine: rare semantics
constexpr u16 kRowCallOrReturn = 0x8000;  // calls and returns: where lanes wait for each other
/// The next word is a B or B.cond, which runs together with this one. Bits 13:10 are its condition, 9:0 its offset in
/// words.
constexpr u16 kRowFoldedBranch = 0x4000;

/// Entries of a page table have these flags beside the permissions:
///   kPageShared              a page of the image, contiguous; with kPageCode it has predecoded words
///   kPageCode alone          a snapshot holds the frame too: a store copies it first. With flat memory: the page has
///                            predecoded words, and after a store to it the team decodes words as it runs them
struct View {
  u64 lanes;
  u32 teams;
  u32 granule_step;   // see PagedMemory
  u64 lane_step;      // bytes from a lane's part of a frame to the next lane's
  u32 frame_units;    // units of a frame: a page for each lane, and one with a byte of permissions for each lane
  u32 slice_shift;    // a slice of a page table has 1 << slice_shift pages
  u64* state;         // kPlaneCount planes of `lanes`
  u64* vectors;       // 64 planes of `lanes`: lower halves, then upper halves
  u32 plane_bytes;    // 8 * lanes
  StopRecord* stops;  // `lanes`
  u32* tables;        // page_count entries a team
  u64 first_page, page_count;
  u64 window_begin;
  u8* frames;  // unit 0 is here
  Pool* pool;
  u32* free_frames;         // stack of first units
  u32* frame_holders;       // of each frame: how many page tables and snapshots refer to it
  u64* touched;             // of each team: slices of its table that may differ from the program's
  const u32* team_program;  // program of each team
  u32 programs;
  const u32* base_tables;  // page_count entries a program: its lanes' tables at the beginning
  const Operands* code;   // for each program: a word kRowNotPredecoded, then `code_words`; kind and row as in DeviceRow
  const DeviceRow* rows;  // kRowCount rows, for words that the device decodes
  u32 code_begin;         // offset in the window of the first predecoded word
  u32 code_words;
  u8* own_code;  // of each team: whether it decodes as it runs, since predecoded pages or their permissions changed
  u8* flat_permissions;  // with flat memory: kTeam bytes of permissions for each page; else null
  DecodeTable decode;
  Control* control;
  Report* report;
  // Host memory.
  const u32* cancel;
  u64* progress;  // retired counts, `lanes`
  StopCode* codes;
};

/// The page table of the lane at `place` of a team. Today the lanes of a team share one table; entries of pages in
/// which they differ have kPageDiffer. docs/design/address-spaces.md says what may come after that.
MYR_FN u32* table_of(const View& view, u32 team, u32 place) {
  (void)place;
  return view.tables + team * view.page_count;
}
/// The entry of a page in the table that a program begins with.
MYR_FN u32 program_entry(const View& view, u32 program, u64 page) {
  return view.base_tables[program * view.page_count + page];
}

MYR_FN bool is_flat(const View& view) { return view.flat_permissions != nullptr; }

/// With flat memory, the unit of a team's page. Unit 0 is never used.
MYR_FN u32 flat_unit(const View& view, u32 team, u64 page) {
  return (u32)(1 + (u64)team * kTeam * view.page_count + page);
}

/// The entry that a team starts with, from the entry `base` of its program's base table.
MYR_FN u32 first_entry(const View& view, u32 team, u64 page, u32 base) {
  if (!is_flat(view) || base == 0) return base;
  return flat_unit(view, team, page) << kPageFlagBits | (base & kPageFlagMask & ~(u32)kPageShared);
}

/// Where the permissions of each lane lie for a page in which the lanes differ.
MYR_FN u8* lane_permissions(const View& view, u32 team, u64 page, u32 entry) {
  if (is_flat(view)) return view.flat_permissions + ((u64)team * view.page_count + page) * kTeam;
  return view.frames + ((u64)((entry >> kPageFlagBits) + view.frame_units - 1) << kPageBits);
}

/// An entry with the permissions of one lane.
MYR_FN u32 entry_of_lane(const View& view, u32 team, u64 page, u32 entry, u32 lane_in_team) {
  if (!(entry & kPageDiffer)) return entry;
  u32 own = lane_permissions(view, team, page, entry)[lane_in_team];
  return own == 0 ? 0 : (entry & ~(u32)(kPageReadable | kPageWritable | kPageExecutable | kPageDiffer)) | (own & 7);
}

MYR_FN PagedMemory<kTeam> memory_of(const View& view, u32 team, u32 place) {
  return {view.frames,       table_of(view, team, place),  view.first_page, view.page_count, place,
          view.granule_step, (u32)(place * view.lane_step)};
}

}  // namespace myriarm::cuda
