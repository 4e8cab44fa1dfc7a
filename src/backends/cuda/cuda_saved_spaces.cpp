// SPDX-License-Identifier: Apache-2.0
// Snapshots and restores of lanes with several processes: what becomes of further page tables. docs/design/spaces-on-a-gpu.md.
#include <algorithm>
#include <bit>
#include <map>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/free_places.h"
#include "backends/cuda/process/process_kernels.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

constexpr const char* kAllocating = "allocating a snapshot";
constexpr const char* kRestoring = "restoring lanes";

bool has_one_space(const LaneSpaces& spaces) {
  const auto exists = [](u8 place) { return place != kNoPlace; };
  return spaces.running == 0 && spaces.lane == 0 && spaces.own[0] == 0 && spaces.guest[0] == 0 &&
         std::none_of(spaces.own + 1, spaces.own + kMostSpaces, exists);
}

/// Replaces each place of the spaces that exist by change(place), and forgets what is left of others.
template <class Change>
LaneSpaces with_places(const LaneSpaces& spaces, Change change) {
  LaneSpaces changed = spaces;
  changed.lane = change(spaces.lane);
  for (u32 number = 0; number < kMostSpaces; number++) {
    const bool exists = spaces.own[number] != kNoPlace;
    changed.own[number] = exists ? change(spaces.own[number]) : kNoPlace;
    changed.guest[number] = exists ? change(spaces.guest[number]) : kNoPlace;
  }
  changed.is_answered = 0;
  changed.result = 0;
  return changed;
}

/// What a lane with these spaces has in the table of a place: TablePart bits.
u8 parts_in(const LaneSpaces& spaces, u8 place) {
  u32 parts = spaces.lane == place ? kLanePart : 0;
  for (u32 number = 0; number < kMostSpaces; number++) {
    if (spaces.own[number] == kNoPlace) continue;
    if (spaces.own[number] == place) parts |= kOwnPart;
    if (spaces.guest[number] == place) parts |= kGuestPart;
  }
  return static_cast<u8>(parts);
}

}  // namespace

template <class T>
std::vector<T> CudaBackend::fetch(const DeviceArray<T>& array, u64 count) {
  std::vector<T> values(count);
  check(cudaMemcpyAsync(values.data(), array.data(), count * sizeof(T), cudaMemcpyDeviceToHost, stream_),
        "asking for the address spaces of lanes");
  synchronize("asking for the address spaces of lanes");
  return values;
}

void CudaBackend::plan_saved_spaces(SavedLanes& saved) {
  if (!spaces_) return;
  const std::vector<LaneSpaces> all = fetch(spaces_->lanes, lanes_);
  if (std::ranges::all_of(saved.lanes, [&](u32 lane) { return has_one_space(all[lane]); })) return;
  const u64 places = u64{view_.teams} * kTeamTables;
  const std::vector<u32> numbers = fetch(spaces_->numbers, places), exclusive = fetch(spaces_->exclusive, places);
  const std::vector<u64> touched = fetch(touched_, view_.table_count);
  saved.several.assign(saved.lanes.size(), kNotSaved);
  std::map<u32, u32> indices;    // by the number of a table
  std::vector<u32> owner_lanes;  // by owner: its index in saved.spaces
  for (size_t i = 0; i < saved.lanes.size(); i++) {
    const u32 lane = saved.lanes[i];
    if (has_one_space(all[lane])) continue;
    saved.several[i] = static_cast<u32>(saved.spaces.size());
    SavedSpaces& of_lane = saved.spaces.emplace_back();
    bool owns = false;
    of_lane.spaces = with_places(all[lane], [&](u8 place) {
      const auto is_known = [&](const auto& known) { return known.first == place; };
      if (place == 0 || std::ranges::any_of(of_lane.tables, is_known)) return place;
      const u64 at = u64{team_of(lane)} * kTeamTables + place;
      const auto [found, fresh] = indices.try_emplace(numbers[at], static_cast<u32>(saved.table_list.size()));
      of_lane.tables.emplace_back(place, found->second);
      if (!fresh) return place;
      SavedTable& table = saved.table_list.emplace_back();
      table = {numbers[at], kNotSaved, 0, 0, touched[numbers[at]], saved.table_entry_count};
      saved.table_entry_count +=
          view_.slices.entries_before(table.touched, PageSlices::kMost, [](u64 mask) { return std::popcount(mask); });
      if (exclusive[at] != 0) {
        table.lane = lane;
        table.owner = static_cast<u32>(owner_lanes.size());
        owns = true;
      }
      return place;
    });
    if (owns) owner_lanes.push_back(saved.several[i]);
  }

  saved.device_table_list.resize(std::max<u64>(saved.table_list.size(), 1), kAllocating);
  saved.table_entries.resize(std::max<u64>(saved.table_entry_count, 1), kAllocating);
  saved.tables = {saved.device_table_list.data(), static_cast<u32>(saved.table_list.size()), saved.table_entries.data(),
                  make_splits(saved.table_splits, saved.table_list.size()), nullptr};
  // A slice may have fewer pages than there is room for.
  check(cudaMemsetAsync(saved.table_entries.data(), 0, saved.table_entries.bytes(), stream_), kAllocating);
  saved.device_table_list.upload(saved.table_list, stream_);
  if (owner_lanes.empty()) return;
  const Pool state = pool();
  const u64 frames = (std::min(state.next, state.end) - state.first) / view_.frame_units;
  frame_marks_.resize(std::max<u64>(frames * kTeam, 1), kAllocating);
  DeviceArray<u32> device_counts(owner_lanes.size(), kAllocating);
  check(cudaMemsetAsync(frame_marks_.data(), 0, frame_marks_.bytes(), stream_), kAllocating);
  check(cudaMemsetAsync(device_counts.data(), 0, device_counts.bytes(), stream_), kAllocating);
  launch_mark_copies(view_, saved.tables, frame_marks_.data(), device_counts.data(), stream_);
  const std::vector<u32> counts = fetch(device_counts, owner_lanes.size());
  u64 copies = 0;
  for (size_t owner = 0; owner < owner_lanes.size(); owner++) {
    SavedSpaces& of_lane = saved.spaces[owner_lanes[owner]];
    of_lane.first_copy = static_cast<u32>(copies);
    of_lane.copies = counts[owner];
    copies += counts[owner];
  }
  for (SavedTable& table : saved.table_list) {
    if (table.lane != kNotSaved) table.first_copy = saved.spaces[owner_lanes[table.owner]].first_copy;
  }
  saved.copies.resize(std::max<u64>(copies, 1) << kPageBits, kAllocating);
  saved.tables.copies = saved.copies.data();
  saved.device_table_list.upload(saved.table_list, stream_);
}

void CudaBackend::save_spaces(const SavedLanes& saved) {
  if (saved.tables.count != 0) launch_save_tables(view_, saved.tables, frame_marks_.data(), stream_);
}

void CudaBackend::release_saved_spaces(const SavedLanes& saved) {
  SavedTeams entries = {};
  entries.entries = saved.tables.entries;
  launch_release_saved(view_, entries, saved.table_entry_count, stream_);
}

void CudaBackend::plan_spaces(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to,
                              RestorePlan& plan) {
  if (!spaces_) return;
  std::map<u32, u32> leaving;                                     // by team
  std::map<u32, std::vector<std::pair<u32, u32>>> lanes_of_team;  // that get several spaces, and their sources
  for (size_t i = 0; i < to.size(); i++) {
    leaving[team_of(to[i])] |= 1u << place_of(to[i]);
    if (saved.spaces_of(from[i]) != nullptr) lanes_of_team[team_of(to[i])].emplace_back(to[i], from[i]);
  }
  for (const auto& [team, mask] : leaving) plan.leaves.push_back({team, mask});
  if (lanes_of_team.empty()) return;
  const u64 places = u64{view_.teams} * kTeamTables;
  const std::vector<u32> numbers = fetch(spaces_->numbers, places), present = fetch(spaces_->present, places),
                         exclusive = fetch(spaces_->exclusive, places);
  std::vector<size_t> fresh;  // tables that are still to be had
  for (const auto& [team, lanes] : lanes_of_team) {
    const u64 at = u64{team} * kTeamTables;
    FreePlaces free(&numbers[at], &present[at], &exclusive[at], leaving[team]);
    std::map<std::pair<u32, u32>, size_t> made;  // by the index of a saved table, and the lane if it has it alone
    // First the tables that lanes have alone: for others there is a place as long as there is one that lanes may share.
    for (const bool alone : {true, false}) {
      for (const auto& [lane, source] : lanes) {
        const SavedSpaces& kept = *saved.spaces_of(source);
        for (const auto& [place, index] : kept.tables) {
          if ((saved.table_list[index].lane != kNotSaved) != alone) continue;
          const auto [found, is_new] = made.try_emplace({index, alone ? lane : kNotSaved}, plan.tables.size());
          if (is_new) {
            const u32 wanted = free.take(place, alone);
            if (wanted == kTeamTables) refuse_places(lane);
            RestoredTable& table = plan.tables.emplace_back();
            table = {numbers[at + wanted],
                     team,
                     wanted,
                     free.keeping(wanted),
                     alone,
                     static_cast<u32>(plan.copies.size()),
                     {},
                     {},
                     {}};
            std::fill_n(table.sources, kTeam, kNotSaved);
            if (table.table == 0) fresh.push_back(found->second);
          }
          RestoredTable& table = plan.tables[found->second];
          table.sources[place_of(lane)] = index;
          table.lanes[place_of(lane)] = source;
          table.parts[place_of(lane)] = parts_in(kept.spaces, place);
        }
        if (!alone) continue;
        for (u32 i = 0; i < kept.copies; i++) plan.copies.push_back({lane, kept.first_copy + i});
      }
    }
    for (const auto& [lane, source] : lanes) {
      const SavedSpaces& kept = *saved.spaces_of(source);
      const auto place_now = [&, lane = lane](u8 place) {
        if (place == 0) return place;
        const auto at_place = [&](const auto& known) { return known.first == place; };
        const u32 index = std::ranges::find_if(kept.tables, at_place)->second;
        const bool alone = saved.table_list[index].lane != kNotSaved;
        return static_cast<u8>(plan.tables[made.at({index, alone ? lane : kNotSaved})].place);
      };
      plan.lanes.push_back({lane, with_places(kept.spaces, place_now)});
    }
  }
  plan.tables_end = reserve_tables(fresh.size());
  for (const size_t index : fresh) plan.tables[index].table = plan.tables_end++;

  // All arguments are on the device before anything changes.
  restored_tables_.resize(plan.tables.size() + 1, kRestoring);
  restored_tables_.upload(plan.tables, stream_);
  restored_lanes_.resize(plan.lanes.size(), kRestoring);
  restored_lanes_.upload(plan.lanes, stream_);
  copied_pages_.resize(plan.copies.size() + 1, kRestoring);
  copied_pages_.upload(plan.copies, stream_);
  copied_frames_.resize(plan.copies.size() + 1, kRestoring);
  RestoreCounts* const counts = restore_counts_.data() + 1;
  check(cudaMemsetAsync(counts, 0, sizeof *counts, stream_), kRestoring);
  launch_restore_tables(view_, saved.tables, restored_tables_.data(), plan.tables.size(), true, nullptr, nullptr,
                        counts, stream_);
  check(cudaMemcpyAsync(&plan.table_counts, counts, sizeof *counts, cudaMemcpyDeviceToHost, stream_), kRestoring);
  synchronize(kRestoring);
}

void CudaBackend::refuse_places(u32 lane) {
  throw DeviceError("lane " + std::to_string(lane) + " cannot get its processes back: 32 lanes have " +
                    std::to_string(kTeamTables - 1) +
                    " page tables for processes beside the first, and others have them; restore fewer of these lanes "
                    "at once, or those that run to a state with fewer processes");
}

u32 CudaBackend::reserve_tables(u64 count) {
  const auto first_free = [&] { return std::min(fetch_next_table(), view_.table_count); };
  u32 next = first_free();
  try {
    for (; view_.table_count - next < count; next = first_free()) grow_tables(count);
  } catch (const DeviceError&) {
    cudaGetLastError();  // a later check must not find this error
    show_tables();
    throw DeviceError("the device has no memory for " + std::to_string(count) +
                      " page tables of the processes of the restored lanes; restore fewer lanes at once, or make the "
                      "fleet with less memory");
  }
  show_tables();
  return next;
}

u64 CudaBackend::frames_that_leave(std::span<const TeamMask> leaves) {
  if (!spaces_ || leaves.empty()) return 0;
  team_masks_.resize(leaves.size(), "allocating call arguments");
  team_masks_.upload(leaves, stream_);
  DeviceArray<u32> frames(1, "allocating call results");
  check(cudaMemsetAsync(frames.data(), 0, sizeof(u32), stream_), kRestoring);
  launch_count_leaving(view_, team_masks_.data(), leaves.size(), frames.data(), stream_);
  return fetch(frames, 1)[0];
}

void CudaBackend::restore_spaces(const SavedLanes& saved, const RestorePlan& plan) {
  if (plan.lanes.empty()) return;
  RestoreCounts* const counts = restore_counts_.data() + 1;
  RestoreCounts result = {};
  spaces_->next.upload(std::span(&plan.tables_end, 1), stream_);
  check(cudaMemsetAsync(counts, 0, sizeof *counts, stream_), kRestoring);
  if (!plan.tables.empty()) {
    launch_give_tables(view_, restored_tables_.data(), plan.tables.size(), stream_);
    launch_free_given_up(view_, stream_);  // then several warps may take frames for one team
    if (!plan.copies.empty()) {
      launch_place_copies(view_, saved.tables, copied_pages_.data(), plan.copies.size(), copied_frames_.data(), counts,
                          stream_);
    }
    launch_restore_tables(view_, saved.tables, restored_tables_.data(), plan.tables.size(), false,
                          copied_frames_.data(), released_.data(), counts, stream_);
    launch_release_list(view_, released_.data(), counts, plan.table_counts.released, stream_);
  }
  launch_give_spaces(view_, restored_lanes_.data(), plan.lanes.size(), stream_);
  check(cudaMemcpyAsync(&result, counts, sizeof result, cudaMemcpyDeviceToHost, stream_), kRestoring);
  synchronize(kRestoring);
  code_restored_ = true;
  if (result.failed) refuse_lost_frames();
}

}  // namespace myriarm::cuda
