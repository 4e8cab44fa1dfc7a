// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lane_tables.h"

#include <algorithm>
#include <bit>

namespace myriarm::cpu {

LaneTables::LaneTables(u64 lanes, u64 pages, size_t programs, SpaceTables& whole)
    : pages_(pages),
      first_own_(kFirstProgram + static_cast<u32>(programs)),
      whole_tables_(whole),
      tables_((first_own_ + lanes) * pages * sizeof(u32)),
      place_of_(lanes),
      whole_(lanes),
      program_is_filled_(programs),
      first_free_(programs, kEmpty),
      next_free_(lanes, kEmpty),
      at_in_stocked_(programs),
      next_(first_own_) {
  stocked_.reserve(programs);
}

const u32* LaneTables::entries(u64 lane, const ProgramPages& program) {
  if (whole_[lane] != nullptr) return whole_[lane];
  const u32 place = place_of_[lane];
  if (place >= kFirstProgram && place < first_own_ && !program_is_filled_[place - kFirstProgram]) {
    program.begin(at(place), pages_);
    program_is_filled_[place - kFirstProgram] = true;
  }
  return at(place);
}

u32 LaneTables::take(u32 number, bool& filled, bool& clear) {
  std::lock_guard lock(mutex_);
  filled = first_free_[number] != kEmpty;
  clear = !filled && stocked_.empty();
  if (clear) return next_++;  // a lane has one table at most, so one is left
  const u32 from = filled ? number : stocked_.back(), place = first_free_[from];
  first_free_[from] = next_free_[place - first_own_];
  if (first_free_[from] == kEmpty) {
    const u32 at = at_in_stocked_[from];
    stocked_[at] = stocked_.back();
    at_in_stocked_[stocked_[at]] = at;
    stocked_.pop_back();
  }
  return place;
}

void LaneTables::put_back(u32 number, u32 place) noexcept {
  std::lock_guard lock(mutex_);
  if (first_free_[number] == kEmpty) {
    at_in_stocked_[number] = static_cast<u32>(stocked_.size());
    stocked_.push_back(number);
  }
  next_free_[place - first_own_] = first_free_[number];
  first_free_[number] = place;
}

u32* LaneTables::own(u64 lane, const ProgramPages& program, u32 number) {
  if (whole_[lane] != nullptr) return whole_[lane];
  if (!has_own(lane)) {
    bool filled, clear;
    const u32 place = take(number, filled, clear);
    if (clear) {
      program.begin(at(place), pages_);
    } else if (!filled) {
      program.fill(at(place), 0, pages_);
    }
    place_of_[lane] = place;
  }
  return at(place_of_[lane]);
}

u32* LaneTables::widen(u64 lane, const ProgramPages& program, u32 number, u64 touched, const PageSlices& slices) {
  u32* table = whole_tables_.take();
  if (table == nullptr) return nullptr;
  program.begin(table, whole_tables_.pages());
  u32* old = at(place_of_[lane]);
  for (; touched != 0; touched &= touched - 1) {
    const u32 slice = static_cast<u32>(std::countr_zero(touched));
    const u64 first = slices.first(slice), end = std::min(slices.end(slice), pages_);
    if (first >= end) break;
    std::copy(old + first, old + end, table + first);
    program.fill(old + first, first, end);
  }
  whole_[lane] = table;
  put_back(number, place_of_[lane]);
  return table;
}

void LaneTables::give_back(u64 lane, const ProgramPages& program, u32 number, bool empty) {
  if (whole_[lane] != nullptr) {
    program.end(whole_[lane]);
    whole_tables_.give_back(whole_[lane]);
    whole_[lane] = nullptr;
  } else if (has_own(lane)) {
    put_back(number, place_of_[lane]);
  }
  place_of_[lane] = empty ? kEmpty : kFirstProgram + number;
}

}  // namespace myriarm::cpu
