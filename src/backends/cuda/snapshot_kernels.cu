// SPDX-License-Identifier: Apache-2.0
// Snapshots on the device. A snapshot and the page tables of its teams hold the same frames; a team that stores to one
// gets a copy first. Only slices of tables that were touched are read, so that the cost depends on how many pages were
// written.
#include "backends/cuda/composed_page.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/saved_pages.cuh"
#include "backends/cuda/start_kernel.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kBlock = 128;
constexpr u32 kAll = 0xFFFFFFFFu;

__device__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

/// One block for each saved team.
__global__ void save_pages_kernel(const __grid_constant__ View view, const SavedTeams saved) {
  const u32 team = saved.teams[blockIdx.x];
  const PagedMemory<kTeam> memory = memory_of(view, team, 0);
  const u64 touched = saved.touched[blockIdx.x];
  for (u64 rest = touched; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 first = view.slices.first(slice), pages = view.slices.end(slice) - first;
    const u64 at = saved.first[blockIdx.x] +
                   view.slices.entries_before(touched, slice, [](u64 mask) { return (u32)__popcll(mask); });
    for (u64 i = threadIdx.x; i < pages; i += blockDim.x) {
      const u64 page = first + i;
      u32 entry = memory.entry(page);
      if (has_frame(view, entry)) {
        entry |= kPageCode;
        *memory.entry_place(page) = entry;
        atomicAdd(&holders_of(view, entry >> kPageFlagBits), 1);
      }
      saved.entries[at + i] = entry;
    }
  }
  if (saved.splits != nullptr) {
    for (u32 i = threadIdx.x; i < kSplits; i += blockDim.x)
      saved.splits[(u64)blockIdx.x * kSplits + i] = splits_of(view, team)[i];
  }
  if (saved.permissions == nullptr) return;
  const u64 bytes = view.page_count * kTeam;
  for (u64 i = threadIdx.x; i < bytes; i += blockDim.x)
    saved.permissions[blockIdx.x * bytes + i] = view.flat_permissions[team * bytes + i];
}

/// What the warps of a block share while they restore a team.
struct Restore {
  const View& view;
  const SavedTeams& saved;
  const TeamSources& target;
  u32* released;
  RestoreCounts* counts;
  bool dry;

  __device__ bool present(u32 lane) const { return lane_at(target.team, lane) < view.lanes; }
  __device__ u32& entry_at(u64 page) const { return *memory_of(view, target.team, 0).entry_place(page); }

  /// Whether a page may have to change. One thread calls it.
  __device__ bool concerns(u64 page) const {
    const u32 now = entry_at(page);
    if (target.whole) return is_flat(view) || saved_entry(view, saved, saved.index[target.team], page) != now;
    if (is_flat(view)) return true;
    u32 seen = kNotSaved;
    for (u32 lane = 0; lane < kTeam; lane++) {
      const u32 source = target.sources[lane];
      if (source == kNotSaved) continue;
      // The frame has a different page for each lane, so that an equal entry does not mean the same page.
      if (has_frame(view, now) && source != lane_at(target.team, lane)) return true;
      if (team_of(source) == seen) continue;
      seen = team_of(source);
      const u32 entry = saved_entry(view, saved, saved.index[seen], page);
      if (entry != now || is_split(entry)) return true;  // equal numbers of splits do not mean equal splits
    }
    return false;
  }

  /// Replaces an entry, and lists the frame of the old one in `released`. One thread calls it.
  __device__ void replace(u64 page, u32 entry) const {
    u32& place = entry_at(page);
    if (has_frame(view, place)) released[atomicAdd(&counts->released, 1)] = place >> kPageFlagBits;
    place = entry;
  }

  __device__ void whole_page(u64 page, u32 thread) const {
    const u32 index = saved.index[target.team];
    const u32 entry = saved_entry(view, saved, index, page);
    if (is_flat(view))
      lane_permissions(view, target.team, page, 0)[thread] =
          saved.permissions[(index * view.page_count + page) * kTeam + thread];
    if (thread != 0 || entry == entry_at(page)) return;
    if (has_frame(view, entry)) atomicAdd(&holders_of(view, entry >> kPageFlagBits), 1);
    replace(page, entry);
  }

  /// Restores a page whose lanes have different sources: each thread copies the page of its lane. A whole warp calls
  /// it.
  __device__ void mixed_page(u64 page, u32 thread) const {
    const u32 now = entry_at(page);
    const u32 source = target.sources[thread];
    const bool here = present(thread);
    u32 entry, from_lane = thread;
    if (source == kNotSaved) {
      entry = entry_of_lane(view, target.team, page, now, thread);
    } else {
      const u32 index = saved.index[team_of(source)];
      from_lane = place_of(source);
      entry = saved_entry(view, saved, index, page);
      if ((entry & kPageDiffer) && is_flat(view)) {
        const u8 own = saved.permissions[(index * view.page_count + page) * kTeam + from_lane];
        entry = own == 0 ? 0 : (entry & ~(u32)(7 | kPageDiffer)) | (own & 7);
      } else if (is_split(entry)) {
        entry = split_entry(saved.splits + (u64)index * kSplits, page, entry, from_lane);
      } else {
        entry = entry_of_lane(view, team_of(source), page, entry, from_lane);
      }
    }
    // A page that lanes have in different ways, and get back as they have it, needs no frame.
    const u32 own = entry_of_lane(view, target.team, page, now, thread);
    if (is_split(now) && __all_sync(kAll, !here || entry == own)) return;
    const u32 wanted = page_value(entry);
    const u32 leader_lane = 0;  // every team has a lane 0
    const u32 leader = __shfl_sync(kAll, entry, leader_lane);
    const bool same = __all_sync(kAll, !here || entry == leader) && !has_frame(view, leader);
    if (is_flat(view)) {
      if (dry) return;
      const u32 leader_wanted = __shfl_sync(kAll, wanted, leader_lane);
      const bool agree = __all_sync(kAll, !here || wanted == leader_wanted);
      lane_permissions(view, target.team, page, 0)[thread] = (u8)wanted;
      const u32 flat = flat_unit(view, target.team, page) << kPageFlagBits;
      if (thread == 0)
        entry_at(page) = agree ? (leader_wanted == 0 ? 0 : flat | (leader_wanted & 7)) : flat | (u32)kPageDiffer;
      return;
    }
    if (same) {
      if (thread == 0 && !dry && leader != now) replace(page, leader);
      return;
    }
    if (dry) {
      if (thread == 0) atomicAdd(&counts->frames_needed, 1);
      return;
    }
    const u32 composed = compose_page(view, target.team, page, here, entry, from_lane);
    if (thread != 0) return;
    if (composed == 0) counts->failed = 1;
    else replace(page, composed);
  }
};

/// One block for each team that changes.
__global__ void restore_pages_kernel(const __grid_constant__ View view, const SavedTeams saved,
                                     const TeamSources* targets, bool dry, u32* released, RestoreCounts* counts) {
  __shared__ TeamSources target;
  __shared__ unsigned long long slices, left;
  __shared__ u32 first_code;  // the lowest page of the program's code that differs from the program's
  if (threadIdx.x == 0) {
    target = targets[blockIdx.x];
    slices = target.every_slice ? ~0ull : view.touched[target.team];
    left = 0;
    first_code = kNoPage;
  }
  __syncthreads();
  const u32 warp = threadIdx.x / 32, thread = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warp == 0 && target.sources[thread] != kNotSaved)
    atomicOr(&slices, (unsigned long long)saved.touched[saved.index[team_of(target.sources[thread])]]);
  __syncthreads();
  const Restore restore{view, saved, target, released, counts, dry};
  for (u64 rest = slices; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 first = view.slices.first(slice), end = view.slices.end(slice);
    for (u64 begin = first + warp * 32; begin < end; begin += warps * 32) {
      const u64 mine = begin + thread;
      const bool exists = mine < end;
      for (u32 todo = __ballot_sync(kAll, exists && restore.concerns(mine)); todo != 0; todo &= todo - 1) {
        const u64 page = begin + __ffs(todo) - 1;
        if (!target.whole) {
          restore.mixed_page(page, thread);
        } else if (!dry) {
          restore.whole_page(page, thread);
        }
        __syncwarp();
      }
    }
  }
  if (dry) return;
  __syncthreads();
  if (target.whole && saved.splits != nullptr) {
    const Split* const from = saved.splits + (u64)saved.index[target.team] * kSplits;
    for (u32 i = threadIdx.x; i < kSplits; i += blockDim.x) splits_of(view, target.team)[i] = from[i];
    for (u32 i = threadIdx.x; i < kTableFront; i += blockDim.x)
      split_words(view, target.team)[i] = own_word(from[i / kSplitLanes], i % kSplitLanes);
  }
  // Find the slices that still differ from the program.
  for (u64 rest = slices; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    for (u64 page = view.slices.first(slice) + threadIdx.x; page < view.slices.end(slice); page += blockDim.x) {
      const u32 base = first_entry(view, target.team, page, base_entry(view, target.team, page));
      if (*(volatile u32*)&restore.entry_at(page) == base) continue;
      atomicOr(&left, 1ull << slice);
      if (base & kPageCode) atomicMin(&first_code, (u32)page);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  view.touched[target.team] = left;
  if (code_is_restored(view, target.team, first_code)) counts->code_changed = 1;
}

__global__ void release_list_kernel(const __grid_constant__ View view, const u32* released,
                                    const RestoreCounts* counts) {
  const u64 i = thread_index();
  if (i < counts->released) release_frame(view, released[i]);
}

__global__ void release_saved_kernel(const __grid_constant__ View view, const u32* entries, u64 count) {
  const u64 i = thread_index();
  if (i < count && has_frame(view, entries[i])) release_frame(view, entries[i] >> kPageFlagBits);
}

__global__ void copy_planes_kernel(const u64* from, u64 from_stride, const u32* from_lanes, u64* to, u64 to_stride,
                                   const u32* to_lanes, u64 count, u64 planes) {
  const u64 i = thread_index() % count, plane = thread_index() / count;
  if (plane >= planes) return;
  to[plane * to_stride + (to_lanes ? to_lanes[i] : i)] = from[plane * from_stride + (from_lanes ? from_lanes[i] : i)];
}

__global__ void copy_stops_kernel(const StopRecord* from, const u32* from_lanes, StopRecord* to, const u32* to_lanes,
                                  u64 count, u64* run_ends) {
  const u64 i = thread_index();
  if (i >= count) return;
  to[to_lanes ? to_lanes[i] : i] = from[from_lanes ? from_lanes[i] : i];
  if (run_ends != nullptr) {
    u64& run_end = run_ends[to_lanes ? to_lanes[i] : i];
    run_end = RunEnd{run_end}.included().bits;
  }
}

u32 blocks_for(u64 threads) { return (u32)((threads + kBlock - 1) / kBlock); }

}  // namespace

void launch_save_pages(const View& view, const SavedTeams& saved, cudaStream_t stream) {
  start(save_pages_kernel, saved.count, kBlock, stream, view, saved);
}
void launch_restore_pages(const View& view, const SavedTeams& saved, const TeamSources* teams, u64 count, bool dry,
                          u32* released, RestoreCounts* counts, cudaStream_t stream) {
  start(restore_pages_kernel, (u32)count, kBlock, stream, view, saved, teams, dry, released, counts);
}
void launch_release_list(const View& view, const u32* released, const RestoreCounts* counts, u32 most,
                         cudaStream_t stream) {
  if (most != 0) start(release_list_kernel, blocks_for(most), kBlock, stream, view, released, counts);
}
void launch_release_saved(const View& view, const SavedTeams& saved, u64 entries, cudaStream_t stream) {
  if (entries != 0) start(release_saved_kernel, blocks_for(entries), kBlock, stream, view, saved.entries, entries);
}
void launch_copy_planes(const u64* from, u64 from_stride, const u32* from_lanes, u64* to, u64 to_stride,
                        const u32* to_lanes, u64 count, u64 planes, cudaStream_t stream) {
  start(copy_planes_kernel, blocks_for(count * planes), kBlock, stream, from, from_stride, from_lanes, to, to_stride,
        to_lanes, count, planes);
}
void launch_copy_stops(const StopRecord* from, const u32* from_lanes, StopRecord* to, const u32* to_lanes, u64 count,
                       u64* run_ends, cudaStream_t stream) {
  start(copy_stops_kernel, blocks_for(count), kBlock, stream, from, from_lanes, to, to_lanes, count, run_ends);
}

}  // namespace myriarm::cuda
