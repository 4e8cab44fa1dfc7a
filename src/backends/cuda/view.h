// SPDX-License-Identifier: Apache-2.0
// What the kernels see of a fleet: pointers into device memory, passed by value so that they are constants there.
#pragma once

#include "backends/common/run_protocol.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/operands.h"
#include "core/stop.h"
#include "isa/decoder.h"

namespace myriarm::cuda {

constexpr u32 kTeam = 32;  // lanes of a team: one warp

// Where the state of a lane lies: its team, and its place there.
MYR_FN u32 team_of(u64 lane) { return (u32)(lane / kTeam); }
MYR_FN u32 place_of(u64 lane) { return (u32)(lane % kTeam); }
MYR_FN u64 lane_at(u32 team, u32 place) { return (u64)team * kTeam + place; }

/// Units of the image: 0 is never used, 1 is the page of zeros, the programs' pages follow, then frames.
constexpr u32 kZeroUnit = 1, kFirstImageUnit = 2;
/// No team has more slices of its page table than this, one bit each in View::touched.
constexpr u32 kMostSlices = 64;

/// Bump allocation of frames with a stack of freed ones. Guests only take, the host's kernels only give.
struct Pool {
  u32 first;       // first unit of the first frame
  u32 next;        // next unit never used; beyond `end` after failures, which the host mends
  u32 end;         // units from here on are not backed by memory
  u32 free_count;  // of the stack
};

/// What a launch is to do; as RunOrder of backend.h says, with two planes that keep how far a lane may go in the run and
/// in the batch.
struct Control {
  u64 budget, batch;
  u64 batches;  // of a chain that the device launches by itself
  Phase phase;
  u16 go_on;
  u16 may_grow;  // the pool: the chain ends for a lane that has no memory left, and the host looks for more
};
/// What came of it.
struct Report {
  u64 retired;
  u64 batches;
  u64 left;               // lanes with StopCode::budget that have budget left, after the last batch
  u64 stops[kStopCodes];  // lanes that have this stop now and did not before; budget: those with none left
  u64 looked;             // when a warp last looked at View::cancel, in ticks of the device's clock
  u32 cancelled;          // what it saw
};

/// Planes of the state array, in the order of Field up to `limit`, then the exclusive monitor, then how far the run
/// goes: a RunEnd, and a count.
constexpr u32 kPlaneSp = 31, kPlanePc = 32, kPlaneNzcv = 33, kPlaneTpidr = 34, kPlaneFpcr = 35, kPlaneFpsr = 36,
              kPlaneInstructions = 37, kPlaneLimit = 38, kPlaneMonitor = 39, kPlaneRunEnd = 43, kPlaneBatchEnd = 44,
              kPlaneCount = 45;
constexpr u32 kLanePlanes = kPlaneRunEnd;  // those that are the lane's state: a snapshot has them

/// Where a system field is.
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
  u16 row;   // kRowCallOrReturn, or kRowFoldedBranch and a branch, or 0; with kKindOutOfLine what is to be done there
};
constexpr u16 kKindOutOfLine = 0xFFFF;  // above all others, so that the range check of the dispatch finds it
constexpr u16 kFirstKind = 0;
constexpr u16 kRowNotImplemented = 0;     // with kKindOutOfLine
constexpr u16 kRowNotPredecoded = 1;      // with kKindOutOfLine
constexpr u16 kFirstRareRow = 2;          // with kKindOutOfLine: rare semantics
constexpr u16 kRowCallOrReturn = 0x8000;  // calls and returns: where lanes wait for each other
/// The next word is a B or B.cond: run with this one. Bits 13:10 are its condition, 9:0 its offset in words.
constexpr u16 kRowFoldedBranch = 0x4000;

/// Entries of a page table have these flags beside the permissions:
///   kPageShared              a page of the image, contiguous; with kPageCode it has predecoded words
///   kPageCode alone          a snapshot holds the frame too: a store copies it first. Where memory is flat: the page
///                            has predecoded words, and a store makes the team decode as it runs
struct View {
  u64 lanes;
  u32 teams;
  u32 granule_step;   // see PagedMemory
  u64 lane_step;      // bytes from a lane's part of a frame to the next lane's
  u32 frame_units;    // of a frame: a page of each lane, and one for permissions by lane, a byte each
  u32 slice_shift;    // pages of a slice of a page table are 1 << slice_shift
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
  u32* frame_holders;       // of each frame: tables and snapshots
  u64* touched;             // of each team: slices of its table that may differ from the program's
  const u32* team_program;  // program of each team
  u32 programs;
  const u32* base_tables;  // page_count entries a program: its lanes' tables at the beginning
  const Operands* code;    // of each program: kRowNotPredecoded, then `code_words`; kind and row as in DeviceRow
  const DeviceRow* rows;   // kRowCount: for what is decoded on the device
  u32 code_begin;          // offset in the window of the first word of each
  u32 code_words;
  u8* own_code;          // a team that wrote to predecoded pages, or whose pages changed: decodes as it runs
  u8* flat_permissions;  // where memory is flat: permissions by lane, a page at a time; null where it is not
  DecodeTable decode;
  Control* control;
  Report* report;
  // Memory of the host.
  const u32* cancel;
  u64* progress;  // retired, `lanes`
  StopCode* codes;
};

/// The page table of the address space that a lane is in; `place` is its place in the team. One for each team today:
/// lanes whose pages differ have kPageDiffer in the entry. docs/design/address-spaces.md says what comes after that.
MYR_FN u32* table_of(const View& view, u32 team, u32 place) {
  (void)place;
  return view.tables + team * view.page_count;
}
/// The entry of a page in the table that a program begins with.
MYR_FN u32 program_entry(const View& view, u32 program, u64 page) {
  return view.base_tables[program * view.page_count + page];
}

MYR_FN bool is_flat(const View& view) { return view.flat_permissions != nullptr; }

/// The page of a team where memory is flat: unit 0 is never used.
MYR_FN u32 flat_unit(const View& view, u32 team, u64 page) {
  return (u32)(1 + (u64)team * kTeam * view.page_count + page);
}

/// An entry of a program's base table as a team has it at the beginning.
MYR_FN u32 first_entry(const View& view, u32 team, u64 page, u32 base) {
  if (!is_flat(view) || base == 0) return base;
  return flat_unit(view, team, page) << kPageFlagBits | (base & kPageFlagMask & ~(u32)kPageShared);
}

/// Where the permissions by lane of a page on which the lanes differ are.
MYR_FN u8* lane_permissions(const View& view, u32 team, u64 page, u32 entry) {
  if (is_flat(view)) return view.flat_permissions + ((u64)team * view.page_count + page) * kTeam;
  return view.frames + ((u64)((entry >> kPageFlagBits) + view.frame_units - 1) << kPageBits);
}

/// An entry as it is for one lane.
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
