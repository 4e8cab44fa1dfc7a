// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/lane_code.h"

#include <algorithm>
#include <cstring>
#include <exception>

namespace myriarm::cpu {
namespace {

// How many pages a lane may compare in vain: at first, and for each page that it covers, which takes as long.
constexpr u64 kFirstCompared = 256;
constexpr u64 kComparedPerCovered = 8;

u64 page_at(u64 address) { return untagged(address) >> kPageBits; }

const CodeSpace& space_of(const Lane& lane) {
  const LaneCode* own = lane.own_code->get();
  return own == nullptr || own->space == nullptr ? *lane.program_code : *own->space;
}

LaneCode& own_code(Lane& lane) {
  if (*lane.own_code == nullptr) *lane.own_code = std::make_unique<LaneCode>();
  return **lane.own_code;
}

/// The bytes of a page that the lane may execute; null if it may not.
const u8* executable_bytes(const Lane& lane, u64 page) {
  const u64 index = page - lane.first_page;
  if (index >= lane.page_count) return nullptr;
  const u32 entry = lane.table[index];
  return (entry & kPageExecutable) ? lane.memory().locate(entry, 0) : nullptr;
}

/// Whether a covered page of a space is as the lane has it.
bool agrees(const Lane& lane, const CodeSpace& space, u64 page) {
  const u8 *now = executable_bytes(lane, page), *then = space.bytes(page);
  return now != nullptr && then != nullptr && (now == then || std::memcmp(now, then, kPageSize) == 0);
}

/// Whether a lane could run a published space: every page that this covers is as the lane has it. Pages that have not
/// changed since the program began are not looked at. Adds to `compared` how many pages were.
bool fits(const Lane& lane, const CodeSpace& space, u64& compared) {
  const CodeSpace& mine = space_of(lane);
  if (&space.root() != &mine.root()) return false;
  auto agrees_if_covered = [&](u64 page) {
    compared++;
    return !space.covers(page) || agrees(lane, space, page);
  };
  auto all = [&](const auto& changed) {
    return std::all_of(changed.begin(), changed.end(), [&](const auto& c) { return agrees_if_covered(c.first); });
  };
  const LaneCode* own = lane.own_code->get();
  if (own != nullptr && !std::all_of(own->stale.begin(), own->stale.end(), agrees_if_covered)) return false;
  return all(mine.changed()) && all(space.changed());
}

/// Sends the lane's stores to a page with predecoded code to the slow path.
void watch_page(Lane& lane, u64 page) {
  const u64 index = page - lane.first_page;
  lane.table[index] |= kPageCode;
  lane.touch(index);
}

void adopt(Lane& lane, std::shared_ptr<CodeSpace> space) {
  for (const auto& [page, state] : space->changed()) {
    if (state.covered) watch_page(lane, page);
  }
  LaneCode& own = own_code(lane);
  own.space = std::move(space);
  own.stale.clear();
}

/// Looks for a space that another lane has published, which covers `page` and fits.
bool adopt_published(Lane& lane, u64 page) {
  const u8* bytes = executable_bytes(lane, page);
  if (bytes == nullptr) return false;
  LaneCode& own = own_code(lane);
  own.covered++;
  for (std::shared_ptr<CodeSpace>& space : lane.code_store->candidates(page, bytes)) {
    if (own.compared > kFirstCompared + kComparedPerCovered * own.covered) return false;
    u64 compared = 0;
    if (fits(lane, *space, compared)) {
      lane.code_store->keep(space);
      adopt(lane, std::move(space));
      return true;
    }
    own.compared += compared;
  }
  return false;
}

/// Gives the lane a space that it can change. False: the pool is spent.
bool make_private(Lane& lane) {
  if (!space_of(lane).is_published()) return true;
  std::shared_ptr<CodeSpace> copy = lane.code_store->copy_of(space_of(lane));
  if (copy == nullptr) return false;
  LaneCode& own = own_code(lane);
  const bool was_published_for_nothing = !space_of(lane).changed().empty();
  if (was_published_for_nothing) own.patience = std::min(2 * own.patience + 1, 1023u);
  if (lane.is_in_region) own.left = std::move(own.space);
  own.space = std::move(copy);
  return true;
}

bool cover(Lane& lane, u64 page) {
  if (adopt_published(lane, page)) return true;
  if (!make_private(lane) || !own_code(lane).space->cover(page)) return false;
  watch_page(lane, page);
  return true;
}

/// Whether the lane would lose a page that it has run if it took `space` for its own.
bool covers_as_much(const CodeSpace& space, const CodeSpace& own) {
  return std::all_of(own.changed().begin(), own.changed().end(),
                     [&](const auto& c) { return !c.second.covered || space.covers(c.first); });
}

/// Shares the lane's code: with lanes that have published the same, or else with those that come to have it. To publish
/// takes as long as a lane runs some ten thousand instructions. So unless it is needed, it is done for code that was
/// seen before.
void publish(Lane& lane, bool needed) {
  LaneCode& own = **lane.own_code;
  own.quiet = 0;
  const auto& changed = own.space->changed();
  auto covered = std::find_if(changed.begin(), changed.end(), [](const auto& c) { return c.second.covered; });
  if (covered != changed.end()) {
    const u8* bytes = executable_bytes(lane, covered->first);
    for (std::shared_ptr<CodeSpace>& space : lane.code_store->candidates(covered->first, bytes)) {
      u64 compared = 0;
      if (covers_as_much(*space, *own.space) && fits(lane, *space, compared)) return adopt(lane, std::move(space));
    }
    if (!lane.code_store->seen(covered->first, bytes) && !needed) return;
  }
  own.space->publish([&](u64 page) { return executable_bytes(lane, page); });
  lane.code_store->add(own.space);
}

/// What `change` returns, or false with the lane's stop recorded if the pool is spent or the host has no memory.
template <class Change>
bool or_out_of_memory(Lane& lane, Change change) {
  try {
    if (change()) return true;
  } catch (const std::exception&) {  // std::bad_alloc, or DeviceError if the host refuses addresses
  }
  lane.stop = stop_record(StopCode::out_of_memory);
  return false;
}

}  // namespace

bool has_code(const Lane& lane, u64 address) { return space_of(lane).covers(page_at(address)); }

const CodeSpace& code_of(const Lane& lane) { return space_of(lane); }

u64 longest_run(const Lane& lane) { return space_of(lane).longest_run(); }

bool enter_code(Lane& lane, u64 pc, u64 retired) {
  InterpreterPlace& place = lane.place;
  const FaultCode fault = fetch_fault(lane, pc);
  const CodeSpace::Area* area = nullptr;
  if (fault != FaultCode::none) {
    lane.stop = fetch_fault_record(fault, pc);
  } else {
    area = space_of(lane).find_covered(pc);
    if (area == nullptr && or_out_of_memory(lane, [&] { return cover(lane, page_at(pc)); })) {
      area = space_of(lane).find_covered(pc);
      lane.restart = true;
    }
  }
  if (area != nullptr) {
    if (place.code_bytes != 0 && place.code != area->words()) place.change_areas();
    place.code = area->words();
    place.code_address = area->span.address;
    place.code_bytes = area->span.count * 4;
    place.entries = &space_of(lane).entries();
    place.op = place.code + (pc - area->span.address) / 4;
  } else {
    place.far_pc = pc;
    place.op = &place.far;
  }
  place.bias = retired * sizeof(Operands) - reinterpret_cast<u64>(place.op);
  return area != nullptr;
}

void decode_written_words(Lane& lane, u64 pc) {
  (*lane.own_code)->space->decode_lazy(pc, executable_bytes(lane, page_at(pc)));
}

bool prepare_code_write(Lane& lane, u64 address, bool& code) {
  const u64 page = page_at(address);
  const LaneCode* own = lane.own_code->get();
  code = true;
  if (own != nullptr && own->space != nullptr && !own->space->is_published() && own->space->is_noted(page)) return true;
  code = has_code(lane, address);
  if (!code) return true;
  lane.restart =
      or_out_of_memory(lane, [&] { return make_private(lane) && (*lane.own_code)->space->note_write(page); });
  return false;
}

void code_written(Lane& lane, u64 address, u64 size) {
  LaneCode* own = lane.own_code->get();
  if (own == nullptr || own->space == nullptr || own->space->is_published()) return;
  own->space->invalidate(untagged(address), size);
  own->written = true;
}

void page_changed(Lane& lane, u64 address) {
  if (!has_code(lane, address)) return;
  LaneCode& own = own_code(lane);
  // Each page once, however often the host writes before the lane runs again.
  const u64 page = page_at(address);
  if (std::find(own.stale.rbegin(), own.stale.rend(), page) == own.stale.rend()) own.stale.push_back(page);
}

void all_pages_changed(Lane& lane) {
  LaneCode& own = own_code(lane);
  own.space = lane.code_store->nothing();
  own.stale.clear();
}

void find_changed_pages(Lane& lane) {
  const CodeSpace& space = space_of(lane);
  std::vector<u64> stale;  // all that were known before are found again
  auto look = [&](u64 page) {
    if (space.covers(page) && !agrees(lane, space, page)) stale.push_back(page);
  };
  for (const auto& [page, state] : space.changed()) look(page);
  space.root().for_root_pages([&](u64 page) {
    if (!space.changed().contains(page)) look(page);
  });
  if (stale.empty()) return;
  own_code(lane).stale = std::move(stale);
}

bool update_code(Lane& lane) {
  LaneCode* own = lane.own_code->get();
  if (own == nullptr || own->stale.empty()) return true;
  std::erase_if(own->stale, [&](u64 page) {
    const CodeSpace& space = space_of(lane);
    return !space.covers(page) || agrees(lane, space, page);
  });
  if (own->stale.empty()) return true;
  return or_out_of_memory(lane, [&] {
    for (const u64 page : own->stale) {
      if (adopt_published(lane, page)) return true;
    }
    if (!make_private(lane)) return false;
    while (!own->stale.empty()) {
      const u64 page = own->stale.back();
      const bool executable = executable_bytes(lane, page) != nullptr;
      if (!(executable ? own->space->cover(page) : own->space->uncover(page))) return false;
      if (executable) watch_page(lane, page);
      own->stale.pop_back();
    }
    return true;
  });
}

void drop_left_code(Lane& lane) {
  if (LaneCode* own = lane.own_code->get()) own->left.reset();
}

void consider_publishing(Lane& lane, bool at_end) {
  LaneCode* own = lane.own_code->get();
  if (own == nullptr || own->space == nullptr || own->space->is_published()) return;
  if (own->written) {
    own->quiet = 0;
  } else {
    own->quiet++;
  }
  const bool due = own->quiet > own->patience || (at_end && own->patience == 0);
  own->written = false;
  if (!due) return;
  try {
    publish(lane, false);
  } catch (const std::exception&) {  // the lane keeps what it has
  }
}

void watch_code(Lane& lane) {
  for (const auto& [page, state] : space_of(lane).changed()) {
    if (state.covered) watch_page(lane, page);
  }
}

std::unique_ptr<LaneCode> saved_code(Lane& lane) {
  LaneCode* own = lane.own_code->get();
  if (own == nullptr) return nullptr;
  if (update_code(lane) && own->space != nullptr && !own->space->is_published()) {
    try {
      publish(lane, true);
    } catch (const std::exception&) {  // no memory
    }
  }
  auto saved = std::make_unique<LaneCode>(*own);
  if (own->space == nullptr || own->space->is_published()) return saved;
  // What a lane changes cannot be shared. The restored lane begins with what that differs from.
  for (const auto& [page, state] : own->space->changed()) {
    if (std::find(saved->stale.begin(), saved->stale.end(), page) == saved->stale.end()) saved->stale.push_back(page);
  }
  const std::shared_ptr<CodeSpace>& nothing = lane.code_store->nothing();
  saved->space = &own->space->root() == nothing.get() ? nothing : nullptr;
  return saved;
}

}  // namespace myriarm::cpu
