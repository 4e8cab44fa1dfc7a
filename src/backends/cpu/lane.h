// SPDX-License-Identifier: Apache-2.0
// One lane while a host thread runs it: its registers, its memory, and its pc. Every engine of this backend runs lanes
// of this type, so that a lane can change engines at any instruction boundary; translated code knows its base alone.
#pragma once

#include <memory>

#include "backends/common/page_slices.h"
#include "backends/cpu/frame_pool.h"
#include "backends/cpu/interpreter/place.h"
#include "core/slow_access.h"
#include "translate/lane_state.h"

namespace myriarm::cpu {

class CodeSpace;
class CodeStore;
class ExitCounts;
struct LaneCode;

struct Lane : translate::LaneState {
  InterpreterPlace place;

  u64 index = 0;                // of the fleet
  u64 guest_pages = 0;          // of page_count: those of the guest; the others are the kernel pages of its process
  bool restart = false;         // the instruction at pc must run again: the lane's predecoded code is another one now
  u64 translated = 0;           // of `retired`: those that regions of translated code have retired
  bool is_in_region = false;    // translated code of the space that it runs is running
  ExitCounts* exits = nullptr;  // null: nobody counts where the lane leaves translated code
  u32 hot_exit = 0;             // at this count of an exit the engine returns, and sets is_at_hot_exit
  bool is_at_hot_exit = false;
  u64 longest_region_run = 0;  // the most instructions that regions retire between two checks of their limit
  u32 longest_visit = 0;       // as in TranslationSetup, for run_translated_changing()
  u64 change_random = 0;       // its state
  FramePool* pool = nullptr;   // null: flat memory, whose pages are never shared and never move
  u64* touched = nullptr;      // bit s: entries of slice s may differ from the program's
  const PageSlices* slices = nullptr;
  // Pages from this one on are the lane's, whichever of its address spaces it runs: in this table.
  u64 lane_pages = ~u64{0};
  u32* lane_table = nullptr;
  u64* lane_touched = nullptr;
  // What makes a page own that several of its spaces have, and may have in common: false if it is no such page, or recorded a stop.
  bool (*own_common_page)(void* backend, Lane& lane, u64 index, u64 page) = nullptr;  // null: the lane has one space
  void* backend = nullptr;
  const CodeSpace* program_code = nullptr;
  CodeStore* code_store = nullptr;
  std::unique_ptr<LaneCode>* own_code = nullptr;  // null inside: the lane runs its program's code

  /// To be called when the entry of a page has changed. `page`: its number in the lane's table.
  void touch(u64 page) {
    *touched |= slices->bit(page);
    forget_found_page(first_page + page);
  }
};

/// The slow paths of core/memory.h.
SlowLoad load_slow(Lane* lane, u64 address, u32 size);
bool store_slow(Lane* lane, u64 address, u64 value, u32 size);
bool store_pair_slow(Lane* lane, u64 address, u64 first, u64 second, u32 size);

/// The fault of fetching an instruction at `pc`; none if it may run.
FaultCode fetch_fault(Lane& lane, u64 pc);
/// The instruction word at an executable address; 0 if it cannot be read.
u32 fetch_word(const Lane& lane, u64 pc);

/// Where the byte at `address` lies for a write by the host, whatever the page's permissions. Copies the page first if
/// it is shared. Null: it recorded a stop.
u8* writable_byte(Lane& lane, u64 address);

}  // namespace myriarm::cpu
