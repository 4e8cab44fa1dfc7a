// SPDX-License-Identifier: Apache-2.0
// How a kernel and the regions that were translated for its GPU agree: where a lane's registers and its memory are, and what
// a region takes and returns. Regions are compiled against this layout.
#pragma once

#include "core/cpu.h"
#include "core/memory.h"

namespace myriarm::translate {

constexpr u32 kDeviceTeam = 32;  // lanes of a team: one warp

/// A lane's column in shared memory: slot s lies kColumnStep * s bytes behind its beginning. General registers have their
/// slots' numbers; the columns of a team's lanes lie 8 bytes apart.
constexpr u32 kColumnStep = kDeviceTeam * 8;
constexpr u32 kColumnFp = kSlotCount;       // FPCR, and FPSR in the upper half
constexpr u32 kColumnAim = kSlotCount + 1;  // free while a region runs

/// How many entries of the team's page table are kept in shared memory, that of a page at page % kFoundEntries: a look there takes an
/// eighth of the time of one at the table. A word has the page, of the window, in its lower half, and the entry in its upper one.
/// The kernel empties them before it changes a table. As many as leave room for the teams of a full device.
constexpr u32 kFoundEntries = 16;
constexpr u64 kNoFoundEntry = ~(u32)0;

/// What the lanes of a team have in common, in shared memory. Addresses are those of the team's first lane; a lane's value of a
/// vector half or a system field lies 8 bytes for each lane before it further.
struct alignas(8) DeviceTeamFacts {
  u64 frames, table;                    // as in PagedMemory
  u64 first_page, page_count;           // of the guest
  u64 vectors;                          // 64 planes: lower halves of all registers, then upper halves
  u64 system[(int)SystemField::count];  // but for FPCR and FPSR
  u32 vector_plane;                     // bytes from a plane to the next
  u32 granule_step;                     // as in PagedMemory
  u32 lane_step;                        // bytes from a lane's part of a frame to the next lane's
  u32 columns;                          // address in shared memory of the first lane's column
  u64 found[kFoundEntries];
};

/// Where a frame has the permissions of its page by lane, if they differ: behind the last column, a byte for each lane.
MYR_FN u64 permissions_place(u64 frame, u32 granule_step, u32 lane_in_team) {
  return frame + ((u64)granule_step << kPageBits) + lane_in_team;
}

/// Where a page has both kPageShared and kPageDiffer, a word in front of the page table gives the entry of the lane at this place, once
/// the page's number is added in the place of a frame's. `number`: of the table's entry, without its flags.
constexpr u64 kTableFrontBytes = 128 * kDeviceTeam * sizeof(u32);
MYR_FN u64 own_word_place(u64 table, u32 number, u32 lane_in_team) {
  return table - kTableFrontBytes + ((u64)number * kDeviceTeam + lane_in_team) * sizeof(u32);
}

/// A page as a lane may access it, whatever the other lanes of its team may.
struct DevicePage {
  u64 base;          // where the lane's bytes of it begin
  u32 granule_step;  // granule g lies g * 8 * granule_step bytes further
  u32 entry;         // as in a page table, but with the lane's own permissions; 0: the address is outside of the window
};
/// The function by which regions for lanes that may differ find a page: DevicePage(u64 address). See find_page.h.
constexpr const char* kFindPageName = "myriarm_find_page";

/// How many pages a region may keep the place of. Each is for the accesses with one base register.
constexpr u32 kKeptPages = 4;

/// Entry number n of a region has the number n * kEntryApart: see FlagSource.
constexpr u32 kEntryApart = 65537;

/// In DeviceRegionResult::nzcv: the region has ended before the instruction at pc, which another engine must run.
constexpr u32 kRegionRefused = 1u << 4;

/// Of the argument `nzcv`: the bits from here on are how many instructions are to be left when the lane leaves.
constexpr u32 kAimShift = 8;
constexpr u32 kMostAim = (1u << (32 - kAimShift)) - 1;

struct DeviceRegionResult {
  u64 pc;
  u32 nzcv;
  u32 left;
};

/// Runs a lane from an entry on, whose address its pc must be. `column` and `team` (of DeviceTeamFacts) are addresses in
/// shared memory. The lane leaves where an outermost loop begins anew and no more than the aim of its `left` instructions, at most
/// 2^30, remain; where another loop begins anew and none remain. It may retire up to DeviceRegion::longest_run more. So lanes seldom
/// leave inside of a loop, where they could not enter the region again without one more way into that loop. `left` of the
/// result is what remains, as a signed number.
using DeviceRegionFunction = DeviceRegionResult (*)(u32 column, u32 entry, u32 team, u32 left, u32 nzcv);

}  // namespace myriarm::translate
