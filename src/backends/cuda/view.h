// SPDX-License-Identifier: Apache-2.0
// What the kernels know of a fleet: pointers into device memory, passed by value so that they are constants in a
// kernel.
#pragma once

#include "backends/common/page_slices.h"
#include "backends/common/run_protocol.h"
#include "backends/cuda/code_span.h"
#include "backends/cuda/decoded_words.h"
#include "backends/cuda/page_history.h"
#include "backends/cuda/process/spaces.h"
#include "backends/cuda/process/split_pages.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/stop.h"
#include "isa/decode_table.h"
#include "kernel/process.h"

namespace myriarm::kernel {
struct FlatIndex;
struct FlatContent;
}  // namespace myriarm::kernel

namespace myriarm::cuda {

constexpr u32 kTeam = 32;  // lanes of a team: one warp

// The team of a lane, and its place in the team, 0 to kTeam - 1.
MYR_FN u32 team_of(u64 lane) { return (u32)(lane / kTeam); }
MYR_FN u32 place_of(u64 lane) { return (u32)(lane % kTeam); }
MYR_FN u64 lane_at(u32 team, u32 place) { return (u64)team * kTeam + place; }

/// A unit is 4 KiB of the range of frames. Unit 0 is never used, 1 is the page of zeros, then come the programs' pages, those of the
/// files of a root, the pages that teams have in common (common_pages.h), then frames.
constexpr u32 kZeroUnit = 1, kFirstImageUnit = 2;

/// Bump allocation of frames, with a stack of freed ones. A launch either takes frames from the stack or puts some on it,
/// never both: see View::team_frames.
struct Pool {
  u32 first;       // first unit of the first frame
  u32 next;        // first unit that was never used; beyond `end` after failed allocations, until the host corrects it
  u32 end;         // units from here on are not backed by memory
  u32 free_count;  // frames on the stack
};

/// Whether processes stop at each SVC.
enum CallStops : u32 {
  kServesCalls = 0,      // its call is served
  kStopsAtCalls = 1,     // they do
  kReturnsForCalls = 2,  // and the launch ends soon for the host, which serves them
};

/// StopRecord::reserved of a lane whose call waited for the host, which has brought what it needs: the next launch begins
/// with the call.
constexpr u16 kCallsAgain = 3;
/// The same, of a lane whose calls the host serves: this one it cannot.
constexpr u16 kCallsHere = 4;

/// What a launch must do: see RunOrder in backend.h. Two planes hold how far each lane may go in the run and in the
/// batch.
struct Control {
  u64 budget, batch;
  u64 batches;  // of a chain that the device launches by itself
  Phase phase;
  u16 go_on;
  u16 pool_may_grow;   // a chain ends when a lane is out of memory, so that the host can grow the pool
  u64 yield_ticks;     // how long the launch, or the chain, runs before it may end for code to be predecoded
  u64 host_ticks;      // how long it goes on while a lane waits for the host to serve its call
  u64 launch_ticks;    // how long the launch goes on at most; 0: without limit
  u64 differ_ticks;    // how long it goes on at least once pages came to differ, so that the host uses the kernel for
                       // that; 0: without limit
  u32 stops_at_calls;  // CallStops
  u32 serves_stopped;  // in the first batch of a chain alone
  u32 in_steps;        // 1: a batch is a step (lanes_in_step.h), at whose end a team leaves without a stop
};
/// The result of a launch.
struct Report {
  u64 retired;
  u64 batches;
  u64 left;               // lanes with StopCode::budget that have budget left, after the last batch; with
                          // Control::in_steps, lanes under way whose team is at the end of its step
  u64 stops[kStopCodes];  // lanes that have this stop now and did not before; budget: those with none left; none:
                          // those that left for kYieldOrder or kHostOrder
  u64 checked_at;         // when a warp last decided on `orders`, in ticks of 2^21 ns
  u64 yields_from;        // the tick from which on it may decide to yield
  u32 orders;             // Order bits
  u32 wants_code;         // not 0: a team runs from pages that have no predecoded words, or has changed such pages
  u32 host_calls;         // lanes in ProcessView::host_calls
  u32 missing_calls;      // 1: MissingCall::count has risen
  u32 wants_tables;       // page tables that lanes need for further address spaces
  u32 waits_for_tables;   // lanes whose calls wait for them
  u32 pages_differ;       // not 0: lanes of a team have come to differ in a page, so that it is simple by lane alone
  u64 host_waits_from;    // the tick since which some lanes wait for the host to serve their calls; 0: none does
  u64 output_head;        // OutputHead
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

/// Pages that a team has run from without predecoded words: page number + 1 in slot (page % kCodeSlots). A page may be
/// lost to another one of its slot.
constexpr u32 kCodeSlots = 256;
/// Bits of View::code_state.
enum CodeState : u32 {
  kCodeChanged = 1,    // the team may run from a page that has no predecoded words in its span, or had when it changed
  kCodeReported = 2,   // the report of a launch has said so
  kCodeSlotsUsed = 4,  // View::code_slots has pages beside the program's code
  kCodeShared = 8,     // the span is that of another table: the host's books do not know it yet
};
/// Bits of Report::orders, which all warps follow some hundred times a second.
enum Order : u32 {
  kCancelOrder = 1,  // the host has cancelled the run
  kYieldOrder = 2,   // leave the launch without a stop, so that the host can have code predecoded
  kHostOrder = 4,    // the same, so that the host can serve calls of processes, take their output, or send inputs
};

struct ProgramPace;     // interpreter/program_pace.h
struct InputQueueView;  // process/input_queue.h
struct OutputRing;      // process/output_log.h

/// A system call that the library lacks, once the host has been told of it.
struct MissingCall {
  u64 lowest;  // number of an input whose process has made it; the host has its text. All ones: none
  u64 count;   // how often it was answered since the host last took the count
};
/// Calls with numbers from here on always go to the host.
constexpr u32 kMissingCalls = 512;

/// Lanes that are processes: see kernel/machine.h and process/machine.cuh.
struct ProcessView {
  const kernel::ProcessFacts* facts;  // of each program, all zeros if its lanes are no processes; null: no lane is one
  kernel::ProcessInput* inputs;       // of each lane, with addresses of the device
  OutputRing* output;                 // what lanes have put out, with the chunks behind it
  u64 output_chunk;                   // bytes of each chunk
  u32* host_calls;                    // lanes whose calls wait for the host: `lanes` at most
  u32* wanted_files;              // of each of these: what file's content the call needs, and 1; 0: the host serves it
  InputQueueView* queue;          // null: the host gives lanes their inputs
  MissingCall* missing;           // kMissingCalls, by number; null: the host sees each of these calls
  const kernel::FlatIndex* tree;  // the root of all processes: kernel/flat_tree.h; null: there is none
  const kernel::FlatContent* contents;  // of each of its files; changes between launches alone
  u32 keep_memory;                      // 0: nobody sees the memory of a lane that has exited
  u32 pages_differ;                     // not 0: the kernel runs for which pages in which lanes differ are simple
  Split* splits;                        // kSplits of each table; null: no page is split
  SpacesView spaces;
};

/// Entries of a page table have these flags beside the permissions:
///   kPageShared              a page of the image, of a file of the root, or in common among teams: contiguous, one for all lanes; with
///                            kPageCode it has predecoded words
///   kPageShared, kPageDiffer such a page that lanes have in different ways: split_pages.h
///   kPageCode alone          a snapshot holds the frame too, and a store copies it first; or the team runs from the page,
///                            and a store takes its predecoded words from the team's span
struct View {
  u64 lanes;
  u32 teams;
  u32 table_count;  // page tables: those of the teams, then further ones. Where an array is "of each team", it is of each table
  u32 granule_step;   // see PagedMemory
  u64 lane_step;      // bytes from a lane's part of a frame to the next lane's
  u32 frame_units;    // units of a frame: a page for each lane, and one with a byte of permissions for each lane
  PageSlices slices;  // of each page table
  u64* state;         // kPlaneCount planes of `lanes`
  u64* vectors;       // 64 planes of `lanes`: lower halves, then upper halves
  u32 plane_bytes;    // 8 * lanes
  StopRecord* stops;  // `lanes`
  u32* tables;        // page_count entries a team, table_step words apart: see kTableFront
  u64 table_step;
  u64 first_page, page_count;  // with the kernel pages of processes, which follow the guest's
  u64 guest_pages;
  u64 window_begin, window_bytes;  // of the guest
  u8* frames;                      // unit 0 is here
  Pool* pool;
  u32* free_frames;    // stack of first units
  u32* frame_holders;  // of each frame: how many page tables and snapshots refer to it
  u32* team_frames;    // of each team: the first frame of those that it gave up in this launch; 0: none
  u64* touched;        // of each team: slices of its table that may differ from the program's
  u32* team_program;   // program of each team
  u32 programs;
  const u32* base_tables;     // page_count entries a program: its lanes' tables at the beginning
  const u64* program_slices;  // of each program: the slices that have entries there
  const DeviceRow* rows;      // kRowCount rows, for words that the device decodes
  u32 code_begin;             // where all spans begin, an offset in the window
  u64 span_pages;             // the most pages that a span has
  CodeSpan common_code;       // the span of which all teams run all or a part; its words are null if there is none
  CodeSpan* team_code;        // the span that each team runs from; with 0 bytes it decodes as it runs
  GroupCode* group_code;  // with kHasGroup there: which lanes run from another span, which has code in split pages too
  u32* wanted_groups;     // of each team: the lanes for which the host has such a span made
  const CodeSpan* program_code;  // the span of each program
  u32* code_state;               // CodeState bits of each team
  u32* code_ran;                 // of each team: not 0 once it has run without predecoded words
  u32* code_slots;               // kCodeSlots of each team
  PageHistory* page_history;     // of the same pages, as they were when the host last asked
  DecodedWord* decoded_words;    // kDecodedWords: of words that were decoded as they ran
  ProgramPace* paces;            // of each program
  u8* flat_permissions;          // with flat memory: kTeam bytes of permissions for each page; else null
  ProcessView processes;
  DecodeTable decode;
  Control* control;
  Report* report;
  // Host memory.
  const u32* cancel;
  u64* progress;  // retired counts, `lanes`
  StopCode* codes;
};

/// The page table of a team.
MYR_FN u32* table_of_team(const View& view, u32 team) { return view.tables + team * view.table_step; }
/// The page table of this number, for the lane at `place` of its team. The lanes of a team share it; entries of pages in which
/// they differ have kPageDiffer.
MYR_FN u32* table_of(const View& view, u32 table, u32 place) {
  (void)place;
  if (table < view.teams) return table_of_team(view, table);
  return view.processes.spaces.tables + (u64)(table - view.teams) * view.table_step;
}
/// The tables of the space in which a lane runs.
MYR_FN LaneTables running_tables(const View& view, u64 lane) {
  const LaneTables* running = view.processes.spaces.running;
  if (running == nullptr) return {team_of(lane), team_of(lane), team_of(lane)};
  return running[lane];
}
/// The table that has the guest's pages of the space in which a lane runs.
MYR_FN u32 guest_table(const View& view, u64 lane) { return running_tables(view, lane).guest; }
/// The table that has a page of a lane, given those of the space in which it runs.
MYR_FN u32 table_with(const View& view, const LaneTables& running, u64 page) {
  if (page < view.guest_pages) return running.guest;
  return page < view.guest_pages + kernel::kOwnPages ? running.own : running.lane;
}
/// The team that a table belongs to, and the lanes that have pages there.
MYR_FN u32 team_of_table(const View& view, u32 table) {
  return table < view.teams ? table : view.processes.spaces.owners[table - view.teams] / kTeamTables;
}
MYR_FN u32 lanes_of_team(const View& view, u32 team) {
  const u64 lanes = view.lanes - lane_at(team, 0);
  return lanes >= kTeam ? ~(u32)0 : ((u32)1 << lanes) - 1;
}
MYR_FN u32 lanes_of_table(const View& view, u32 table) {
  const SpacesView& spaces = view.processes.spaces;
  if (table >= view.teams) return spaces.present[spaces.owners[table - view.teams]];
  const u32 all = lanes_of_team(view, table);
  return spaces.present == nullptr ? all : all & spaces.present[table * kTeamTables];
}
/// The lanes that a page of a table may be changed for: those behind the own pages of a process are the lane's.
MYR_FN u32 lanes_with_page(const View& view, u32 table, u64 page) {
  const bool is_of_lane = table < view.teams && page >= view.guest_pages + kernel::kOwnPages;
  if (!is_of_lane || view.processes.spaces.away == nullptr) return lanes_of_table(view, table);
  return lanes_of_team(view, table) & ~view.processes.spaces.away[table];
}
/// Whether one lane has a table alone.
MYR_FN bool is_exclusive(const View& view, u32 table) {
  const SpacesView& spaces = view.processes.spaces;
  return table >= view.teams && *(volatile u32*)&spaces.exclusive[spaces.owners[table - view.teams]] != 0;
}
/// The entry of a page in the table that a program begins with.
MYR_FN u32 program_entry(const View& view, u32 program, u64 page) {
  return view.base_tables[program * view.page_count + page];
}

/// What the processes of a team's program have in common; null if its lanes are no processes.
MYR_FN const kernel::ProcessFacts* process_of(const View& view, u32 team) {
  if (view.processes.facts == nullptr) return nullptr;
  const kernel::ProcessFacts* facts = &view.processes.facts[view.team_program[team]];
  return facts->window_end != 0 ? facts : nullptr;
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

/// The span that the lane at a place runs from in a table.
MYR_FN CodeSpan code_of_lane(const View& view, u32 table, u32 place) {
  CodeSpan code = view.team_code[table];
  const bool has_group = (code.begin & kHasGroup) != 0;
  code.begin &= ~kHasGroup;
  if (!has_group) return code;
  const GroupCode group = view.group_code[table];
  return group.lanes >> place & 1 ? CodeSpan{group.words, code.begin, group.bytes} : code;
}

static_assert(kSplitLanes == kTeam);
/// The permissions of a page for a lane that has this entry: 0, or kLaneMapped with flags.
MYR_FN u32 lane_value(u32 entry) { return entry == 0 ? 0 : (entry & kPagePermissions) | kLaneMapped; }

/// What own_word() gives for each split of a table and each lane: kSplitLanes words a split. Only if there are any.
MYR_FN u32* split_words(const View& view, u32 table) { return table_of(view, table, 0) - kTableFront; }
/// The splits of a table. Only if there are any.
MYR_FN Split* splits_of(const View& view, u32 table) { return view.processes.splits + (u64)table * kSplits; }
/// The entry that the lane at a place has for a page with a split entry: as if all lanes had the page in this way; 0: it has none.
/// `splits`: those of the page's table.
MYR_FN u32 split_entry(const Split* splits, u64 page, u32 entry, u32 place) {
  const volatile Split& split = splits[entry >> kPageFlagBits];
  const volatile SplitPart& part = part_of_lane(split, place);
  const u32 value = part_value(part, place);
  if (value == 0) return 0;
  const u32 shift = part.shift, unit = shift == kZeroPages ? kZeroUnit : (shift + (u32)page) & kUnitMask;
  return unit << kPageFlagBits | kPageShared | (value & kPagePermissions);
}

/// An entry with the permissions of one lane.
MYR_FN u32 entry_of_lane(const View& view, u32 team, u64 page, u32 entry, u32 lane_in_team) {
  if (!(entry & kPageDiffer)) return entry;
  if (is_split(entry)) return split_entry(splits_of(view, team), page, entry, lane_in_team);
  u32 own = lane_permissions(view, team, page, entry)[lane_in_team];
  return own == 0 ? 0 : (entry & ~(u32)(kPagePermissions | kPageDiffer)) | (own & kPagePermissions);
}

/// All pages of a lane in a table, kernel pages too.
MYR_FN PagedMemory<kTeam> memory_of(const View& view, u32 table, u32 place) {
  return {view.frames,       table_of(view, table, place), view.first_page, view.page_count, place,
          view.granule_step, (u32)(place * view.lane_step)};
}

}  // namespace myriarm::cuda
