// SPDX-License-Identifier: Apache-2.0
// How a kernel and the regions that were translated for its GPU agree: where a lane's registers and its memory are, and what
// a region takes and returns. Regions are compiled against this layout.
#pragma once

#include "core/cpu.h"

namespace myriarm::translate {

constexpr u32 kDeviceTeam = 32;  // lanes of a team: one warp

/// A lane's column in shared memory: slot s lies kColumnStep * s bytes behind its beginning. General registers have their
/// slots' numbers; the columns of a team's lanes lie 8 bytes apart.
constexpr u32 kColumnStep = kDeviceTeam * 8;
constexpr u32 kColumnFp = kSlotCount;  // FPCR, and FPSR in the upper half

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
};

/// How many pages a region may keep the place of. Each is for the accesses with one base register.
constexpr u32 kKeptPages = 4;

/// Entry number n of a region has the number n * kEntryApart: see FlagSource.
constexpr u32 kEntryApart = 65537;

/// In DeviceRegionResult::nzcv: the region has ended before the instruction at pc, which another engine must run.
constexpr u32 kRegionRefused = 1u << 4;

struct DeviceRegionResult {
  u64 pc;
  u32 nzcv;
  u32 left;
};

/// Runs a lane from an entry on, whose address its pc must be. `column` and `team` (of DeviceTeamFacts) are addresses in
/// shared memory. The lane leaves at the first check after it has retired `left` instructions, at most 2^30; it may retire up
/// to DeviceRegion::longest_run more. `left` of the result is what remains of them, as a signed number.
using DeviceRegionFunction = DeviceRegionResult (*)(u32 column, u32 entry, u32 team, u32 left, u32 nzcv);

}  // namespace myriarm::translate
