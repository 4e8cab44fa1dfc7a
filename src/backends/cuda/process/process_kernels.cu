// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/process_kernels.h"

#include "backends/cuda/process/file_pages.cuh"
#include "backends/cuda/start_kernel.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kBlock = 256;
constexpr u32 kWarp = 32;

u32 blocks_for(u64 threads) { return (u32)((threads + kBlock - 1) / kBlock); }

__device__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

/// One warp for each placement.
__global__ void place_kernel(const u8* buffer, const Placement* placements, u64 count) {
  const u64 index = thread_index() / kWarp;
  if (index >= count) return;
  const Placement placement = placements[index];
  const u64* from = (const u64*)(buffer + placement.from);
  for (u64 i = threadIdx.x % kWarp; i < (placement.size + 7) / 8; i += kWarp) ((u64*)placement.to)[i] = from[i];
}

__global__ void place_inputs_kernel(const u32* lanes, const kernel::ProcessInput* values, u64 count,
                                    kernel::ProcessInput* inputs) {
  const u64 i = thread_index();
  if (i < count) inputs[lanes[i]] = values[i];
}

/// One thread for each team.
__global__ void free_given_up_kernel(const __grid_constant__ View view) {
  const u64 team = thread_index();
  if (team >= view.table_count) return;
  for (u32 unit = view.team_frames[team]; unit != 0; unit = next_of_given_up(view, unit)) {
    view.free_frames[atomicAdd(&view.pool->free_count, 1)] = unit;
  }
  view.team_frames[team] = 0;
}

/// One warp for each team.
__global__ void count_differing_kernel(const __grid_constant__ View view, u32* teams) {
  const u64 team = thread_index() / kWarp;
  if (team >= view.table_count) return;
  const PagedMemory<kTeam> memory = memory_of(view, (u32)team, 0);
  bool by_lane = false;
  for (u64 rest = view.touched[team]; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 first = view.slices.first(slice), end = view.slices.end(slice);
    for (u64 page = first + threadIdx.x % kWarp; page < end && page < view.guest_pages; page += kWarp) {
      by_lane |= is_simple_by_lane(view, (u32)team, memory.entry(page));
    }
  }
  const bool differs = __any_sync(~0u, by_lane);
  if (differs && threadIdx.x % kWarp == 0) atomicAdd(teams, 1);
}

/// Whether a lane goes on within its batch.
__device__ inline bool is_under_way(const View& view, u64 lane) {
  const StopCode code = view.stops[lane].code;
  return (code == StopCode::none || code == StopCode::syscall) && view.state[kPlaneBatchEnd * view.lanes + lane] != 0;
}
__global__ void begin_step_kernel(const __grid_constant__ View view, u64 instructions) {
  const u64 lane = thread_index();
  if (lane >= view.lanes || !is_under_way(view, lane)) return;
  view.state[kPlaneBatchEnd * view.lanes + lane] =
      end_of_batch(RunEnd{view.state[kPlaneRunEnd * view.lanes + lane]},
                   view.state[kPlaneInstructions * view.lanes + lane], instructions);
}
/// One warp for each team but the last.
__global__ void count_apart_kernel(const __grid_constant__ View view, u32* counts) {
  const u64 team = thread_index() / kWarp;
  if (team + 1 >= view.teams) return;
  const u32 place = threadIdx.x % kTeam;
  const u64 lane = lane_at((u32)team, place), other = lane_at((u32)team + 1, place);
  bool compared = false, apart = false;
  if (other < view.lanes) {
    compared = is_under_way(view, lane) && is_under_way(view, other);
    for (const u32 plane : {kPlanePc, kPlaneInstructions}) {
      apart |= compared && view.state[plane * view.lanes + lane] != view.state[plane * view.lanes + other];
    }
  }
  const u32 lanes = __popc(__ballot_sync(~0u, compared)), lanes_apart = __popc(__ballot_sync(~0u, apart));
  if (place != 0) return;
  if (lanes != 0) atomicAdd(&counts[0], lanes);
  if (lanes_apart != 0) atomicAdd(&counts[1], lanes_apart);
}

/// One warp for each team of the list.
__global__ void forget_spaces_kernel(const __grid_constant__ View view, const TeamMask* teams, u64 count) {
  const u64 index = thread_index() / kWarp;
  if (index >= count) return;
  const u32 team = teams[index].team, thread = threadIdx.x % kTeam;
  const u32 members = __ballot_sync(~0u, lanes_of_team(view, team) >> thread & 1);
  if (!(members >> thread & 1)) return;
  if (teams[index].mask >> thread & 1) return_to_team(view, (u32)lane_at(team, thread));
  __syncwarp(members);
  leave_tables(view, members, team, [&](u32, u32 frame) { release_frame(view, frame); });
}

/// One warp: `enters`, or the space ends.
__global__ void change_space_kernel(const __grid_constant__ View view, u32 lane, u32 number, bool enters) {
  const u32 team = team_of(lane), thread = threadIdx.x % kTeam;
  const u32 members = __ballot_sync(~0u, lanes_of_team(view, team) >> thread & 1);
  if (!(members >> thread & 1)) return;
  if (thread == place_of(lane)) {
    LaneSpaces& spaces = view.processes.spaces.lanes[lane];
    if (enters) {
      spaces.running = (u8)number;
      view.processes.spaces.running[lane] = tables_of_space(view, lane, number);
    } else {
      spaces.own[number] = kNoPlace;
    }
  }
  __syncwarp(members);
  if (!enters) leave_tables(view, members, team, [&](u32, u32 frame) { release_frame(view, frame); });
}

/// One thread.
__global__ void join_page_kernel(const __grid_constant__ View view, u32 lane, u64 page, u64 file_page,
                                 u32 permissions) {
  join_file_page(view, running_tables(view, lane), page, file_page, permissions,
                 [&](u32, u32 frame) { release_frame(view, frame); });
}
__global__ void part_page_kernel(const __grid_constant__ View view, u32 lane, u64 file_page) {
  part_file_page(view, lane, running_tables(view, lane), file_page,
                 [&](u32, u32 frame) { release_frame(view, frame); });
}

__global__ void refuse_output_kernel(const __grid_constant__ View view, const u32* lanes, u64 count) {
  const u64 i = thread_index();
  if (i >= count) return;
  view.stops[lanes[i]] = stop_record(StopCode::out_of_memory);
  view.state[kPlaneBatchEnd * view.lanes + lanes[i]] = 0;
}

}  // namespace

void launch_place(const u8* buffer, const Placement* placements, u64 count, cudaStream_t stream) {
  start(place_kernel, blocks_for(count * kWarp), kBlock, stream, buffer, placements, count);
}
void launch_place_inputs(const u32* lanes, const kernel::ProcessInput* values, u64 count, kernel::ProcessInput* inputs,
                         cudaStream_t stream) {
  start(place_inputs_kernel, blocks_for(count), kBlock, stream, lanes, values, count, inputs);
}
void launch_free_given_up(const View& view, cudaStream_t stream) {
  start(free_given_up_kernel, blocks_for(view.table_count), kBlock, stream, view);
}
void launch_begin_step(const View& view, u64 instructions, cudaStream_t stream) {
  start(begin_step_kernel, blocks_for(view.lanes), kBlock, stream, view, instructions);
}
void launch_count_apart(const View& view, u32* counts, cudaStream_t stream) {
  start(count_apart_kernel, blocks_for((u64)view.teams * kWarp), kBlock, stream, view, counts);
}
void launch_count_differing(const View& view, u32* teams, cudaStream_t stream) {
  start(count_differing_kernel, blocks_for((u64)view.table_count * kWarp), kBlock, stream, view, teams);
}
void launch_forget_spaces(const View& view, const TeamMask* teams, u64 count, cudaStream_t stream) {
  start(forget_spaces_kernel, blocks_for(count * kWarp), kBlock, stream, view, teams, count);
}
void launch_change_space(const View& view, u32 lane, u32 number, bool enters, cudaStream_t stream) {
  start(change_space_kernel, 1, kWarp, stream, view, lane, number, enters);
}
void launch_join_page(const View& view, u32 lane, u64 page, u64 file_page, u32 permissions, cudaStream_t stream) {
  start(join_page_kernel, 1, 1, stream, view, lane, page, file_page, permissions);
}
void launch_part_page(const View& view, u32 lane, u64 file_page, cudaStream_t stream) {
  start(part_page_kernel, 1, 1, stream, view, lane, file_page);
}
void launch_refuse_output(const View& view, const u32* lanes, u64 count, cudaStream_t stream) {
  start(refuse_output_kernel, blocks_for(count), kBlock, stream, view, lanes, count);
}

}  // namespace myriarm::cuda
