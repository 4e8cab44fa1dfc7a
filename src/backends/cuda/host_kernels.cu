// SPDX-License-Identifier: Apache-2.0
// The kernels behind the host's batched calls: state planes, stops, guest memory and page tables.
#include "backends/backend.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/page_updates.cuh"
#include "backends/cuda/start_kernel.cuh"
#include "backends/cuda/team_run.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kBlock = 256;

u32 blocks_for(u64 threads) { return (u32)((threads + kBlock - 1) / kBlock); }

__device__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void gather_kernel(const u64* plane, const u32* lanes, u64 count, u64* values) {
  u64 i = thread_index();
  if (i < count) values[i] = plane[lanes ? lanes[i] : i];
}

__global__ void scatter_kernel(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride) {
  u64 i = thread_index();
  if (i < count) plane[lanes ? lanes[i] : i] = values[i * stride];
}

__global__ void scatter_stops_kernel(const __grid_constant__ View view, const u32* lanes, u64 count,
                                     const StopRecord* values) {
  const u64 i = thread_index();
  if (i >= count) return;
  const u64 lane = lanes ? lanes[i] : i;
  StopRecord stop = values[i];
  // A lane whose call was answered goes on at once.
  const bool answered = stop.code == StopCode::none && view.stops[lane].code == StopCode::syscall;
  if (answered && process_of(view, team_of(lane)) != nullptr) stop.reserved = kNotParked;
  view.stops[lane] = stop;
  u64& run_end = view.state[kPlaneRunEnd * view.lanes + lane];
  run_end = RunEnd{run_end}.included().bits;
}

/// The table that has a page of a lane.
__device__ u32 table_of_page(const View& view, u32 lane, u64 page) {
  return table_with(view, running_tables(view, lane), page);
}
/// The entry of the page that holds an address, as the lane has it; 0 if not mapped.
__device__ u32 mapped_entry(const View& view, u32 lane, u64 address) {
  const u64 page = (untagged(address) >> kPageBits) - view.first_page;
  if (page >= view.page_count) return 0;
  const u32 table = table_of_page(view, lane, page);
  return entry_of_lane(view, table, page, *memory_of(view, table, place_of(lane)).entry_place(page), place_of(lane));
}

/// One warp for each transfer; its threads take the bytes in turn.
template <bool kWrite, class Buffer>
__global__ void transfer_kernel(const __grid_constant__ View view, const Transfer* transfers, u64 count, Buffer* buffer,
                                u32* done) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count) return;
  Transfer t = transfers[index];
  const PagedMemory<kTeam> memory = memory_of(view, guest_table(view, t.lane), place_of(t.lane));
  u32 reached = t.size;
  for (u32 begin = 0; begin < t.size; begin += 32) {
    u32 i = begin + thread;
    u32 entry = i < t.size ? mapped_entry(view, t.lane, t.address + i) : 1;
    if (kWrite && entry != 1 && (entry & (kPageShared | kPageCode)))
      entry = 0;  // the pool was spent, and the page is still shared
    u32 missing = __ballot_sync(0xFFFFFFFFu, entry == 0);
    bool mine = i < t.size && (missing == 0 || thread < (u32)__ffs(missing) - 1);
    if (mine) {
      u8* guest = memory.locate(entry, (u32)(t.address + i) & (kPageSize - 1));
      if constexpr (kWrite) {
        *guest = buffer[t.offset + i];
      } else {
        buffer[t.offset + i] = *guest;
      }
    }
    if (missing != 0) {
      reached = begin + __ffs(missing) - 1;
      break;
    }
  }
  if (done != nullptr && thread == 0) done[index] = reached;
}

/// One thread calls it for a page that the host writes or whose entry it changes.
__device__ void note_change(const View& view, u32 team, u64 page, PageChanges* changes) {
  code_page_changes(view, team, page, Writer::host);
  if (*(volatile u32*)&view.code_state[team] & kCodeChanged) changes->code_changed = 1;
}

/// The entry of a page while one warp of the launch copies it. No guest sees it, since none runs meanwhile.
constexpr u32 kClaimed = 0xFFFFFFC0u;

/// One warp for each transfer: gives the team its own copy of the shared pages.
__global__ void prepare_write_kernel(const __grid_constant__ View view, const Transfer* transfers, u64 count,
                                     PageChanges* changes) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count) return;
  Transfer t = transfers[index];
  if (t.size == 0) return;
  const u64 first = (untagged(t.address) >> kPageBits) - view.first_page;
  const u64 last = (untagged(t.address + t.size - 1) >> kPageBits) - view.first_page;
  for (u64 page = first; page <= last && page < view.page_count; page++) {
    const u32 team = table_of_page(view, t.lane, page);
    const PagedMemory<kTeam> memory = memory_of(view, team, thread);
    u32 entry = 0;
    if (thread == 0) {
      entry = *(volatile u32*)memory.entry_place(page);
      const bool others = entry < kClaimed && (entry & (kPageShared | kPageCode));
      if (!others || atomicCAS(memory.entry_place(page), entry, kClaimed) != entry) entry = 0;
      // Like a store of the guest, a write by the host may change code.
      note_change(view, team, page, changes);
    }
    entry = __shfl_sync(0xFFFFFFFFu, entry, 0);
    if (entry == 0) continue;
    u32 next = entry & ~(u32)(kPageShared | kPageCode);
    const bool alone = is_flat(view) || (!(entry & kPageShared) && holders_of(view, entry >> kPageFlagBits) == 1);
    if (!alone) {
      const u32 frame = copy_to_new_frame(view, team, memory, 0xFFFFFFFFu, page, entry);
      if (frame != 0) {
        next = frame << kPageFlagBits | (next & kPageFlagMask);
        if (thread == 0 && !(entry & kPageShared)) atomicSub(&holders_of(view, entry >> kPageFlagBits), 1);
      } else {
        next = entry;
        if (thread == 0) changes->pool_spent = 1;
      }
    }
    __syncwarp();
    if (thread == 0) {
      touch(view, team, page);
      *(volatile u32*)memory.entry_place(page) = next;
    }
  }
}

static_assert(kLaneMapped == kMapped);

/// One launch must not both push to and pop from the stack of free frames, which has no lock: map_kernel runs once for
/// each phase.
enum class MapPhase : u8 { give, take };

/// One warp for each page of each team: maps, unmaps or protects it for some of the lanes. Phase `give` handles the
/// pages that need no frame afterwards, and frees theirs; `take` handles the rest. Repeating a launch changes nothing
/// more.
__global__ void map_kernel(const __grid_constant__ View view, const TeamMask* teams, u64 count, u64 first_page,
                           u64 pages, u32 permissions, kernel::PageAction action, MapPhase phase,
                           PageChanges* changes) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count * pages) return;
  TeamMask which = teams[index / pages];
  u64 page = first_page + index % pages;
  const TeamLanes lanes{which.team, 0xFFFFFFFFu, lanes_with_page(view, which.team, page), which.mask};
  const PageUpdate update = plan_update(view, lanes, page, permissions, action, PlanFor::host);
  if (update.gives != (phase == MapPhase::give)) return;

  if (thread == 0) {
    touch(view, which.team, page);
    note_change(view, which.team, page, changes);
  }
  const bool done = carry_out(view, update, [&](u32 frame) { release_frame(view, frame); });
  if (!done && thread == 0) changes->pool_spent = 1;
}

__global__ void permissions_kernel(const __grid_constant__ View view, const u32* lanes, u64 count, u64 first_page,
                                   u64 pages, u8* values) {
  const u64 i = thread_index();
  if (i >= count * pages) return;
  const u64 lane = lanes ? lanes[i / pages] : i / pages, page = first_page + i % pages;
  const u32 table = table_of_page(view, (u32)lane, page), in_team = place_of(lane);
  const u32 entry = memory_of(view, table, in_team).entry(page);
  values[i] = page_value(entry_of_lane(view, table, page, entry, in_team));
}

/// One block for each team.
__global__ void fill_tables_kernel(const __grid_constant__ View view, const u8* image) {
  const u32 team = blockIdx.x;
  const u32 thread = threadIdx.x % kTeam;
  const u32 stride = is_flat(view) ? blockDim.x / kTeam : blockDim.x;
  for (u64 page = is_flat(view) ? threadIdx.x / kTeam : threadIdx.x; page < view.page_count; page += stride) {
    const u32 entry = base_entry(view, team, page);
    const u32 own = first_entry(view, team, page, entry);
    if (is_flat(view) && entry != 0) {
      // One warp for each page: each thread copies it from the image to its lane.
      if (lane_at(team, thread) < view.lanes) {
        u64* to = (u64*)memory_of(view, team, thread).locate(own, 0);
        const u64* from = (const u64*)(image + ((u64)(entry >> kPageFlagBits) << kPageBits));
        for (u32 granule = 0; granule < kPageSize / 8; granule++) to[granule] = from[granule];
      }
    }
    *memory_of(view, team, 0).entry_place(page) = own;
  }
}

__global__ void resume_starved_kernel(const __grid_constant__ View view) {
  const u64 i = thread_index();
  if (i >= view.lanes || view.stops[i].code != StopCode::out_of_memory) return;
  if (view.state[kPlaneBatchEnd * view.lanes + i] != 0) view.stops[i] = {};  // else it was not in the batch
}

}  // namespace

void launch_gather(const u64* plane, const u32* lanes, u64 count, u64* values, cudaStream_t stream) {
  start(gather_kernel, blocks_for(count), kBlock, stream, plane, lanes, count, values);
}
void launch_scatter(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride, cudaStream_t stream) {
  start(scatter_kernel, blocks_for(count), kBlock, stream, plane, lanes, count, values, stride);
}
void launch_scatter_stops(const View& view, const u32* lanes, u64 count, const StopRecord* values,
                          cudaStream_t stream) {
  start(scatter_stops_kernel, blocks_for(count), kBlock, stream, view, lanes, count, values);
}
void launch_read(const View& view, const Transfer* transfers, u64 count, u8* buffer, u32* done, cudaStream_t stream) {
  start(transfer_kernel<false, u8>, blocks_for(count * 32), kBlock, stream, view, transfers, count, buffer, done);
}
void launch_prepare_write(const View& view, const Transfer* transfers, u64 count, PageChanges* changes,
                          cudaStream_t stream) {
  start(prepare_write_kernel, blocks_for(count * 32), kBlock, stream, view, transfers, count, changes);
}
void launch_write(const View& view, const Transfer* transfers, u64 count, const u8* buffer, u32* done,
                  cudaStream_t stream) {
  start(transfer_kernel<true, const u8>, blocks_for(count * 32), kBlock, stream, view, transfers, count, buffer, done);
}
void launch_map(const View& view, const TeamMask* teams, u64 count, u64 page, u64 pages, u32 permissions,
                kernel::PageAction action, PageChanges* changes, cudaStream_t stream) {
  for (MapPhase phase : {MapPhase::give, MapPhase::take}) {
    start(map_kernel, blocks_for(count * pages * 32), kBlock, stream, view, teams, count, page, pages, permissions,
          action, phase, changes);
  }
}
void launch_permissions(const View& view, const u32* lanes, u64 count, u64 page, u64 pages, u8* values,
                        cudaStream_t stream) {
  start(permissions_kernel, blocks_for(count * pages), kBlock, stream, view, lanes, count, page, pages, values);
}
void launch_fill_tables(const View& view, const u8* image, cudaStream_t stream) {
  start(fill_tables_kernel, view.teams, kBlock, stream, view, image);
}
void launch_resume_starved(const View& view, cudaStream_t stream) {
  start(resume_starved_kernel, blocks_for(view.lanes), kBlock, stream, view);
}

}  // namespace myriarm::cuda
