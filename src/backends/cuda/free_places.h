// SPDX-License-Identifier: Apache-2.0
// The places of a team's further tables while lanes are restored to some of them: the host's books. Knows no CUDA.
#pragma once

#include <array>

#include "backends/cuda/process/spaces.h"

namespace myriarm::cuda {

class FreePlaces {
 public:
  /// What SpacesView has of the team, by place. `restored`: its lanes that leave all their places first.
  FreePlaces(const u32* numbers, const u32* present, const u32* exclusive, u32 restored)
      : present_(present), exclusive_(exclusive), restored_(restored) {
    while (count_ + 1 < kTeamTables && numbers[count_ + 1] != 0) count_++;
  }

  /// Lanes that stay, and have pages in the table of this place.
  u32 keeping(u32 place) const { return place <= count_ ? present_[place] & ~restored_ : 0; }
  /// A place for lanes that have had `wished` when they were saved; `alone`: it is one lane, and no other has pages there. As a new
  /// place is the lowest without a table, there is none behind such a one. kTeamTables: there is no place.
  u32 take(u32 wished, bool alone) {
    if (fits(wished, alone)) return taken(wished);
    for (u32 place = 1; place < kTeamTables; place++) {
      if (!taken_[place] && keeping(place) == 0) return taken(place);
    }
    for (u32 place = 1; place < kTeamTables; place++) {
      if (fits(place, alone)) return taken(place);
    }
    return kTeamTables;
  }

 private:
  bool fits(u32 place, bool alone) const {
    if (place > count_ || taken_[place]) return false;
    return keeping(place) == 0 || (!alone && exclusive_[place] == 0);
  }
  u32 taken(u32 place) {
    taken_[place] = true;
    return place;
  }

  const u32 *present_, *exclusive_;
  u32 restored_;
  u32 count_ = 0;  // places that have a table, without the team's
  std::array<bool, kTeamTables> taken_ = {};
};

}  // namespace myriarm::cuda
