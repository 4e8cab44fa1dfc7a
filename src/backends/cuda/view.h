// SPDX-License-Identifier: Apache-2.0
// What the kernels see of a fleet: pointers into device memory, passed by value so that they are constants there.
#pragma once

#include "core/memory.h"
#include "core/operands.h"
#include "core/stop.h"
#include "isa/decoder.h"

namespace myriarm::cuda {

constexpr u32 kTeam = 32;  // lanes of a team: one warp

/// A frame is a page of each lane of a team, and one page more for what is kept per lane of a page on which the
/// lanes differ: their permissions, a byte each.
constexpr u32 kFrameUnits = kTeam + 1;
constexpr u64 kFrameBytes = u64{kFrameUnits} * kPageSize;

/// Units of the image: 0 is never used, 1 is the page of zeros, the program's pages follow, then frames.
constexpr u32 kZeroUnit = 1, kFirstImageUnit = 2;

/// Bump allocation of frames with a stack of freed ones. Guests only take, the host's kernels only give.
struct Pool {
  u32 first;       // first unit of the first frame
  u32 next;        // next unit never used; beyond `end` after failures, which the host mends
  u32 end;         // units from here on are not backed by memory
  u32 free_count;  // of the stack
};

/// Planes of the state array, in the order of Field up to `limit`, then the exclusive monitor.
constexpr u32 kPlaneSp = 31, kPlanePc = 32, kPlaneNzcv = 33, kPlaneTpidr = 34, kPlaneFpcr = 35, kPlaneFpsr = 36,
              kPlaneInstructions = 37, kPlaneLimit = 38, kPlaneMonitor = 39, kPlaneCount = 43;

/// What the device dispatches on, in place of Operands::kind and row.
struct DeviceRow {
  u16 kind;  // number of the semantics, or kKindOutOfLine
  u16 row;   // kRowParks, or kRowFolds and a branch, or 0; with kKindOutOfLine what is to be done there
};
constexpr u16 kKindOutOfLine = 0xFFFF;  // above all others, so that the range check of the dispatch finds it
constexpr u16 kFirstKind = 0;
constexpr u16 kRowNotImplemented = 0;  // with kKindOutOfLine
constexpr u16 kRowNotPredecoded = 1;   // with kKindOutOfLine
constexpr u16 kFirstRareRow = 2;       // with kKindOutOfLine: rare semantics
constexpr u16 kRowParks = 0x8000;      // calls and returns: where lanes wait for each other
/// The next word is a B or B.cond: run with this one. Bits 13:10 are its condition, 9:0 its offset in words.
constexpr u16 kRowFolds = 0x4000;

struct View {
  u64 lanes;
  u32 teams;
  u64* state;         // kPlaneCount planes of `lanes`
  u64* vectors;       // 64 planes of `lanes`: lower halves, then upper halves; null until the guest needs them
  StopRecord* stops;  // `lanes`
  u32* tables;        // page_count entries a team
  u64 first_page, page_count;
  u64 window_begin;
  u8* frames;  // unit 0 is here
  Pool* pool;
  u32* free_frames;       // stack of first units
  const Operands* code;   // kRowNotPredecoded, then the predecoded image; kind and row as in DeviceRow
  const DeviceRow* rows;  // kRowCount: for what is decoded on the device
  u32 code_begin;         // offset in the window of its first word
  u32 code_words;         // without that first one
  u8* own_code;           // a team that wrote to executable pages, or whose pages changed: decodes as it runs
  DecodeTable decode;
  const u32* cancel;
};

/// The entry as it is for one lane.
MYR_FN u32 entry_of_lane(const PagedMemory<kTeam>& memory, u32 entry) {
  if (!(entry & kPageDiffer)) return entry;
  const u8* frame = memory.frames + ((u64)(entry >> kPageFlagBits) << kPageBits);
  u32 own = frame[kTeam * kPageSize + memory.lane_in_team];
  return own == 0 ? 0 : (entry & ~(u32)(kPageReadable | kPageWritable | kPageExecutable)) | (own & 7);
}

MYR_FN PagedMemory<kTeam> memory_of(const View& view, u32 team, u32 lane_in_team) {
  return {view.frames, view.tables + team * view.page_count, view.first_page, view.page_count, lane_in_team};
}

}  // namespace myriarm::cuda
