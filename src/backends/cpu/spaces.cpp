// SPDX-License-Identifier: Apache-2.0
// Makes, enters and ends the address spaces of lanes with several processes. A space that is like another shares its pages until
// one of them is written to, as a snapshot does.
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/process_machine.h"
#include "backends/cpu/process_words.h"
#include "kernel/ranges.h"

namespace myriarm::cpu {

void SpaceTables::add_chunk() {
  free_.reserve((chunks_.size() + 1) * kTablesInChunk);
  chunks_.emplace_back(kTablesInChunk * pages_ * sizeof(u32), "further page tables; run fewer processes in each lane");
  for (u64 i = kTablesInChunk; i != 0; i--) {
    free_.push_back(reinterpret_cast<u32*>(chunks_.back().data()) + (i - 1) * pages_);
  }
}

u32* SpaceTables::take() try {
  std::lock_guard lock(mutex_);
  if (free_.empty()) add_chunk();
  u32* table = free_.back();
  free_.pop_back();
  return table;
} catch (const std::exception&) {
  return nullptr;
}

void SpaceTables::give_back(u32* table) {
  std::lock_guard lock(mutex_);
  free_.push_back(table);  // it was there before: no memory is needed
}

void SpaceTables::reserve(u64 count) {
  std::lock_guard lock(mutex_);
  while (free_.size() < count) add_chunk();
}

CpuBackend::SpacePlace CpuBackend::space_place(u64 index, u32 number) {
  LaneSpace* space = spaces_[index] == nullptr ? nullptr : spaces_[index]->find(number);
  if (space == nullptr) return {own_table(index), &touched_[index], &own_code_[index]};
  return {space->table, &space->touched, &space->code};
}

u32 CpuBackend::guest_space(u64 index, u32 number) const {
  const LaneSpace* space = spaces_[index] == nullptr ? nullptr : spaces_[index]->find(number);
  return space != nullptr && space->lender != kNoSpace ? space->lender : number;
}

u32 CpuBackend::running_space(u64 index) const { return spaces_[index] == nullptr ? 0 : spaces_[index]->running; }

void CpuBackend::point(Lane& lane, u64 index, u32 number) {
  const SpacePlace place = space_place(index, guest_space(index, number));
  lane.table = place.table;
  lane.touched = place.touched;
  lane.own_code = place.code;
  lane.found_is_stale = true;
}

const u32* CpuBackend::entries_of(u64 index) {
  const u32 running = running_space(index);
  return running == 0 ? tables_.entries(index, program(index)) : space_place(index, guest_space(index, running)).table;
}

void CpuBackend::exchange_kernel_pages(u64 index, u32 borrower) {
  const SpacePlace lent = space_place(index, guest_space(index, borrower)), own = space_place(index, borrower);
  for (u64 page = guest_pages_; page < lane_pages_; page++) std::swap(lent.table[page], own.table[page]);
  for (u64 page = guest_pages_; page < lane_pages_; page++) {
    *lent.touched |= slices_.bit(page);
    *own.touched |= slices_.bit(page);
  }
}

void CpuBackend::settle_spaces(u64 index) {
  if (spaces_[index] != nullptr && spaces_[index]->borrows(spaces_[index]->running)) {
    exchange_kernel_pages(index, spaces_[index]->running);
  }
}

void CpuBackend::enter_space(Lane& lane, u64 index, u32 number) {
  if (spaces_[index] == nullptr || spaces_[index]->running == number) return;
  settle_spaces(index);
  spaces_[index]->running = number;
  settle_spaces(index);
  point(lane, index, number);
}

void CpuBackend::copy_entries(const SpacePlace& from, const SpacePlace& to, u64 first, u64 end) {
  for (u64 page = first; page < end; page++) {
    u32& entry = from.table[page];
    if (entry == 0) continue;
    if (!(entry & kPageShared)) {
      // Nobody else holds it, or those who do share it already: this thread alone runs the lane.
      pool_.retain(entry >> kPageFlagBits);
      entry |= kPageCode;
    }
    to.table[page] = entry;
    *to.touched |= slices_.bit(page);
  }
}

template <class Visit>
void CpuBackend::for_slices(const SpacePlace& place, bool is_first, u64 first, u64 end, Visit visit) {
  for (u64 page = first; page < end;) {
    const u32 slice = slices_.of(page);
    const u64 behind = std::min(end, slices_.end(slice));
    // Slices of the first table that are not touched have what the program begins with.
    if (is_first || (*place.touched >> slice & 1)) visit(page, behind);
    page = behind;
  }
}

void CpuBackend::move_entries(u64 index, u32 from_number, u32 to_number, u64 first, u64 end) {
  const SpacePlace from = space_place(index, from_number), to = space_place(index, to_number);
  for_slices(from, from_number == 0, first, end, [&](u64 page, u64 behind) {
    for (; page < behind; page++) {
      if (from.table[page] == 0) continue;
      to.table[page] = from.table[page];
      from.table[page] = 0;
      *from.touched |= slices_.bit(page);
      *to.touched |= slices_.bit(page);
    }
  });
}

void CpuBackend::clear_entries(u64 index, u32 number, u64 first, u64 end) {
  const SpacePlace place = space_place(index, number);
  for_slices(place, number == 0, first, end, [&](u64 page, u64 behind) {
    for (; page < behind; page++) {
      if (place.table[page] == 0) continue;
      release_page(place.table[page]);
      *place.touched |= slices_.bit(page);
    }
  });
}

u32 CpuBackend::new_space(Lane& lane, u64 index) {
  if (spaces_[index] == nullptr) spaces_[index] = std::make_unique<LaneSpaces>();
  LaneSpaces& spaces = *spaces_[index];
  u32 number = 1;
  while (spaces.find(number) != nullptr) number++;
  if (number > spaces.more.size()) spaces.more.push_back(std::make_unique<LaneSpace>());
  spaces.more[number - 1]->table = space_tables_.take();
  watch_common_pages(lane, index);
  return spaces.more[number - 1]->table == nullptr ? kNoSpace : number;
}

u32 CpuBackend::make_space(Lane& lane, u64 index, kernel::SpaceKind kind) {
  u32 made = kNoSpace;
  try {
    made = new_space(lane, index);
    if (made != kNoSpace) {
      LaneSpace& space = *spaces_[index]->find(made);
      const u32 running = running_space(index), guest = guest_space(index, running);
      const SpacePlace from{lane.table, lane.touched, lane.own_code};
      const SpacePlace to{space.table, &space.touched, &space.code};
      copy_entries(from, to, guest_pages_, lane_pages_);
      if (kind == kernel::SpaceKind::borrow) {
        space.lender = guest;
      } else if (kind == kernel::SpaceKind::fresh) {
        space.code = std::make_unique<LaneCode>();
        space.code->space = code_store_.nothing();
      } else {
        space.code = saved_code(lane);
        for_slices(from, guest == 0, 0, guest_pages_, [&](u64 page, u64 end) { copy_entries(from, to, page, end); });
      }
      lane.found_is_stale = true;
      if (charge_space(space)) return made;
    }
  } catch (const std::exception&) {  // no memory
  }
  if (made != kNoSpace) end_space(lane, index, made);
  lane.stop = stop_record(StopCode::out_of_memory);
  return kNoSpace;
}

bool CpuBackend::charge_space(LaneSpace& space) {
  u64 wanted = 1;
  for (u64 slices = space.touched; slices != 0; slices &= slices - 1) {
    const u32 slice = static_cast<u32>(std::countr_zero(slices));
    const u64 bytes = (slices_.end(slice) - slices_.first(slice)) * sizeof(u32);
    wanted += (bytes + kPageSize - 1) >> kPageBits;
  }
  if (wanted > space.charged && !pool_.charge(wanted - space.charged)) return false;
  if (wanted < space.charged) pool_.discharge(space.charged - wanted);
  space.charged = wanted;
  return true;
}

void CpuBackend::hand_over(u64 index, u32 lender) {
  LaneSpaces& spaces = *spaces_[index];
  u32 heir = kNoSpace;
  for (u32 number = 1; number <= spaces.more.size(); number++) {
    LaneSpace* space = spaces.find(number);
    if (space == nullptr || space->lender != lender) continue;
    if (heir != kNoSpace) {
      space->lender = heir;
      continue;
    }
    heir = number;
    if (spaces.running == number) exchange_kernel_pages(index, number);
    move_entries(index, lender, number, 0, guest_pages_);
    space->code = std::move(*space_place(index, lender).code);
    space->lender = kNoSpace;
    (void)charge_space(*space);
  }
}

void CpuBackend::free_space(u64 index, u32 number) {
  LaneSpace& space = *spaces_[index]->find(number);
  clear_entries(index, number, 0, lane_pages_);
  pool_.discharge(space.charged);
  space_tables_.give_back(space.table);
  space = {};
}

void CpuBackend::end_space(Lane& lane, u64 index, u32 number) {
  hand_over(index, number);
  free_space(index, number);
  point(lane, index, running_space(index));
}

void CpuBackend::replace_space(Lane& lane, u64 index, u32 with) {
  LaneSpaces& spaces = *spaces_[index];
  const u32 running = spaces.running;
  settle_spaces(index);
  if (LaneSpace* space = spaces.find(running); space != nullptr && space->lender != kNoSpace) space->lender = kNoSpace;
  else hand_over(index, running);
  clear_entries(index, running, 0, lane_pages_);
  move_entries(index, with, running, 0, lane_pages_);
  *space_place(index, running).code = std::move(spaces.find(with)->code);
  free_space(index, with);
  if (LaneSpace* space = spaces.find(running); space != nullptr) (void)charge_space(*space);
  point(lane, index, running);
}

void CpuBackend::drop_spaces(u64 index) {
  if (spaces_[index] == nullptr) return;
  settle_spaces(index);
  spaces_[index]->running = 0;
  for (u32 number = 1; number <= spaces_[index]->more.size(); number++) {
    if (spaces_[index]->find(number) != nullptr) free_space(index, number);
  }
  spaces_[index].reset();
}

void CpuBackend::watch_common_pages(Lane& lane, u64 index) {
  lane.backend = this;
  lane.index = index;
  lane.own_common_page = [](void* backend, Lane& of, u64 number, u64 page) {
    return static_cast<CpuBackend*>(backend)->own_common_page(of, number, page);
  };
}

bool CpuBackend::begin_common_pages(Lane& lane, u64 index) try {
  if (spaces_[index] == nullptr) spaces_[index] = std::make_unique<LaneSpaces>();
  watch_common_pages(lane, index);
  return true;
} catch (const std::bad_alloc&) {
  lane.stop = stop_record(StopCode::out_of_memory);
  return false;
}

template <class Visit>
void CpuBackend::for_pages_of(u64 index, u32 frame, Visit visit) {
  for (u32 number = 0; number <= spaces_[index]->more.size(); number++) {
    // A space that borrows has no pages of the guest.
    if (number != 0 && (spaces_[index]->find(number) == nullptr || spaces_[index]->borrows(number))) continue;
    const SpacePlace place = space_place(index, number);
    const u64 pages = number == 0 ? tables_.pages(index) : lane_pages_;
    for (u64 slices = *place.touched; slices != 0; slices &= slices - 1) {
      const u32 slice = static_cast<u32>(std::countr_zero(slices));
      const u64 end = std::min(pages, slices_.end(slice));
      for (u64 page = slices_.first(slice); page < end; page++) {
        u32& entry = place.table[page];
        if (entry >> kPageFlagBits == frame && !(entry & kPageShared) && !visit(entry)) return;
      }
    }
  }
}

bool CpuBackend::own_common_page(Lane& lane, u64 index, u64 page) {
  kernel::Range range{};
  const ProcessWords words{lane};
  if (page < guest_pages_) {
    if (!kernel::find_range(words, (first_page_ + page) << kPageBits, range)) return false;
    if (!(range.flags & kernel::kSharedMemory)) return false;
  } else if (page < guest_pages_ + kernel::kKernelPages) {
    return false;
  }
  const u32 frame = lane.table[page] >> kPageFlagBits;
  const auto for_spaces = [&](auto visit) {
    // Pages of a file may have any addresses; others are at one, in all spaces.
    if (page >= guest_pages_ || (range.flags & kernel::kSharedFile)) return for_pages_of(index, frame, visit);
    for (u32 number = 0; number <= spaces_[index]->more.size(); number++) {
      if (number != 0 && (spaces_[index]->find(number) == nullptr || spaces_[index]->borrows(number))) continue;
      u32& entry = space_place(index, number).table[page];
      if (entry >> kPageFlagBits == frame && !(entry & kPageShared) && !visit(entry)) return;
    }
  };
  const u32 holders = pool_.holders_of(frame);
  u32 own = 0;
  for_spaces([&](u32&) { return ++own != holders; });
  if (own == holders) return true;
  // A snapshot holds it too: all of the lane's spaces get the copy.
  bool zeroed = false;
  const u32 copy = pool_.allocate(zeroed);
  if (copy == 0) {
    lane.stop = stop_record(StopCode::out_of_memory);
    return false;
  }
  std::memcpy(pool_.at(copy), pool_.at(frame), kPageSize);
  bool first = true;
  for_spaces([&](u32& entry) {
    if (!first) pool_.retain(copy);
    first = false;
    pool_.release(frame);
    entry = copy << kPageFlagBits | (entry & kPageFlagMask);
    return true;
  });
  lane.found_is_stale = true;
  return true;
}

void CpuBackend::join_page(Lane& lane, u64 index, u64 page, u64 file_page, u32 permissions) {
  constexpr u32 kPermissions = kPageReadable | kPageWritable | kPageExecutable;
  const u32 frame = own_table(index)[file_page] >> kPageFlagBits;
  u32& entry = lane.table[page];
  if ((entry & kPageShared) || entry >> kPageFlagBits != frame) {
    release_page(entry);
    pool_.retain(frame);
    entry = frame << kPageFlagBits;
  }
  entry = (entry & ~kPermissions) | (permissions & kPermissions);
  touch(lane, page, 1);
  lane.found_is_stale = true;
}

void CpuBackend::part_page(u64 index, u64 file_page) {
  u32& entry = own_table(index)[file_page];
  if (spaces_[index] == nullptr || (entry & kPageShared) || !pool_.is_shared(entry >> kPageFlagBits)) return;
  release_page(entry);
  entry = FramePool::kZeroFrame << kPageFlagBits | kPageShared;
  touched_[index] |= slices_.bit(file_page);
}

// kernel::HasSpaces.
bool ProcessMachine::has_spaces() const { return lane_.pool != nullptr; }
u32 ProcessMachine::space() const { return backend_of().running_space(index_); }
void ProcessMachine::enter_space(u32 number) { backend_of().enter_space(lane_, index_, number); }
bool ProcessMachine::make_space(kernel::SpaceKind kind, u32& number) {
  number = backend_of().make_space(lane_, index_, kind);
  return number != kNoSpace;
}
void ProcessMachine::end_space(u32 number) { backend_of().end_space(lane_, index_, number); }
void ProcessMachine::replace_space(u32 with) { backend_of().replace_space(lane_, index_, with); }
bool ProcessMachine::widen_table(u64 end) {
  return end <= lane_.page_count || backend_of().widen_table(lane_, index_, end);
}
// kernel::SharesFiles.
bool ProcessMachine::begin_joining() { return backend_of().begin_common_pages(lane_, index_); }
void ProcessMachine::join_page(u64 page, u64 file_page, u32 permissions) {
  backend_of().join_page(lane_, index_, page, file_page, permissions);
}
void ProcessMachine::part_page(u64 file_page) { backend_of().part_page(index_, file_page); }
CpuBackend& ProcessMachine::backend_of() const { return *static_cast<CpuBackend*>(backend_); }

}  // namespace myriarm::cpu
