// SPDX-License-Identifier: Apache-2.0
// The kernels behind the host's batched calls: state planes, stops, guest memory and page tables.
#include "backends/cuda/kernels.h"
#include "backends/cuda/team_memory.cuh"

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

__global__ void scatter_stops_kernel(StopRecord* stops, const u32* lanes, u64 count, const StopRecord* values) {
  u64 i = thread_index();
  if (i < count) stops[lanes ? lanes[i] : i] = values[i];
}

/// The entry of the page that holds an address, as the lane has it; 0 if not mapped.
__device__ u32 mapped_entry(const PagedMemory<kTeam>& memory, u64 address) {
  u64 page = memory.page_of(address);
  return page < memory.page_count ? entry_of_lane(memory, memory.table[page]) : 0;
}

/// One warp a transfer; its threads take the bytes in turn.
template <bool kWrite, class Buffer>
__global__ void transfer_kernel(const __grid_constant__ View view, const Transfer* transfers, u64 count, Buffer* buffer,
                                u32* done) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count) return;
  Transfer t = transfers[index];
  PagedMemory<kTeam> memory = memory_of(view, t.lane / kTeam, t.lane % kTeam);
  u32 reached = t.size;
  for (u32 begin = 0; begin < t.size; begin += 32) {
    u32 i = begin + thread;
    u32 entry = i < t.size ? mapped_entry(memory, t.address + i) : 1;
    if (kWrite && entry != 1 && (entry & kPageShared)) entry = 0;  // the pool was spent
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

/// Marks a page that one warp of this launch has taken on itself to copy. No guest sees it: none runs.
constexpr u32 kClaimed = 0xFFFFFFC0u;

/// One warp a transfer: makes its pages the team's own.
__global__ void prepare_write_kernel(const __grid_constant__ View view, const Transfer* transfers, u64 count,
                                     u32* spent) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count) return;
  Transfer t = transfers[index];
  if (t.size == 0) return;
  u32 team = t.lane / kTeam;
  PagedMemory<kTeam> memory = memory_of(view, team, thread);
  u64 last = memory.page_of(t.address + t.size - 1);
  for (u64 page = memory.page_of(t.address); page <= last && page < memory.page_count; page++) {
    u32 entry = 0;
    if (thread == 0) {
      entry = *(volatile u32*)&memory.table[page];
      if (entry >= kClaimed || !(entry & kPageShared) || atomicCAS(&memory.table[page], entry, kClaimed) != entry)
        entry = 0;
      // A write by the host counts as one by the guest: it may be code.
      if (is_predecoded(view, page)) view.own_code[team] = 1;
    }
    entry = __shfl_sync(0xFFFFFFFFu, entry, 0);
    if (entry == 0) continue;
    u32 frame = thread == 0 ? allocate_frame(view) : 0;
    frame = __shfl_sync(0xFFFFFFFFu, frame, 0);
    if (frame != 0) {
      copy_column(memory, entry, frame);
      entry = frame << kPageFlagBits | (entry & kPageFlagMask & ~(u32)kPageShared);
    } else if (thread == 0) {
      *spent = 1;
    }
    __syncwarp();
    if (thread == 0) *(volatile u32*)&memory.table[page] = entry;
  }
}

/// The stack of free frames is pushed to and popped from without a lock, so never in one launch.
enum class MapPhase : u8 { give, take };

/// One warp a page of one team: map or protect for some of its lanes. `give` frees the frames of pages that end up
/// the same for all lanes, `take` does the rest. What was done already is found done when a launch is repeated.
__global__ void map_kernel(const __grid_constant__ View view, const TeamMask* teams, u64 count, u64 first_page,
                           u64 pages, u32 permissions, MapAction action, MapPhase phase, u32* spent) {
  u64 index = thread_index() / 32;
  u32 thread = threadIdx.x % 32;
  if (index >= count * pages) return;
  TeamMask which = teams[index / pages];
  u64 page = first_page + index % pages;
  PagedMemory<kTeam> memory = memory_of(view, which.team, thread);
  u32 entry = memory.table[page];
  const u32 shared_zero = kZeroUnit << kPageFlagBits | kPageShared;
  const bool mine = which.mask >> thread & 1;
  u64 present64 = view.lanes - (u64)which.team * kTeam;
  const u32 present = present64 >= 32 ? 0xFFFFFFFFu : (1u << present64) - 1;

  // What each lane has after this: permissions, with bit 3 set if the page is mapped at all.
  u32 old = entry_of_lane(memory, entry);
  u32 wanted = old == 0 ? 0 : (old & 7) | 8;
  if (mine)
    wanted = action == MapAction::map ? (permissions == 0 ? 0 : permissions | 8) : old == 0 ? 0 : permissions | 8;
  bool absent = !(present >> thread & 1);
  u32 leader = __shfl_sync(0xFFFFFFFFu, wanted, __ffs(present) - 1);
  bool agree = __all_sync(0xFFFFFFFFu, absent || wanted == leader);
  bool all_mine = (present & ~which.mask) == 0;
  // Zero for all, or nobody has it any more: the shared page of zeros or none, and the team's frame is free.
  bool gives = action == MapAction::map && (all_mine || (agree && leader == 0));
  if (gives != (phase == MapPhase::give)) return;

  if (thread == 0 && is_predecoded(view, page)) view.own_code[which.team] = 1;
  bool own = entry != 0 && !(entry & kPageShared);
  u32 next;
  if (gives) {
    next = leader == 0 ? 0 : shared_zero | permissions;
    if (own && thread == 0) {
      view.free_frames[atomicAdd(&view.pool->free_count, 1)] = entry >> kPageFlagBits;
    }
  } else if (agree && action == MapAction::protect) {
    next = entry;
    if (leader != 0) next = (entry & ~(u32)(7 | kPageDiffer)) | (leader & 7);
  } else {
    // The lanes differ, or some get zeros where others keep what they have: a frame with permissions by lane.
    u32 frame = own ? entry >> kPageFlagBits : 0;
    if (!own) {
      frame = thread == 0 ? allocate_frame(view) : 0;
      frame = __shfl_sync(0xFFFFFFFFu, frame, 0);
      if (frame == 0) {
        if (thread == 0) *spent = 1;
        return;
      }
      copy_column(memory, entry == 0 ? shared_zero : entry, frame);
    }
    if (mine && action == MapAction::map) copy_column(memory, shared_zero, frame);
    memory.frames[((u64)frame << kPageBits) + kTeam * kPageSize + thread] = (u8)wanted;
    next = frame << kPageFlagBits | (agree ? leader & 7 : (u32)kPageDiffer);
  }
  __syncwarp();
  if (thread == 0) memory.table[page] = next;
}

__global__ void fill_tables_kernel(const __grid_constant__ View view, const u64* pages, const u32* entries, u64 count) {
  u64 i = thread_index();
  u64 total = count * view.teams;
  if (i < total) view.tables[i / count * view.page_count + pages[i % count]] = entries[i % count];
}

}  // namespace

void launch_gather(const u64* plane, const u32* lanes, u64 count, u64* values, cudaStream_t stream) {
  gather_kernel<<<blocks_for(count), kBlock, 0, stream>>>(plane, lanes, count, values);
}
void launch_scatter(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride, cudaStream_t stream) {
  scatter_kernel<<<blocks_for(count), kBlock, 0, stream>>>(plane, lanes, count, values, stride);
}
void launch_scatter_stops(StopRecord* stops, const u32* lanes, u64 count, const StopRecord* values,
                          cudaStream_t stream) {
  scatter_stops_kernel<<<blocks_for(count), kBlock, 0, stream>>>(stops, lanes, count, values);
}
void launch_read(const View& view, const Transfer* transfers, u64 count, u8* buffer, u32* done, cudaStream_t stream) {
  transfer_kernel<false, u8><<<blocks_for(count * 32), kBlock, 0, stream>>>(view, transfers, count, buffer, done);
}
void launch_prepare_write(const View& view, const Transfer* transfers, u64 count, u32* spent, cudaStream_t stream) {
  prepare_write_kernel<<<blocks_for(count * 32), kBlock, 0, stream>>>(view, transfers, count, spent);
}
void launch_write(const View& view, const Transfer* transfers, u64 count, const u8* buffer, u32* done,
                  cudaStream_t stream) {
  transfer_kernel<true, const u8><<<blocks_for(count * 32), kBlock, 0, stream>>>(view, transfers, count, buffer, done);
}
void launch_map(const View& view, const TeamMask* teams, u64 count, u64 page, u64 pages, u32 permissions,
                MapAction action, u32* spent, cudaStream_t stream) {
  for (MapPhase phase : {MapPhase::give, MapPhase::take}) {
    map_kernel<<<blocks_for(count * pages * 32), kBlock, 0, stream>>>(view, teams, count, page, pages, permissions,
                                                                      action, phase, spent);
  }
}
void launch_fill_tables(const View& view, const u64* pages, const u32* entries, u64 count, cudaStream_t stream) {
  fill_tables_kernel<<<blocks_for(count * view.teams), kBlock, 0, stream>>>(view, pages, entries, count);
}

}  // namespace myriarm::cuda
