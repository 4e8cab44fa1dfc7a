// SPDX-License-Identifier: Apache-2.0
// Takes, drops and restores snapshots. A snapshot saves what its lanes have changed since their program began; pages
// are shared until a lane writes to them.
#include "backends/cpu/snapshot.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>

#include "backends/cpu/cpu_backend.h"
#include "myriarm/error.h"
#include "support/text.h"

namespace myriarm::cpu {
namespace {

/// Whether two entries have the same frame and permissions. kPageCode is ignored: it only says what a store must do.
bool same(u32 a, u32 b) { return ((a ^ b) & ~u32{kPageCode}) == 0; }

template <class Visit>
void for_bits(u64 mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<u32>(std::countr_zero(mask)));
}

[[noreturn]] void no_room(const char* what) {
  throw DeviceError(std::string("the host has no memory left ") + what + "; drop a snapshot or take fewer lanes");
}

}  // namespace

void CpuBackend::save_pages(u64 lane, LaneSnapshot& kept, std::vector<PageSnapshot>& pages) {
  kept.first_page = pages.size();
  std::vector<u32> initial(touched_[lane] == 0 ? 0 : slices_.longest());
  const u32* table = tables_.entries(lane, program(lane));
  for_bits(touched_[lane], [&](u32 slice) {
    const u64 first = slices_.first(slice), end = std::min(slices_.end(slice), tables_.pages(lane));
    program(lane).fill(initial.data(), first, end);
    for (u64 page = first; page < end; page++) {
      const u32 entry = table[page];
      if (!same(entry, initial[page - first])) pages.push_back({static_cast<u32>(page), entry & ~u32{kPageCode}});
    }
  });
  kept.page_count = pages.size() - kept.first_page;
}

void CpuBackend::save_spaces(u64 index, LaneSnapshot& kept, std::vector<PageSnapshot>& pages) {
  if (spaces_[index] == nullptr) return;
  const LaneSpaces& spaces = *spaces_[index];
  kept.has_common_pages = true;
  kept.running_space = spaces.running;
  for (u32 number = 1; number <= spaces.more.size(); number++) {
    const LaneSpace* space = spaces.find(number);
    if (space == nullptr) continue;
    SpaceSnapshot& saved = kept.spaces.emplace_back();
    saved.number = number;
    saved.lender = space->lender;
    if (space->code != nullptr) {
      Lane lane;
      attach(lane, index);
      point(lane, index, number);
      saved.code = saved_code(lane);
    }
    saved.first_page = pages.size();
    for_bits(space->touched, [&](u32 slice) {
      for (u64 page = slices_.first(slice); page < slices_.end(slice); page++) {
        if (space->table[page] != 0) pages.push_back({static_cast<u32>(page), space->table[page] & ~u32{kPageCode}});
      }
    });
    saved.page_count = pages.size() - saved.first_page;
  }
}

void CpuBackend::restore_spaces(u64 index, const LaneSnapshot& kept, const std::vector<PageSnapshot>& pages) {
  if (!kept.has_common_pages) return;
  spaces_[index] = std::make_unique<LaneSpaces>();
  LaneSpaces& spaces = *spaces_[index];
  while (!kept.spaces.empty() && spaces.more.size() < kept.spaces.back().number)
    spaces.more.push_back(std::make_unique<LaneSpace>());
  for (const SpaceSnapshot& saved : kept.spaces) {
    LaneSpace& space = *spaces.more[saved.number - 1];
    space.table = space_tables_.take();  // restore() has reserved it
    space.lender = saved.lender;
    if (saved.code != nullptr) space.code = std::make_unique<LaneCode>(*saved.code);
    for (u64 i = saved.first_page; i < saved.first_page + saved.page_count; i++) {
      u32 entry = pages[i].entry;
      if (!(entry & kPageShared)) pool_.retain(entry >> kPageFlagBits);
      space.table[pages[i].page] = entry | kPageCode;
      space.touched |= slices_.bit(pages[i].page);
    }
    (void)charge_space(space);
  }
  spaces.running = kept.running_space;
  settle_spaces(index);
}

bool CpuBackend::lacks_entries(u64 lane, const LaneSnapshot& kept, const std::vector<PageSnapshot>& pages) const {
  return kept.page_count != 0 && pages[kept.first_page + kept.page_count - 1].page >= tables_.pages(lane);
}

u64 CpuBackend::take_snapshot(std::span<const u32> lanes) try {
  FleetSnapshot snapshot;
  snapshot.lanes.assign(lanes.begin(), lanes.end());
  if (lanes.empty()) {
    snapshot.lanes.resize(lanes_);
    std::iota(snapshot.lanes.begin(), snapshot.lanes.end(), 0u);
  }
  const u64 count = snapshot.lanes.size();
  snapshot.kept.resize(count);
  snapshot.arrays.resize(count * kArrays);
  snapshot.vectors.resize(count * 64);
  if (flat_) snapshot.windows = FlatMemory(count, window_pages_);
  for (u64 i = 0; i < count; i++) {
    const u32 lane = snapshot.lanes[i];
    LaneSnapshot& kept = snapshot.kept[i];
    kept.program = program_of_[lane];
    kept.has_memory = has_memory(lane);
    settle_spaces(lane);
    if (own_code_[lane] != nullptr || waiting_.any(lane)) {
      Lane saved;
      attach(saved, lane);
      point(saved, lane, 0);
      if (!take_waiting_writes(saved, lane)) {
        throw DeviceError(
            "the pool of " + size_text(pool_.size_bytes()) +
            " for written pages is full, and the snapshot needs pages that were written but not used yet; "
            "grow it");
      }
      if (flat_) find_changed_pages(saved);  // the host may have written without a call
      kept.code = saved_code(saved);
    }
    kept.touched = touched_[lane];
    kept.stop = stops_[lane];
    save_pages(lane, kept, snapshot.pages);
    save_spaces(lane, kept, snapshot.pages);
    settle_spaces(lane);
    std::memcpy(snapshot.vectors.data() + i * 64, vectors(lane), 64 * sizeof(u64));
    if (flat_) copy_pages(snapshot.windows.lane(i), flat_.lane(lane), flat_.stride());
  }
  for (u64 number = 0; number < kArrays; number++) {
    const u64* from = array(number);
    u64* to = snapshot.arrays.data() + number * count;
    for (u64 i = 0; i < count; i++) to[i] = from[snapshot.lanes[i]];
  }
  const u64 number = next_snapshot_++;
  FleetSnapshot& made = snapshots_.emplace(number, std::move(snapshot)).first->second;
  // Nothing fails from here on. The snapshot becomes a holder of the frames, so the next store to one must check.
  if (flat_) return number;
  for (u64 i = 0; i < count; i++) {
    const LaneSnapshot& kept = made.kept[i];
    const u32 lane = made.lanes[i];
    const auto hold = [&](u64 first, u64 pages, u32* (*table_of)(CpuBackend&, u32, u32), u32 number) {
      for (u64 k = first; k < first + pages; k++) {
        if (made.pages[k].entry == 0 || (made.pages[k].entry & kPageShared)) continue;
        pool_.retain(made.pages[k].entry >> kPageFlagBits);
        table_of(*this, lane, number)[made.pages[k].page] |= kPageCode;
      }
    };
    const auto table_of = [](CpuBackend& self, u32 of, u32 space) { return self.space_place(of, space).table; };
    settle_spaces(lane);
    hold(kept.first_page, kept.page_count, table_of, 0);
    for (const SpaceSnapshot& space : kept.spaces) hold(space.first_page, space.page_count, table_of, space.number);
    settle_spaces(lane);
  }
  return number;
} catch (const std::bad_alloc&) {
  no_room("for a snapshot");
}

void CpuBackend::drop_snapshot(u64 number) {
  auto found = snapshots_.find(number);
  if (found == snapshots_.end()) return;
  if (!flat_) {
    for (const PageSnapshot& page : found->second.pages) {
      if (page.entry != 0 && !(page.entry & kPageShared)) pool_.release(page.entry >> kPageFlagBits);
    }
  }
  snapshots_.erase(found);
}

/// Restores lanes from a snapshot. Each thread has one.
struct CpuBackend::Restorer {
  CpuBackend& backend;
  const FleetSnapshot& snapshot;
  std::vector<u32> wanted;  // what the entries of a slice must become
  std::vector<u32> freed;   // frames that have no holder any more

  Restorer(CpuBackend& b, const FleetSnapshot& s) : backend(b), snapshot(s), wanted(b.slices_.longest()) {}
  ~Restorer() { backend.pool_.give_back(freed); }
  Restorer(const Restorer&) = delete;

  void restore(u64 lane, u64 index);
  /// Gives the lane's frames back, and its table: then it has what its program begins with, or no memory.
  void forget(u64 lane, bool empty);

 private:
  bool is_counted(u32 entry) const { return !backend.flat_ && entry != 0 && !(entry & kPageShared); }
  /// Restores one slice of a page table with so many entries, and moves `at` to the pages of the next slice.
  void restore_slice(u32* table, u64 pages, u32 slice, const ProgramPages& program, const PageSnapshot*& at,
                     const PageSnapshot* end);
};

void CpuBackend::Restorer::restore_slice(u32* table, u64 pages, u32 slice, const ProgramPages& program,
                                         const PageSnapshot*& at, const PageSnapshot* end) {
  const u64 first = backend.slices_.first(slice), last = std::min(backend.slices_.end(slice), pages);
  if (first >= last) return;
  program.fill(wanted.data(), first, last);
  for (; at != end && at->page < last; at++) {
    // The first store to the page must check: the snapshot holds the frame too, or, in flat memory, the page may have
    // predecoded code.
    const bool first_store_checks = at->entry != 0 && !(at->entry & kPageShared);
    wanted[at->page - first] = at->entry | (first_store_checks ? u32{kPageCode} : 0);
  }
  table += first;
  for (u64 i = 0; i < last - first; i++) {
    if (table[i] == wanted[i]) continue;
    if (same(table[i], wanted[i])) {
      table[i] |= wanted[i];
      continue;
    }
    if (is_counted(wanted[i])) backend.pool_.retain(wanted[i] >> kPageFlagBits);
    if (is_counted(table[i]) && backend.pool_.drop(table[i] >> kPageFlagBits)) {
      freed.push_back(table[i] >> kPageFlagBits);
    }
    table[i] = wanted[i];
  }
}

void CpuBackend::Restorer::forget(u64 lane, bool empty) {
  const u32 number = backend.program_of_[lane];
  backend.drop_spaces(lane);
  if (backend.tables_.has_own(lane)) {
    u32* table = backend.own_table(lane);
    const u64 pages = backend.tables_.pages(lane);
    const PageSnapshot* none = nullptr;
    for_bits(backend.touched_[lane],
             [&](u32 slice) { restore_slice(table, pages, slice, *backend.programs_[number], none, none); });
  }
  backend.touched_[lane] = 0;
  backend.waiting_.drop(lane);
  backend.tables_.give_back(lane, *backend.programs_[number], number, empty);
}

void CpuBackend::Restorer::restore(u64 lane, u64 index) {
  const LaneSnapshot& kept = snapshot.kept[index];
  backend.drop_spaces(lane);
  // A table that stays with the lane must be of the lane's program.
  if (!kept.has_memory || kept.touched == 0 || backend.program_of_[lane] != kept.program) {
    forget(lane, !kept.has_memory);
  }
  if (backend.program_of_[lane] != kept.program) {
    backend.program_of_[lane] = kept.program;
    if (kept.has_memory) backend.tables_.begin(lane, kept.program);
  }
  const u64 mask = backend.touched_[lane] | kept.touched;
  if (mask != 0) {
    u32* table = backend.own_table(lane);
    const PageSnapshot* at = snapshot.pages.data() + kept.first_page;
    const PageSnapshot* end = at + kept.page_count;
    if (backend.lacks_entries(lane, kept, snapshot.pages)) {
      table = backend.tables_.widen(lane, backend.program(lane), kept.program, backend.touched_[lane],
                                    backend.slices_);  // restore() has reserved it
    }
    const u64 pages = backend.tables_.pages(lane);
    for_bits(mask, [&](u32 slice) { restore_slice(table, pages, slice, backend.program(lane), at, end); });
    backend.touched_[lane] = kept.touched;
  }
  backend.waiting_.drop(lane);
  if (backend.flat_) copy_pages(backend.flat_.lane(lane), snapshot.windows.lane(index), backend.flat_.stride());
  backend.own_code_[lane] = kept.code == nullptr ? nullptr : std::make_unique<LaneCode>(*kept.code);
  if (backend.flat_ && kept.code != nullptr) {
    Lane restored;
    backend.attach(restored, lane);
    watch_code(restored);
  }
  backend.restore_spaces(lane, kept, snapshot.pages);
  std::memcpy(backend.vectors(lane), snapshot.vectors.data() + index * 64, 64 * sizeof(u64));
  backend.set_stop(lane, kept.stop);
}

void CpuBackend::restore(u64 number, std::span<const u32> from, std::span<const u32> to) try {
  auto found = snapshots_.find(number);
  if (found == snapshots_.end()) {
    throw ArgumentError("there is no such snapshot of this fleet; give one that its snapshot() made");
  }
  const FleetSnapshot& snapshot = found->second;
  if (from.empty() && to.empty()) from = to = snapshot.lanes;
  std::vector<u64> indices(from.size());  // of the snapshot's lanes
  for (size_t i = 0; i < from.size(); i++) {
    auto at = std::lower_bound(snapshot.lanes.begin(), snapshot.lanes.end(), from[i]);
    if (at == snapshot.lanes.end() || *at != from[i]) {
      throw ArgumentError("lane " + std::to_string(from[i]) + " is not in the snapshot; give lanes that it holds");
    }
    indices[i] = static_cast<u64>(at - snapshot.lanes.begin());
  }
  u64 spaces = 0;
  for (size_t i = 0; i < to.size(); i++) {
    const LaneSnapshot& kept = snapshot.kept[indices[i]];
    spaces += kept.spaces.size() + lacks_entries(to[i], kept, snapshot.pages);
  }
  space_tables_.reserve(spaces);
  const u64 count = snapshot.lanes.size();
  for (u64 k = 0; k < kArrays; k++) {
    u64* values = array(k);
    const u64* kept = snapshot.arrays.data() + k * count;
    if (k == static_cast<u64>(Field::instructions)) {
      for (size_t i = 0; i < to.size(); i++) publish(to[i], kept[indices[i]]);
    } else {
      for (size_t i = 0; i < to.size(); i++) values[to[i]] = kept[indices[i]];
    }
  }
  for_each_in_threads(to.size(), snapshot, [&](Restorer& restorer, u64 i) { restorer.restore(to[i], indices[i]); });
} catch (const std::bad_alloc&) {
  no_room("to restore lanes");
}

void CpuBackend::for_each_in_threads(u64 count, const FleetSnapshot& snapshot,
                                     const std::function<void(Restorer&, u64 index)>& work) {
  constexpr u64 kChunk = 64;
  std::atomic<u64> next{0};
  auto chunks = [&] {
    Restorer restorer(*this, snapshot);
    for (u64 begin; (begin = next.fetch_add(kChunk)) < count;) {
      for (u64 i = begin; i < std::min(begin + kChunk, count); i++) work(restorer, i);
    }
  };
  workers_.run(static_cast<unsigned>(std::min<u64>(workers_.size(), (count + kChunk - 1) / kChunk)), chunks);
}

void CpuBackend::release_memory(std::span<const u32> lanes) {
  if (flat_) return;  // it was allocated for all lanes, and the host may hold views of it
  const FleetSnapshot none;
  for_each_in_threads(lanes.size(), none, [&](Restorer& restorer, u64 i) {
    restorer.forget(lanes[i], true);
    own_code_[lanes[i]].reset();
  });
}

void CpuBackend::end_process(u64 index) {
  drop_spaces(index);
  if (keep_files_) {
    if (keep_memory_) return;
    Lane lane;
    attach(lane, index);
    replace_pages(lane, 0, guest_pages_, false, 0);
    own_code_[index].reset();
    return;
  }
  if (!keep_memory_) {
    const FleetSnapshot none;
    Restorer(*this, none).forget(index, true);
    own_code_[index].reset();
    return;
  }
  // What the process was is of no use any more: its kernel pages are again those that the program begins with.
  u32* entries = own_table(index) + guest_pages_;
  std::vector<u32> first(tables_.pages(index) - guest_pages_);
  program(index).fill(first.data(), guest_pages_, tables_.pages(index));
  for (size_t i = 0; i < first.size(); i++) {
    if (same(entries[i], first[i])) continue;
    release_page(entries[i]);
    entries[i] = first[i];
  }
}

}  // namespace myriarm::cpu
