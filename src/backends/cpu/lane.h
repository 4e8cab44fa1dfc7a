// SPDX-License-Identifier: Apache-2.0
// One lane while a host thread runs it, and the slow paths of its memory.
#pragma once

#include <memory>

#include "backends/cpu/code.h"
#include "backends/cpu/frame_pool.h"
#include "core/cpu.h"

namespace myriarm::cpu {

struct Lane;

/// A handler of the interpreter runs one instruction and calls the next handler. Its arguments are what stays in
/// machine registers all the time. `bias` and the instruction pointer give the count of retired instructions without
/// keeping it: retired * 16 == bias + address of the Operands, so that only a taken branch has to touch it.
struct Handler {
  void (*run)(Lane* lane, const Operands* op, u64 bias, const Handler* handlers, u32* table, u8* frames);
};

struct alignas(64) Lane {
  u64 r[kSlotCount] = {};
  u8 n = 0, z = 0, c = 0, v_flag = 0;  // PSTATE, apart, so that setting them is four independent stores

  // Where execution is, valid when no handler runs.
  const Operands* op = nullptr;
  u64 bias = 0;

  const Operands* code = nullptr;  // of the current region
  u64 code_address = 0;
  u64 code_bytes = 0;  // region.count * 4
  u64 far_pc = 0;      // target of a branch out of the region
  Operands far = {};   // the marker that such a branch continues at
  u64 fast_limit = 0;  // retired * 16 at which a taken branch leaves the fast handlers
  u64 step_limit = 0;  // the same for the stepping handlers, exact

  u64 first_page = 0, page_count = 0;
  u32* table = nullptr;
  u8* frames = nullptr;

  u64 system[static_cast<int>(SystemField::count)] = {};
  u64* v = nullptr;  // v[2 * n] lower, v[2 * n + 1] upper half of register n
  StopRecord stop = {};
  bool restart = false;  // the instruction must run again: its code has moved

  FramePool* pool = nullptr;  // null: flat memory, whose pages have one holder and stay where they are
  u64* touched = nullptr;     // bit s: entries of slice s, pages s << slice_shift and up, may not be the program's
  u32 slice_shift = 0;
  const SharedCode* shared_code = nullptr;
  std::unique_ptr<LaneCode>* own_code = nullptr;

  PagedMemory<1> memory() const { return {frames, table, first_page, page_count, 0}; }
  void touch(u64 page) const { *touched |= u64{1} << (page >> slice_shift); }
  u64 pc_of(const Operands* at) const {
    return code_address + ((reinterpret_cast<u64>(at) - reinterpret_cast<u64>(code)) >> 2);
  }
};

/// Makes the region that holds pc the current one and sets op and bias for `retired` instructions so far.
/// False: a fault was recorded; pc is kept in far_pc with op at the far marker.
bool enter_region(Lane& lane, u64 pc, u64 retired);

/// The slow paths of core/memory.h.
SlowLoad load_slow(Lane* lane, u64 address, u32 size);
bool store_slow(Lane* lane, u64 address, u64 value, u32 size);
bool store_pair_slow(Lane* lane, u64 address, u64 first, u64 second, u32 size);
/// The instruction word at an executable address; 0 if it cannot be read.
u32 fetch_word(const Lane& lane, u64 pc);

/// Where the byte at `address` lies for a write, after copying a page that others hold too. Null: a stop was recorded, or the lane
/// must restart the instruction. `forced` ignores permissions (the host writes).
u8* writable_byte(Lane& lane, u64 address, bool forced);
/// Tells a lane's code that bytes were written.
void code_written(Lane& lane, u64 address, u64 size);
/// Takes the lane off the shared code: it gets a copy of each region.
void privatise_code(Lane& lane);

/// The interpreters: entered with lane.op, lane.bias set; return when a stop or a restart is recorded, or a limit
/// is reached. In `stepping`, every instruction looks at step_limit.
void interpret(Lane& lane, bool stepping);

}  // namespace myriarm::cpu
