// SPDX-License-Identifier: Apache-2.0
// The slow paths of memory for translated code, of whatever translator.
#pragma once

#include "backends/cpu/lane.h"
#include "translate/translator.h"

namespace myriarm::cpu {

inline Lane* lane_of(translate::LaneState* state) { return static_cast<Lane*>(state); }

/// What the size of an access says, and where the lane accesses memory from now on.
struct SlowAccess {
  translate::LaneState* lane;
  u64 address;
  u32 place, bytes;
  u8* at = nullptr;
  SlowAccess(translate::LaneState* of_lane, u64 of_address, u32 size)
      : lane(of_lane),
        address(of_address),
        place(size >> translate::kPlaceShift),
        bytes(size & ((1u << translate::kPlaceShift) - 1)) {
    if (lane->found_is_stale) lane->forget_found_pages();
  }
  const translate::Window* window() const {
    return place == 0 ? nullptr : lane->windows.note(lane->memory(), address, place - 1);
  }
  bool is_readable() {
    const translate::Window* found = window();
    return found != nullptr && found->find_readable(address, at);
  }
  /// A page that the access is about to change is not looked for.
  bool is_writable() {
    const PagedMemory<1> memory = lane->memory();
    const u64 page = (address >> kPageBits) - memory.first_page;
    if (page >= memory.page_count || !fast_writable(memory.entry(page))) return false;
    const translate::Window* found = window();
    return found != nullptr && found->find_writable(address, at);
  }
  /// To be called when it has been made: the next one is fast if the entry of its page, which may have changed, allows that.
  void note() const {
    window();
    lane->note_found_page(address);
  }
};

// The first access to a page comes here, and those that follow do not; of accesses with a place, those of which the one before
// had another window.
constexpr translate::SlowPaths kSlowPaths = {
    [](translate::LaneState* lane, u64 address, u32 size) -> SlowLoad {
      SlowAccess access(lane, address, size);
      if (access.is_readable()) {
        switch (access.bytes) {
          case 1: return {read_once<u8>(access.at), true};
          case 2: return {read_once<u16>(access.at), true};
          case 4: return {read_once<u32>(access.at), true};
          case 8: return {read_once<u64>(access.at), true};
          default: break;
        }
      }
      const SlowLoad loaded = load_slow(lane_of(lane), address, access.bytes);
      access.note();
      return loaded;
    },
    [](translate::LaneState* lane, u64 address, u64 value, u32 size) {
      SlowAccess access(lane, address, size);
      if (access.is_writable()) {
        switch (access.bytes) {
          case 0: return true;
          case 1: write_once<u8>(access.at, static_cast<u8>(value)); return true;
          case 2: write_once<u16>(access.at, static_cast<u16>(value)); return true;
          case 4: write_once<u32>(access.at, static_cast<u32>(value)); return true;
          case 8: write_once<u64>(access.at, value); return true;
          default: break;
        }
      }
      const bool stored = store_slow(lane_of(lane), address, value, access.bytes);
      access.note();
      return stored;
    },
    [](translate::LaneState* lane, u64 address, u64 first, u64 second, u32 size) {
      SlowAccess access(lane, address, size);
      if (access.is_writable()) {
        switch (access.bytes) {
          case 4:
            write_once<u32>(access.at, static_cast<u32>(first)),
                write_once<u32>(access.at + 4, static_cast<u32>(second));
            return true;
          case 8: write_once<u64>(access.at, first), write_once<u64>(access.at + 8, second); return true;
          default: break;
        }
      }
      const bool stored = store_pair_slow(lane_of(lane), address, first, second, access.bytes);
      access.note();
      return stored;
    }};

}  // namespace myriarm::cpu
