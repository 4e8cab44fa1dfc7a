// SPDX-License-Identifier: Apache-2.0
// Takes, drops and restores snapshots of a CUDA fleet.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>

#include "backends/cuda/cuda_backend.h"
#include "myriarm/error.h"

namespace myriarm::cuda {

u32 SavedLanes::place_of(u32 lane) const {
  return static_cast<u32>(std::lower_bound(lanes.begin(), lanes.end(), lane) - lanes.begin());
}

u64 CudaBackend::take_snapshot(std::span<const u32> lanes) {
  use();
  const u64 number = next_snapshot_++;
  SavedLanes& saved = saved_.try_emplace(number).first->second;
  try {
    const bool all = lanes.empty();
    if (all) {
      saved.lanes.resize(lanes_);
      std::iota(saved.lanes.begin(), saved.lanes.end(), 0u);
    } else {
      saved.lanes.assign(lanes.begin(), lanes.end());
    }
    const u64 count = saved.lanes.size();
    for (u32 lane : saved.lanes) {
      saved.has_memory.push_back(has_memory(lane));
      if (saved.teams.empty() || saved.teams.back() != team_of(lane)) saved.teams.push_back(team_of(lane));
    }

    // Where the touched slices of each team begin in `entries`.
    const std::vector<u64> touched = fetch_touched();
    std::vector<u64> own;
    std::vector<u32> index(view_.teams, kNotSaved), first;
    for (u32 team : saved.teams) {
      index[team] = static_cast<u32>(first.size());
      first.push_back(static_cast<u32>(saved.entry_count));
      own.push_back(touched[team]);
      saved.programs.push_back(program_of_team_[team]);
      saved.entry_count +=
          view_.slices.entries_before(touched[team], PageSlices::kMost, [](u64 mask) { return std::popcount(mask); });
    }
    auto send = [&](auto& array, const auto& values) {
      array.resize(std::max<u64>(values.size(), 1), "allocating a snapshot");
      array.upload(values, stream_);
      return array.data();
    };
    saved.entries.resize(std::max<u64>(saved.entry_count, 1), "allocating a snapshot");
    // A slice may have fewer pages than there is room for.
    check(cudaMemsetAsync(saved.entries.data(), 0, saved.entries.bytes(), stream_), "allocating a snapshot");
    saved.pages = {send(saved.team_index, index),
                   send(saved.team_list, saved.teams),
                   send(saved.team_programs, saved.programs),
                   static_cast<u32>(saved.teams.size()),
                   send(saved.touched, own),
                   send(saved.first, first),
                   saved.entries.data(),
                   make_splits(saved.splits, saved.teams.size()),
                   nullptr};

    saved.planes.resize(kLanePlanes * count, "allocating a snapshot");
    saved.stops.resize(count, "allocating a snapshot");
    const u32* numbers = all ? nullptr : upload_lanes(saved.lanes);
    launch_copy_planes(state_.data(), lanes_, numbers, saved.planes.data(), count, nullptr, count, kLanePlanes,
                       stream_);
    launch_copy_stops(device_stops_.data(), numbers, saved.stops.data(), nullptr, count, nullptr, stream_);
    saved.vectors.resize(64 * count, "allocating a snapshot");
    launch_copy_planes(view_.vectors, lanes_, numbers, saved.vectors.data(), count, nullptr, count, 64, stream_);
    if (is_flat(view_)) save_flat_memory(saved);
    plan_saved_spaces(saved);
    // Last, since only this changes the fleet.
    launch_save_pages(view_, saved.pages, stream_);
    save_spaces(saved);
    synchronize("taking a snapshot");
  } catch (...) {
    saved_.erase(number);
    throw;
  }
  return number;
}

Split* CudaBackend::make_splits(DeviceArray<Split>& splits, u64 tables) const {
  if (view_.processes.splits == nullptr) return nullptr;
  splits.resize(std::max<u64>(tables, 1) * kSplits, "allocating a snapshot");
  return splits.data();
}

void CudaBackend::drop_snapshot(u64 number) {
  const auto found = saved_.find(number);
  if (found == saved_.end()) return;
  use();
  launch_release_saved(view_, found->second.pages, found->second.entry_count, stream_);
  release_saved_spaces(found->second);
  synchronize("dropping a snapshot");
  saved_.erase(found);
}

void CudaBackend::save_flat_memory(SavedLanes& saved) {
  saved.permissions.resize(saved.teams.size() * view_.page_count * kTeam, "allocating a snapshot");
  saved.pages.permissions = saved.permissions.data();
  const u64 window = view_.lane_step;
  const u8* lanes = view_.frames + kPageSize;
  if (policy_ == MemoryPolicy::shared) {
    saved.host_memory.resize(saved.lanes.size() * window);
    for (size_t i = 0; i < saved.lanes.size(); i++)
      std::memcpy(saved.host_memory.data() + i * window, lanes + saved.lanes[i] * window, window);
    return;
  }
  saved.flat_memory.resize(saved.lanes.size() * window, "allocating a snapshot");
  for (size_t i = 0; i < saved.lanes.size(); i++) {
    check(cudaMemcpyAsync(saved.flat_memory.data() + i * window, lanes + saved.lanes[i] * window, window,
                          cudaMemcpyDeviceToDevice, stream_),
          "taking a snapshot");
  }
}

void CudaBackend::restore_flat_memory(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to) {
  const u64 window = view_.lane_step;
  u8* lanes = view_.frames + kPageSize;
  for (size_t i = 0; i < to.size(); i++) {
    const u64 place = saved.place_of(from[i]) * window;
    if (policy_ == MemoryPolicy::shared) {
      std::memcpy(lanes + to[i] * window, saved.host_memory.data() + place, window);
    } else {
      check(cudaMemcpyAsync(lanes + to[i] * window, saved.flat_memory.data() + place, window, cudaMemcpyDeviceToDevice,
                            stream_),
            "restoring lanes");
    }
  }
}

RestorePlan CudaBackend::plan_restore(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to) {
  RestorePlan plan;
  // The source of each lane of the teams that change.
  std::map<u32, TeamSources> targets;
  for (size_t i = 0; i < to.size(); i++) {
    auto [at, fresh] = targets.try_emplace(team_of(to[i]));
    if (fresh) {
      at->second.team = at->first;
      std::fill_n(at->second.sources, kTeam, kNotSaved);
    }
    at->second.sources[place_of(to[i])] = from[i];
  }
  std::vector<u32> program_of_saved(view_.teams, kNotSaved);
  for (size_t i = 0; i < saved.teams.size(); i++) program_of_saved[saved.teams[i]] = saved.programs[i];
  plan.programs = program_of_team_;
  bool all_whole = true;
  for (auto& [team, target] : targets) {
    const u64 present = std::min<u64>(kTeam, lanes_ - u64{team} * kTeam);
    // Nobody looks at pages of a lane without memory: where it has what its team had, the others need no frames of their own.
    for (u32 lane = 0; lane < present; lane++) {
      if (target.sources[lane] == kNotSaved && program_of_saved[team] != kNotSaved && !has_memory(lane_at(team, lane)))
        target.sources[lane] = lane_at(team, lane);
    }
    bool own = true, complete = true, one_program = true;
    u32 program = kNotSaved;
    for (u32 lane = 0; lane < present; lane++) {
      const u32 source = target.sources[lane];
      complete &= source != kNotSaved;
      own &= source == team * kTeam + lane;
      if (source == kNotSaved) continue;
      const u32 its = program_of_saved[team_of(source)];
      one_program &= program == kNotSaved || program == its;
      program = its;
    }
    target.whole = own;
    target.every_slice = !one_program || program != program_of_team_[team];
    if (complete && one_program) plan.programs[team] = program;
    all_whole &= own;
    plan.teams.push_back(target);
  }
  team_sources_.resize(plan.teams.size(), "allocating call arguments");
  team_sources_.upload(plan.teams, stream_);
  restore_counts_.resize(2, "allocating call arguments");
  if (!is_flat(view_) && !all_whole) plan.team_counts = launch_restore(saved, plan, true);
  plan_spaces(saved, from, to, plan);
  return plan;
}

RestoreCounts CudaBackend::launch_restore(const SavedLanes& saved, const RestorePlan& plan, bool dry) {
  RestoreCounts* const counts = restore_counts_.data();
  RestoreCounts result = {};
  check(cudaMemsetAsync(counts, 0, sizeof result, stream_), "restoring lanes");
  launch_restore_pages(view_, saved.pages, team_sources_.data(), plan.teams.size(), dry,
                       dry ? nullptr : released_.data(), counts, stream_);
  check(cudaMemcpyAsync(&result, counts, sizeof result, cudaMemcpyDeviceToHost, stream_), "restoring lanes");
  synchronize("restoring lanes");
  return result;
}

void CudaBackend::reserve_frames(const RestorePlan& plan) {
  if (is_flat(view_)) return;
  const u64 needed = u64{plan.team_counts.frames_needed} + plan.table_counts.frames_needed + plan.copies.size();
  const auto available = [&] {
    const Pool state = pool();
    const u32 next = std::min(state.next, state.end);
    return state.free_count + u64{state.end - next} / view_.frame_units;
  };
  const u64 leave = available() < needed ? frames_that_leave(plan.leaves) : 0;
  while (available() + leave < needed) {
    if (make_room()) continue;
    throw DeviceError("the pool of " + std::to_string(pool_size() >> 20) +
                      " MiB for written pages has no room for the restored lanes; grow it or make the fleet with a "
                      "larger pool");
  }
  const Pool state = pool();
  const u64 of_teams = u64{std::min(state.next, state.end) - state.first} / view_.frame_units + needed;
  released_.resize(std::max<u64>({of_teams, plan.table_counts.released, 1}), "allocating call arguments");
}

void CudaBackend::restore_pages(const SavedLanes& saved, const RestorePlan& plan) {
  differing_pages_.may_differ();
  if (plan.programs != program_of_team_) {
    team_program_.upload(plan.programs, stream_);
    program_of_team_ = plan.programs;
  }
  const RestoreCounts result = launch_restore(saved, plan, false);
  launch_release_list(view_, released_.data(), restore_counts_.data(), result.released, stream_);
  synchronize("restoring lanes");
  code_restored_ |= result.code_changed != 0;
  code_gave_way_ = false;
  for (const TeamSources& target : plan.teams) {
    code_variants_->give_program(target.team, program_of_team_[target.team]);
    has_no_group(target.team);
  }
  update_common_code();
  if (result.failed) refuse_lost_frames();
}

void CudaBackend::refuse_lost_frames() {
  throw DeviceError("the pool for written pages became full while lanes were restored; grow it");
}

void CudaBackend::restore(u64 number, std::span<const u32> from, std::span<const u32> to) {
  use();
  const SavedLanes& saved = saved_.at(number);
  if (to.empty()) from = to = saved.lanes;
  const u64 count = to.size();
  std::vector<u32> places(count);
  for (size_t i = 0; i < count; i++) places[i] = saved.place_of(from[i]);
  saved_places_.resize(count, "allocating call arguments");
  saved_places_.upload(places, stream_);
  const u32* numbers = upload_lanes(to);

  const RestorePlan plan = plan_restore(saved, from, to);
  reserve_frames(plan);
  // From here on lanes change.
  forget_spaces(plan.leaves);
  restore_pages(saved, plan);
  restore_spaces(saved, plan);
  for (size_t i = 0; i < count; i++) {
    const u32 bit = 1u << place_of(to[i]);
    if (saved.has_memory[places[i]]) without_memory_[team_of(to[i])] &= ~bit;
    else without_memory_[team_of(to[i])] |= bit;
  }
  if (is_flat(view_)) restore_flat_memory(saved, from, to);
  const u64 stride = saved.lanes.size();
  launch_copy_planes(saved.planes.data(), stride, saved_places_.data(), state_.data(), lanes_, numbers, count,
                     kLanePlanes, stream_);
  launch_copy_stops(saved.stops.data(), saved_places_.data(), device_stops_.data(), numbers, count,
                    state_.data() + kPlaneRunEnd * lanes_, stream_);
  launch_copy_planes(saved.vectors.data(), stride, saved_places_.data(), view_.vectors, lanes_, numbers, count, 64,
                     stream_);
  synchronize("restoring lanes");
  stops_are_current_ = false;
  const std::span<const StopRecord> now = stops();
  for (u32 lane : to) std::atomic_ref(codes_.data()[lane]).store(now[lane].code, std::memory_order_relaxed);
  mirror_progress();
}

}  // namespace myriarm::cuda
