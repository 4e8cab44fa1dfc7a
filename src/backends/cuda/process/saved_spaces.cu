// SPDX-License-Identifier: Apache-2.0
// Snapshots of lanes with several processes: their further page tables. What a team's own table has is saved and restored as that of
// other lanes is.
#include "backends/cuda/process/saved_spaces.h"

#include "backends/cuda/composed_page.cuh"
#include "backends/cuda/process/spaces.cuh"
#include "backends/cuda/start_kernel.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kBlock = 128;
constexpr u32 kWarp = 32;
constexpr u32 kAll = 0xFFFFFFFFu;
constexpr u32 kGranules = kPageSize / 8;

u32 blocks_for(u64 threads) { return (u32)((threads + kBlock - 1) / kBlock); }

__device__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ bool is_saved_copy(u32 entry) { return (entry & kSavedCopy) == kSavedCopy; }
/// Tables of several lanes may name one frame, of which each lane has its column.
__device__ u32& mark_of(const View& view, u32* marks, u32 entry, u32 place) {
  const u32 frame = ((entry >> kPageFlagBits) - view.pool->first) / view.frame_units;
  return marks[(u64)frame * kTeam + place];
}
__device__ u64 entries_before(const View& view, u64 touched, u32 slice) {
  return view.slices.entries_before(touched, slice, [](u64 mask) { return (u32)__popcll(mask); });
}

/// Calls `visit(page, place)` for the pages of touched slices, with the place of each entry in SavedTables::entries. Each thread of
/// the block takes some.
template <class Visit>
__device__ void visit_saved(const View& view, const SavedTable& table, Visit visit) {
  for (u64 rest = table.touched; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 first = view.slices.first(slice), pages = view.slices.end(slice) - first;
    const u64 at = table.first + entries_before(view, table.touched, slice);
    for (u64 i = threadIdx.x; i < pages; i += blockDim.x) visit(first + i, at + i);
  }
}

/// One block for each table.
__global__ void mark_copies_kernel(const __grid_constant__ View view, const SavedTables saved, u32* marks,
                                   u32* counts) {
  const SavedTable table = saved.list[blockIdx.x];
  if (table.lane == kNotSaved) return;
  const u32 place = place_of(table.lane);
  const PagedMemory<kTeam> memory = memory_of(view, table.table, place);
  visit_saved(view, table, [&](u64 page, u64) {
    const u32 entry = memory.entry(page);
    if (!has_frame(view, entry) || ((entry & kPageCode) && holders_of(view, entry >> kPageFlagBits) > 1)) return;
    if (entry_of_lane(view, table.table, page, entry, place) == 0) return;
    u32& mark = mark_of(view, marks, entry, place);
    if (atomicCAS(&mark, 0u, kAll) == 0) mark = atomicAdd(&counts[table.owner], 1u) + 1;
  });
}

/// One block for each table.
__global__ void save_tables_kernel(const __grid_constant__ View view, const SavedTables saved, u32* marks) {
  const SavedTable table = saved.list[blockIdx.x];
  const bool is_alone = table.lane != kNotSaved;
  const u32 place = is_alone ? place_of(table.lane) : 0;
  const PagedMemory<kTeam> memory = memory_of(view, table.table, place);
  visit_saved(view, table, [&](u64 page, u64 at) {
    const u32 entry = memory.entry(page);
    u32 kept = is_alone ? entry_of_lane(view, table.table, page, entry, place) : entry;
    if (has_frame(view, entry) && kept != 0) {
      const u32 mark = is_alone ? mark_of(view, marks, entry, place) : 0;
      if (mark == 0) {
        *memory.entry_place(page) = entry | kPageCode;
        kept |= kPageCode;
        atomicAdd(&holders_of(view, entry >> kPageFlagBits), 1u);
      } else {
        const u32 number = table.first_copy + mark - 1;
        u64* to = (u64*)(saved.copies + ((u64)number << kPageBits));
        for (u32 granule = 0; granule < kGranules; granule++)
          to[granule] = *(const u64*)memory.locate(entry, granule * 8);
        kept = number << kPageFlagBits | kSavedCopy | (kept & kPagePermissions);
      }
    }
    saved.entries[at] = kept;
  });
  if (saved.splits == nullptr) return;
  for (u32 i = threadIdx.x; i < kSplits; i += blockDim.x)
    saved.splits[(u64)blockIdx.x * kSplits + i] = splits_of(view, table.table)[i];
}

/// One warp for each team of the list.
__global__ void count_leaving_kernel(const __grid_constant__ View view, const TeamMask* teams, u64 count, u32* frames) {
  const u64 index = thread_index() / kWarp;
  if (index >= count) return;
  const TeamMask leaving = teams[index];
  for (u32 place = 1; place < kTeamTables; place++) {
    const u32 table = table_in_place(view, leaving.team, place);
    if (table == 0) break;
    const u32 present = lanes_in_place(view, leaving.team, place);
    if (present == 0 || (present & ~leaving.mask) != 0) continue;
    visit_pages(view, kAll, view.touched[table], 0, view.page_count, [&](u64 page, bool exists) {
      const u32 entry = exists ? *memory_of(view, table, 0).entry_place(page) : 0;
      if (has_frame(view, entry) && holders_of(view, entry >> kPageFlagBits) == 1) atomicAdd(frames, 1u);
    });
  }
}

/// One thread for each table.
__global__ void give_tables_kernel(const __grid_constant__ View view, const RestoredTable* tables, u64 count) {
  const u64 i = thread_index();
  if (i >= count) return;
  const RestoredTable& table = tables[i];
  view.processes.spaces.owners[table.table - view.teams] = table.team * kTeamTables + table.place;
  table_in_place(view, table.team, table.place) = table.table;
  place_is_exclusive(view, table.team, table.place) = table.is_alone;
  if (table.keeps != 0) return;
  view.team_program[table.table] = view.team_program[table.team];
  view.code_ran[table.table] = 0;
  run_no_span(view, table.table);
  view.code_state[table.table] = kCodeChanged;
}

/// One warp for each page.
__global__ void place_copies_kernel(const __grid_constant__ View view, const SavedTables saved, const CopiedPage* pages,
                                    u64 count, u32* frames, RestoreCounts* counts) {
  const u64 index = thread_index() / kWarp;
  if (index >= count) return;
  const u32 thread = threadIdx.x % kWarp;
  const CopiedPage page = pages[index];
  u32 frame = thread == 0 ? allocate_frame(view, team_of(page.lane)) : 0;
  frame = __shfl_sync(kAll, frame, 0);
  if (thread == 0) {
    frames[index] = frame;
    if (frame != 0) holders_of(view, frame) = 0;
    else counts->failed = 1;
  }
  if (frame == 0) return;
  const PagedMemory<kTeam> memory = memory_of(view, team_of(page.lane), place_of(page.lane));
  const u64* from = (const u64*)(saved.copies + ((u64)page.page << kPageBits));
  for (u32 granule = thread; granule < kGranules; granule += kWarp)
    *(u64*)memory.locate(frame << kPageFlagBits, granule * 8) = from[granule];
}

/// What the warps of a block share while they restore a table.
struct Restore {
  const View& view;
  const SavedTables& saved;
  const RestoredTable& target;
  const u32* frames;
  u32* released;
  RestoreCounts* counts;
  bool dry;

  __device__ u32& entry_at(u64 page) const { return *memory_of(view, target.table, 0).entry_place(page); }
  /// A table that all lanes leave is cleared after a dry launch.
  __device__ u32 entry_now(u64 page) const { return target.keeps == 0 ? 0 : entry_at(page); }
  __device__ u32 saved_entry(u32 source, u64 page) const {
    const SavedTable& table = saved.list[source];
    const u32 slice = view.slices.of(page);
    if (!(table.touched >> slice & 1)) return 0;
    return saved.entries[table.first + entries_before(view, table.touched, slice) + (page - view.slices.first(slice))];
  }
  __device__ u32 part_of(u64 page) const {
    if (page < view.guest_pages) return kGuestPart;
    return page < view.guest_pages + kernel::kOwnPages ? kOwnPart : kLanePart;
  }
  __device__ bool takes(u32 lane, u64 page) const {
    return target.sources[lane] != kNotSaved && (target.parts[lane] & part_of(page)) != 0;
  }

  /// Whether a page may have to change. One thread calls it.
  __device__ bool concerns(u64 page) const {
    const u32 now = entry_now(page);
    u32 seen = kNotSaved;
    for (u32 lane = 0; lane < kTeam; lane++) {
      if (!takes(lane, page)) continue;
      // The frame has a different page for each lane, so that an equal entry does not mean the same page.
      if (has_frame(view, now) && target.lanes[lane] != lane_at(target.team, lane)) return true;
      if (target.sources[lane] == seen) continue;
      seen = target.sources[lane];
      const u32 entry = saved_entry(seen, page);
      if (entry != now || is_split(entry)) return true;  // equal numbers of splits do not mean equal splits
    }
    return false;
  }

  /// Gives the page this entry, and lists the frame of the old one in `released`. One thread calls it.
  __device__ void replace(u64 page, u32 entry) const {
    const u32 now = entry_now(page);
    if (now == entry) return;
    if (has_frame(view, now)) {
      const u32 place = atomicAdd(&counts->released, 1u);
      if (!dry) released[place] = now >> kPageFlagBits;
    }
    if (dry) return;
    entry_at(page) = entry;
    touch(view, target.table, page);
    if (target.keeps != 0) code_page_changes(view, target.table, page, Writer::guest);
  }
  /// Gives the page a frame that others hold too. One thread calls it.
  __device__ void hold(u64 page, u32 entry) const {
    if (!dry) atomicAdd(&holders_of(view, entry >> kPageFlagBits), 1u);
    replace(page, entry);
  }

  /// A whole warp calls it.
  __device__ void restore_page(u64 page, u32 thread) const {
    const u32 now = entry_now(page), source = target.sources[thread];
    const bool gets = takes(thread, page), here = gets || (target.keeps >> thread & 1);
    const u32 kept = gets ? saved_entry(source, page) : 0;
    const u32 leader = __ffs(__ballot_sync(kAll, here)) - 1;
    if (__any_sync(kAll, is_saved_copy(kept))) {  // then no other lane has pages here
      if (thread != leader) return;
      const u32 number = (kept >> kPageFlagBits) - saved.list[source].first_copy;
      const u32 frame = dry ? 0 : frames[target.frames + number];
      if (dry || frame != 0) hold(page, frame << kPageFlagBits | (kept & kPagePermissions));
      return;
    }
    const u32 from_place = gets ? place_of(target.lanes[thread]) : thread;
    u32 entry = gets ? kept : now;
    if (gets && is_split(entry)) entry = split_entry(saved.splits + (u64)source * kSplits, page, entry, from_place);
    else if (here) entry = entry_of_lane(view, target.table, page, entry, from_place);
    // A page that lanes have in different ways, and get back as they have it, needs no frame.
    const u32 own = here ? entry_of_lane(view, target.table, page, now, thread) : 0;
    if (is_split(now) && __all_sync(kAll, !here || entry == own)) return;
    // All lanes get back what they had in one table, here: that is its entry.
    const u32 whole = __shfl_sync(kAll, kept, leader), whole_source = __shfl_sync(kAll, source, leader);
    const bool is_own = gets && source == whole_source && target.lanes[thread] == lane_at(target.team, thread);
    if (__all_sync(kAll, !here || is_own) && has_frame(view, whole)) {
      if (thread == 0) hold(page, whole);
      return;
    }
    const u32 first = __shfl_sync(kAll, entry, leader);
    if (__all_sync(kAll, !here || entry == first) && !has_frame(view, first)) {
      if (thread == 0) replace(page, first);
      return;
    }
    u32 composed = 0;
    if (!dry) composed = compose_page(view, target.table, page, here, entry, from_place);
    if (thread != 0) return;
    if (dry) atomicAdd(&counts->frames_needed, 1u);
    else if (composed == 0) counts->failed = 1;
    if (dry || composed != 0) replace(page, composed);
  }
};

/// One block for each table that gets pages.
__global__ void restore_tables_kernel(const __grid_constant__ View view, const SavedTables saved,
                                      const RestoredTable* tables, bool dry, const u32* frames, u32* released,
                                      RestoreCounts* counts) {
  __shared__ RestoredTable target;
  __shared__ unsigned long long slices;
  if (threadIdx.x == 0) {
    target = tables[blockIdx.x];
    slices = target.keeps == 0 ? 0 : view.touched[target.table];
  }
  __syncthreads();
  const u32 warp = threadIdx.x / kWarp, thread = threadIdx.x % kWarp, warps = blockDim.x / kWarp;
  if (warp == 0 && target.sources[thread] != kNotSaved)
    atomicOr(&slices, (unsigned long long)saved.list[target.sources[thread]].touched);
  __syncthreads();
  const Restore restore{view, saved, target, frames, released, counts, dry};
  for (u64 rest = slices; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 end = view.slices.end(slice);
    for (u64 begin = view.slices.first(slice) + warp * kWarp; begin < end; begin += warps * kWarp) {
      const u64 mine = begin + thread;
      const bool exists = mine < end;
      for (u32 todo = __ballot_sync(kAll, exists && restore.concerns(mine)); todo != 0; todo &= todo - 1) {
        restore.restore_page(begin + __ffs(todo) - 1, thread);
        __syncwarp();
      }
    }
  }
}

/// One thread for each lane.
__global__ void give_spaces_kernel(const __grid_constant__ View view, const RestoredLane* lanes, u64 count) {
  const u64 i = thread_index();
  if (i >= count) return;
  const u32 lane = lanes[i].lane, team = team_of(lane), bit = (u32)1 << place_of(lane);
  const LaneSpaces& spaces = lanes[i].spaces;
  view.processes.spaces.lanes[lane] = spaces;
  view.processes.spaces.running[lane] = tables_of_space(view, lane, spaces.running);
  bool in_team = false;
  for (u32 number = 0; number < kMostSpaces; number++) {
    if (spaces.own[number] == kNoPlace) continue;
    for (const u32 place : {spaces.own[number], spaces.guest[number]}) {
      in_team |= place == 0;
      atomicOr(&lanes_in_place(view, team, place), bit);
    }
  }
  if (!in_team) atomicAnd(&lanes_in_place(view, team, 0), ~bit);
  if (spaces.lane == 0) return;
  atomicOr(&lanes_in_place(view, team, spaces.lane), bit);
  atomicOr(&view.processes.spaces.away[team], bit);
}

}  // namespace

void launch_mark_copies(const View& view, const SavedTables& saved, u32* marks, u32* counts, cudaStream_t stream) {
  start(mark_copies_kernel, saved.count, kBlock, stream, view, saved, marks, counts);
}
void launch_save_tables(const View& view, const SavedTables& saved, u32* marks, cudaStream_t stream) {
  start(save_tables_kernel, saved.count, kBlock, stream, view, saved, marks);
}
void launch_count_leaving(const View& view, const TeamMask* teams, u64 count, u32* frames, cudaStream_t stream) {
  start(count_leaving_kernel, blocks_for(count * kWarp), kBlock, stream, view, teams, count, frames);
}
void launch_give_tables(const View& view, const RestoredTable* tables, u64 count, cudaStream_t stream) {
  start(give_tables_kernel, blocks_for(count), kBlock, stream, view, tables, count);
}
void launch_place_copies(const View& view, const SavedTables& saved, const CopiedPage* pages, u64 count, u32* frames,
                         RestoreCounts* counts, cudaStream_t stream) {
  start(place_copies_kernel, blocks_for(count * kWarp), kBlock, stream, view, saved, pages, count, frames, counts);
}
void launch_restore_tables(const View& view, const SavedTables& saved, const RestoredTable* tables, u64 count, bool dry,
                           const u32* frames, u32* released, RestoreCounts* counts, cudaStream_t stream) {
  start(restore_tables_kernel, (u32)count, kBlock, stream, view, saved, tables, dry, frames, released, counts);
}
void launch_give_spaces(const View& view, const RestoredLane* lanes, u64 count, cudaStream_t stream) {
  start(give_spaces_kernel, blocks_for(count), kBlock, stream, view, lanes, count);
}

}  // namespace myriarm::cuda
