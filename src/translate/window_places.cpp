// SPDX-License-Identifier: Apache-2.0
#include "translate/window_places.h"

#include "translate/windows.h"

namespace myriarm::translate {
namespace {

constexpr u32 kStackPlace = 0;  // of all accesses whose base is SP, in all regions

/// Whether what an instruction writes to a register is likely near what it was: a base with an index that is written back, or
/// an addition of a constant.
bool only_moves(const Instruction& at, u32 slot) {
  const Effects& e = at.effects;
  const u64 bit = u64{1} << slot;
  if (e.loads || e.stores) return at.operands.rn == slot && at.operands.rd != slot && at.operands.ra != slot;
  return e.reads_r == bit && e.writes_r == bit;
}

}  // namespace

std::map<u64, u32> window_places(const Shape& shape) {
  // Regions follow each other from places that have nothing to do with each other, since lanes go from one to another.
  u64 next = shape.entries.front() * 0x9E3779B97F4A7C15u >> 32;
  std::map<u64, u32> places;
  for (const auto& [pc, block] : shape.blocks) {
    std::map<u32, u32> of_base;
    for (const Instruction& at : block.instructions) {
      const Effects& e = at.effects;
      if (e.always_stops) continue;
      if (e.loads || e.stores) {
        const u32 base = at.operands.rn;
        if (base == kSlotSP) {
          places[at.pc] = kStackPlace;
        } else {
          const auto [place, is_new] = of_base.try_emplace(base, 0);
          if (is_new) place->second = 1 + static_cast<u32>(next++ % (kWindowPlaces - 1));
          places[at.pc] = place->second;
        }
      }
      for (u32 slot = 0; slot <= kSlotSP; slot++) {
        if ((e.writes_r >> slot & 1) != 0 && !only_moves(at, slot)) of_base.erase(slot);
      }
    }
  }
  return places;
}

}  // namespace myriarm::translate
