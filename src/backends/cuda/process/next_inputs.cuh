// SPDX-License-Identifier: Apache-2.0
// A team whose processes have all ended takes the next inputs of the queue, within the launch: it notes what became of the
// old ones, gets its beginning back, and goes on. docs/design/inputs-on-a-gpu.md.
#pragma once

#include "backends/cuda/process/input_queue.h"
#include "backends/cuda/process/spaces.cuh"
#include "backends/cuda/saved_pages.cuh"
#include "backends/cuda/team_run.cuh"
#include "kernel/start_bytes.h"
#include "myriarm/inputs.h"

namespace myriarm::cuda {

/// Whether a lane with this stop has nothing left to do.
static __device__ inline bool has_ended(const View& view, u32 lane, u64 retired) {
  switch (view.stops[lane].code) {
    case StopCode::none:
    case StopCode::syscall:        // the host serves its call
    case StopCode::out_of_memory:  // it tries again, or the host gives its process up
    case StopCode::cancelled: return false;
    case StopCode::budget: return retired >= state_of(view, kPlaneLimit, lane);
    default: return true;
  }
}

/// Notes what became of the inputs of a team's lanes. All members call it.
static __device__ inline void note_digests(const View& view, u32 members, u32 lane, u64 retired, u64 pc) {
  InputQueueView& queue = *view.processes.queue;
  QueuedLane& own = queue.lanes[lane];
  const bool has_input = own.state != QueuedState::idle;
  const u32 noting = __ballot_sync(members, has_input);
  if (noting == 0) return;
  u64 longest = 0;
  for (u32 rest = members; rest != 0; rest &= rest - 1) {
    const u64 other = __shfl_sync(members, has_input ? retired - own.begun_at : 0, __ffs(rest) - 1);
    if (other > longest) longest = other;
  }
  u64 first = 0;
  if (threadIdx.x % kTeam == 0) {
    first = atomicAdd((unsigned long long*)&queue.digest_count, (unsigned long long)__popc(noting));
    atomicAdd((unsigned long long*)&queue.team_instructions, (unsigned long long)(longest * __popc(members)));
  }
  first = __shfl_sync(members, first, 0);
  if (!has_input) return;
  const StopRecord stop = view.stops[lane];
  InputDigest digest;
  digest.number = view.processes.inputs[lane].number;
  digest.instructions = retired;
  digest.pc = pc;
  for (u32 stream = 0; stream < 2; stream++) {
    digest.output_bytes[stream] = own.output[stream].bytes;
    digest.output_hash[stream] = own.output[stream].hash;
  }
  digest.stop_address = stop.address;
  digest.stop_detail = stop.detail;
  digest.reason = (StopReason)stop.code;
  digest.fault = (FaultKind)stop.fault;
  const u64 place = first + __popc(noting & ((1u << threadIdx.x % kTeam) - 1));
  queue.digests[place] = digest;
  queue.tickets[place] = own.ticket;
  own.state = QueuedState::idle;
}

/// Gives a team the pages of its beginning. All members call it. Returns whether the host must look at its code.
static __device__ inline bool restore_pages_of(const View& view, u32 members, u32 team) {
  const SavedTeams& saved = view.processes.queue->beginning;
  const u32 index = saved.index[team], thread = threadIdx.x % kTeam, width = (u32)__popc(members);
  u64 left = 0;  // slices that still differ from the program's
  u32 first_code = kNoPage;
  for (u64 rest = view.touched[team] | saved.touched[index]; rest != 0; rest &= rest - 1) {
    const u32 slice = (u32)__ffsll((long long)rest) - 1;
    const u64 end = view.slices.end(slice);
    bool differs = false;
    for (u64 begin = view.slices.first(slice); begin < end; begin += width) {
      const u64 page = begin + thread;
      const bool exists = page < end;
      u32 now = 0, wanted = 0;
      if (exists) {
        now = *(volatile u32*)memory_of(view, team, 0).entry_place(page);
        wanted = saved_entry(view, saved, index, page);
        const u32 base = base_entry(view, team, page);
        differs |= wanted != base;
        if (wanted != base && (base & kPageCode)) first_code = min(first_code, (u32)page);
      }
      for (u32 todo = __ballot_sync(members, now != wanted); todo != 0; todo &= todo - 1) {
        if (thread == (u32)__ffs(todo) - 1) {
          if (has_frame(view, wanted)) atomicAdd(&holders_of(view, wanted >> kPageFlagBits), 1);
          if (has_frame(view, now)) give_up_frame(view, team, now >> kPageFlagBits);
          *memory_of(view, team, 0).entry_place(page) = wanted;
        }
        __syncwarp(members);
      }
    }
    if (__any_sync(members, differs)) left |= (u64)1 << slice;
  }
  if (saved.splits != nullptr) copy_splits(view, members, saved.splits + (u64)index * kSplits, team);
  for (u32 other = members; other != 0; other &= other - 1) {
    first_code = min(first_code, __shfl_sync(members, first_code, __ffs(other) - 1));
  }
  bool look = false;
  if (thread == 0) {
    view.touched[team] = left;
    look = code_is_restored(view, team, first_code);
  }
  return __shfl_sync(members, look, 0);
}

/// Writes the bytes of the stack that depend on the number, for lanes that lack them. All members call it. A lane for whose
/// pages there is no frame stops with out_of_memory. Returns whether the thread's lane runs.
static __device__ inline bool place_start_bytes(const View& view, u32 members, u32 lane) {
  InputQueueView& queue = *view.processes.queue;
  const u32 team = team_of(lane);
  bool lacks = queue.lanes[lane].state == QueuedState::placed && view.stops[lane].code == StopCode::none;
  const bool wanted = lacks;
  const u64 address = queue.start_bytes_at, size = queue.start_bytes;
  for (u64 page = address >> kPageBits; size != 0 && page <= (address + size - 1) >> kPageBits; page++) {
    bool failed = false;
    copy_pages_for<true>(view, team, members, lacks, page - view.first_page, failed);
    lacks &= !failed;
  }
  if (wanted && !lacks) view.stops[lane] = stop_record(StopCode::out_of_memory);
  if (!lacks) return false;
  u8 bytes[kernel::kStartBytes];
  kernel::start_bytes(view.processes.facts[view.team_program[team]].seed, view.processes.inputs[lane].number, bytes);
  const PagedMemory<kTeam> memory = memory_of(view, team, place_of(lane));
  for (u32 i = 0; i < size; i++) {
    const u64 at = address + i;
    const u32 entry = memory.entry((at >> kPageBits) - view.first_page);
    write_once<u8>(memory.locate(entry, (u32)at & (kPageSize - 1)), bytes[i]);
  }
  queue.lanes[lane].state = QueuedState::runs;
  return true;
}

/// Gives a team whose lanes have all ended their beginning and the next inputs. All members call it; `retired` and `pc` are
/// those of the thread's lane. Returns whether the thread's lane runs; its state is in View::state then.
static __device__ inline bool take_inputs(const View& view, u32 members, u32 lane, u64 retired, u64 pc) {
  InputQueueView& queue = *view.processes.queue;
  const u32 team = team_of(lane), thread = threadIdx.x % kTeam;
  note_digests(view, members, lane, retired, pc);
  u64 first = ~(u64)0;
  if (thread == 0 && *(volatile u64*)&queue.next < queue.end) {
    first = atomicAdd((unsigned long long*)&queue.next, (unsigned long long)__popc(members));
  }
  first = __shfl_sync(members, first, 0);
  if (first >= queue.end) {
    if (thread == 0 && queue.more != 0) atomicOr(&view.report->orders, (u32)kHostOrder);
    return false;
  }
  // What the lane has done is added to the report before its count goes back.
  add_to_report(view.report, members, retired - state_of(view, kPlaneInstructions, lane), false, StopCode::none, false);
  if (view.processes.spaces.lanes != nullptr) {
    return_to_team(view, lane);
    leave_tables(view, members, team, [&](u32 table, u32 frame) { give_up_frame(view, table, frame); });
  }
  if (restore_pages_of(view, members, team) && thread == 0) {
    *(volatile u32*)&view.report->wants_code = 1;
    atomicOr(&view.report->orders, (u32)kYieldOrder);
  }
  for (u32 plane = 0; plane < kLanePlanes; plane++) {
    view.state[plane * view.lanes + lane] = queue.planes[plane * view.lanes + lane];
  }
  for (u32 plane = 0; plane < 64; plane++) {
    view.vectors[plane * view.lanes + lane] = queue.vectors[plane * view.lanes + lane];
  }
  const u64 index = first + thread;
  const bool has_input = index < queue.end;
  QueuedLane& own = queue.lanes[lane];
  own.state = has_input ? QueuedState::placed : QueuedState::idle;
  own.ticket = queue.first_ticket + index;
  own.begun_at = state_of(view, kPlaneInstructions, lane);
  view.stops[lane] = stop_record(has_input ? StopCode::none : StopCode::exited);
  if (has_input) {
    const u64 begin = queue.offsets[index], size = queue.offsets[index + 1] - begin;
    const kernel::Bytes bytes{queue.bytes + begin, size}, nothing{nullptr, 0};
    kernel::ProcessInput& input = view.processes.inputs[lane];
    const bool file = queue.as_file != 0;
    const u64 number = queue.numbers != nullptr ? queue.numbers[index] : queue.first_number + index;
    input = {number, file ? nothing : bytes, file ? bytes : nothing, queue.output_limit, (u8)file, 0};
    for (u32 stream = 0; stream < 2; stream++) own.output[stream] = queue.first_output[stream];
    state_of(view, kPlaneLimit, lane) = queue.limit;
    state_of(view, kPlaneRunEnd, lane) = smaller(queue.limit, kMostRetired);
    state_of(view, kPlaneBatchEnd, lane) = smaller(queue.limit, kMostRetired);
  }
  __syncwarp(members);
  return place_start_bytes(view, members, lane);
}

}  // namespace myriarm::cuda
