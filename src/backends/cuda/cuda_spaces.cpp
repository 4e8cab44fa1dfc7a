// SPDX-License-Identifier: Apache-2.0
// Memory for the further page tables of lanes with several processes, and what the host's calls need of address spaces.
#include <algorithm>
#include <array>
#include <map>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/process/process_kernels.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

/// Tables that are made at once, at least.
constexpr u64 kLeastTables = 16;
constexpr const char* kMaking = "making page tables of further processes";

}  // namespace

void CudaBackend::begin_spaces() {
  Spaces& made = spaces_.emplace(device_, u64{view_.teams} * (kTeamTables - 1) * view_.table_step * sizeof(u32));
  made.running.grow(lanes_, kMaking, stream_);
  made.lanes.grow(lanes_, kMaking, stream_);
  made.numbers.grow(u64{view_.teams} * kTeamTables, kMaking, stream_);
  made.present.grow(u64{view_.teams} * kTeamTables, kMaking, stream_);
  made.exclusive.grow(u64{view_.teams} * kTeamTables, kMaking, stream_);
  made.away.grow(view_.teams, kMaking, stream_);
  made.next.grow(1, kMaking, stream_);
  made.next.upload(std::span(&view_.teams, 1), stream_);
  view_.processes.spaces = {made.running.data(),
                            made.lanes.data(),
                            made.numbers.data(),
                            made.present.data(),
                            made.exclusive.data(),
                            made.away.data(),
                            nullptr,
                            made.next.data(),
                            view_.teams,
                            0,
                            reinterpret_cast<u32*>(made.tables.data()) + kTableFront};
  std::vector<TeamMask> all;
  all.reserve(view_.teams);
  for (u32 team = 0; team < view_.teams; team++) all.push_back({team, ~0u});
  forget_spaces(all);
  update_common_code();
}

void CudaBackend::make_tables(u64 wanted) {
  try {
    if (!spaces_) begin_spaces();
    grow_tables(wanted);
  } catch (const DeviceError&) {
    cudaGetLastError();  // a later check must not find this error
    if (view_.processes.spaces.lanes == nullptr) spaces_.reset();
    view_.processes.spaces.is_final = 1;  // lanes that want more are out of memory
  }
  show_tables();
}

void CudaBackend::grow_tables(u64 wanted) {
  const u64 have = view_.table_count - view_.teams, most = u64{view_.teams} * (kTeamTables - 1);
  u64 more = std::min(std::max({std::min<u64>(wanted, view_.teams), have, kLeastTables}), most - have);
  // Tables and frames share what the device had free when the fleet was made.
  const u64 table_bytes = view_.table_step * sizeof(u32), before = spaces_->tables.bytes();
  const u64 taken = pool_size() + code_bytes(), room = pool_limit_ - std::min(pool_limit_, taken);
  more = std::min(more, room / table_bytes);
  while (more != 0 && !spaces_->tables.grow((have + more) * table_bytes)) more /= 2;
  if (more == 0) throw DeviceError("there is no memory for more page tables");
  pool_limit_ -= std::min(pool_limit_, spaces_->tables.bytes() - before);
  check(cudaMemsetAsync(spaces_->tables.data() + before, 0, spaces_->tables.bytes() - before, stream_), kMaking);
  const u64 count = view_.table_count + more;
  spaces_->owners.grow(have + more, kMaking, stream_);
  touched_.grow(count, kMaking, stream_);
  team_frames_.grow(count, kMaking, stream_);
  team_program_.grow(count, kMaking, stream_);
  team_code_.grow(count, kMaking, stream_);
  code_state_.grow(count, kMaking, stream_);
  code_ran_.grow(count, kMaking, stream_);
  code_slots_.grow(count * kCodeSlots, kMaking, stream_);
  page_history_.grow(count * kCodeSlots, kMaking, stream_);
  if (!is_flat(view_)) grow_splits(count, kMaking);
  // Lanes that found no table have counted on.
  const u32 first_free = std::min(fetch_next_table(), view_.table_count);
  spaces_->next.upload(std::span(&first_free, 1), stream_);
  synchronize(kMaking);
  code_variants_->add_teams(more);
  if (group_variants_) group_variants_->add_teams(more);
  view_.table_count = static_cast<u32>(count);
}

/// Also after a growth that has failed half way: each array is as large as before, or larger.
void CudaBackend::show_tables() {
  if (!spaces_) return;
  SpacesView& spaces = view_.processes.spaces;
  spaces.owners = spaces_->owners.data();
  spaces.end = view_.table_count;
  view_.touched = touched_.data();
  view_.team_frames = team_frames_.data();
  view_.team_program = team_program_.data();
  view_.team_code = team_code_.data();
  view_.code_state = code_state_.data();
  view_.code_ran = code_ran_.data();
  view_.code_slots = code_slots_.data();
  view_.page_history = page_history_.data();
  show_splits();
}

u32 CudaBackend::fetch_next_table() {
  u32 next = 0;
  check(cudaMemcpyAsync(&next, spaces_->next.data(), sizeof next, cudaMemcpyDeviceToHost, stream_), kMaking);
  synchronize(kMaking);
  return next;
}

void CudaBackend::forget_spaces(std::span<const TeamMask> teams) {
  if (!spaces_ || teams.empty()) return;
  team_masks_.resize(teams.size(), "allocating call arguments");
  team_masks_.upload(teams, stream_);
  launch_forget_spaces(view_, team_masks_.data(), teams.size(), stream_);
  synchronize("ending the address spaces of lanes");
}
void CudaBackend::forget_spaces(std::span<const u32> lanes) {
  std::map<u32, u32> by_team;
  for (const u32 lane : lanes) by_team[team_of(lane)] |= 1u << place_of(lane);
  std::vector<TeamMask> masks;
  masks.reserve(by_team.size());
  for (const auto& [team, mask] : by_team) masks.push_back({team, mask});
  forget_spaces(masks);
}

LaneSpaces CudaBackend::fetch_spaces(u32 lane) {
  LaneSpaces spaces;
  check(cudaMemcpyAsync(&spaces, spaces_->lanes.data() + lane, sizeof spaces, cudaMemcpyDeviceToHost, stream_),
        "asking for the address spaces of a lane");
  synchronize("asking for the address spaces of a lane");
  return spaces;
}
void CudaBackend::keep_spaces(u32 lane, const LaneSpaces& spaces) {
  check(cudaMemcpyAsync(spaces_->lanes.data() + lane, &spaces, sizeof spaces, cudaMemcpyHostToDevice, stream_),
        "setting the address spaces of a lane");
  synchronize("setting the address spaces of a lane");
}

std::vector<LaneTables> CudaBackend::fetch_running_tables() {
  std::vector<LaneTables> tables(lanes_);
  check(cudaMemcpyAsync(tables.data(), spaces_->running.data(), lanes_ * sizeof(LaneTables), cudaMemcpyDeviceToHost,
                        stream_),
        "asking for the address spaces of lanes");
  synchronize("asking for the address spaces of lanes");
  return tables;
}

std::vector<std::vector<Transfer>> CudaBackend::rounds_of(std::span<const Transfer> transfers) {
  const std::vector<LaneTables> running = fetch_running_tables();
  std::map<u32, std::vector<std::array<u32, 3>>> tables;  // by team: those of its lanes, each set once
  std::vector<std::vector<Transfer>> rounds;
  for (const Transfer& transfer : transfers) {
    std::vector<std::array<u32, 3>>& of_team = tables[team_of(transfer.lane)];
    const LaneTables& of_lane = running[transfer.lane];
    const std::array own = {of_lane.guest, of_lane.own, of_lane.lane};
    const size_t round = static_cast<size_t>(std::ranges::find(of_team, own) - of_team.begin());
    if (round == of_team.size()) of_team.push_back(own);
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(transfer);
  }
  return rounds;
}

void CudaBackend::change_pages_in_tables(std::span<const u32> lanes, u64 page, u64 count, u32 permissions,
                                         kernel::PageAction action) {
  const std::vector<LaneTables> running = fetch_running_tables();
  std::map<u32, std::map<u32, u32>> by_team;  // by team and table: its lanes
  const auto add = [&](u32 lane) {
    by_team[team_of(lane)][table_with(view_, running[lane], page)] |= 1u << place_of(lane);
  };
  if (lanes.empty()) {
    for (u32 lane = 0; lane < lanes_; lane++) add(lane);
  }
  for (const u32 lane : lanes) add(lane);
  std::vector<std::vector<TeamMask>> rounds;
  for (const auto& [team, tables] : by_team) {
    size_t round = 0;
    for (const auto& [table, mask] : tables) {
      if (round == rounds.size()) rounds.emplace_back();
      rounds[round++].push_back({table, mask});
    }
  }
  for (const std::vector<TeamMask>& round : rounds) change_pages(round, page, count, permissions, action);
}

// HostedSpaces.
RunningSpace CudaBackend::running_space(u32 lane) {
  if (!spaces_) return {};
  const LaneSpaces spaces = fetch_spaces(lane);
  return {spaces.running, spaces.lane != 0};
}
void CudaBackend::enter_space(u32 lane, u32 number) {
  launch_change_space(view_, lane, number, true, stream_);
  synchronize("entering an address space");
}
void CudaBackend::end_space(u32 lane, u32 number) {
  launch_change_space(view_, lane, number, false, stream_);
  synchronize("ending an address space");
}
u32 CudaBackend::common_frame(u32 lane, u64 page) {
  constexpr const char* kAsking = "asking for a page of a lane";
  LaneTables running;
  check(cudaMemcpyAsync(&running, spaces_->running.data() + lane, sizeof running, cudaMemcpyDeviceToHost, stream_),
        kAsking);
  synchronize(kAsking);
  const u32* const table = table_of(view_, table_with(view_, running, page), place_of(lane));
  u32 entry = 0;
  check(cudaMemcpyAsync(&entry, table + page, sizeof entry, cudaMemcpyDeviceToHost, stream_), kAsking);
  synchronize(kAsking);
  return entry & (kPageShared | kPageCode) ? 0 : entry >> kPageFlagBits;
}
void CudaBackend::join_page(u32 lane, u64 page, u64 file_page, u32 permissions) {
  launch_join_page(view_, lane, page, file_page, permissions, stream_);
  synchronize("mapping a page of a file");
}
void CudaBackend::part_page(u32 lane, u64 file_page) {
  launch_part_page(view_, lane, file_page, stream_);
  synchronize("taking a page from a file");
}

}  // namespace myriarm::cuda
