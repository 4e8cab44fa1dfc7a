// SPDX-License-Identifier: Apache-2.0
// The slow paths of memory for translated code, of whatever translator.
#pragma once

#include "backends/cpu/lane.h"
#include "translate/translator.h"

namespace myriarm::cpu {

inline Lane* lane_of(translate::LaneState* state) { return static_cast<Lane*>(state); }

// The first access to a page comes here, and those that follow do not.
constexpr translate::SlowPaths kSlowPaths = {
    [](translate::LaneState* lane, u64 address, u32 size) {
      const SlowLoad loaded = load_slow(lane_of(lane), address, size);
      lane->note_found_page(address);
      return loaded;
    },
    [](translate::LaneState* lane, u64 address, u64 value, u32 size) {
      const bool stored = store_slow(lane_of(lane), address, value, size);
      lane->note_found_page(address);
      return stored;
    },
    [](translate::LaneState* lane, u64 address, u64 first, u64 second, u32 size) {
      const bool stored = store_pair_slow(lane_of(lane), address, first, second, size);
      lane->note_found_page(address);
      return stored;
    }};

}  // namespace myriarm::cpu
