// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lane_tables.h"

namespace myriarm::cpu {

LaneTables::LaneTables(u64 lanes, u64 window_pages, size_t programs)
    : window_pages_(window_pages),
      first_own_(kFirstProgram + static_cast<u32>(programs)),
      tables_((first_own_ + lanes) * window_pages * sizeof(u32)),
      place_of_(lanes),
      program_is_filled_(programs),
      next_(first_own_) {}

const u32* LaneTables::entries(u64 lane, const ProgramPages& program) {
  const u32 place = place_of_[lane];
  if (place >= kFirstProgram && place < first_own_ && !program_is_filled_[place - kFirstProgram]) {
    program.begin(at(place));
    program_is_filled_[place - kFirstProgram] = true;
  }
  return at(place);
}

u32 LaneTables::take(u32 number, bool& filled, bool& clear) {
  std::lock_guard lock(mutex_);
  auto list = free_.find(number);
  filled = list != free_.end();
  if (!filled) list = free_.begin();
  clear = list == free_.end();
  if (clear) return next_++;  // a lane has one table at most, so one is left
  const u32 place = list->second.back();
  list->second.pop_back();
  if (list->second.empty()) free_.erase(list);
  return place;
}

u32* LaneTables::own(u64 lane, const ProgramPages& program, u32 number) {
  if (!has_own(lane)) {
    bool filled, clear;
    const u32 place = take(number, filled, clear);
    if (clear) {
      program.begin(at(place));
    } else if (!filled) {
      program.fill(at(place), 0, window_pages_);
    }
    place_of_[lane] = place;
  }
  return at(place_of_[lane]);
}

void LaneTables::give_back(u64 lane, u32 number, bool empty) {
  if (has_own(lane)) {
    std::lock_guard lock(mutex_);
    free_[number].push_back(place_of_[lane]);
  }
  place_of_[lane] = empty ? kEmpty : kFirstProgram + number;
}

}  // namespace myriarm::cpu
