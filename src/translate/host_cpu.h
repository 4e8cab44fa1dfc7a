// SPDX-License-Identifier: Apache-2.0
// The Cpu policy of translated code for the host. A region has one object of it, whose members LLVM turns into machine
// registers: it is built, used and thrown away inside one function. What is written to a register of the guest goes to the
// LaneState too, at once: so an exit has nothing to store, and a value that no instruction reads again takes no register of
// the host until then. Compiled by clang to bitcode.
#pragma once

#include "core/semantics.h"
#include "translate/flag_source.h"
#include "translate/lane_state.h"

extern "C" {
bool myriarm_store_slow(myriarm::translate::LaneState*, uint64_t address, uint64_t value, uint32_t size);
bool myriarm_store_pair_slow(myriarm::translate::LaneState*, uint64_t address, uint64_t first, uint64_t second,
                             uint32_t size);
myriarm::SlowLoad myriarm_load_slow(myriarm::translate::LaneState*, uint64_t address, uint32_t size);
}

namespace myriarm::translate {

/// Whether regions find memory through the windows of their lanes, else through LaneState::found. The translator knows.
extern const bool kUsesWindows __attribute__((visibility("hidden")));

// The slow paths are rare and called from many places: these calls keep nearly all registers, so that the fast path
// around them has its values where they were.
__attribute__((preserve_most, noinline)) static SlowLoad load_slow(LaneState* lane, u64 address, u32 size) {
  return myriarm_load_slow(lane, address, size);
}
__attribute__((preserve_most, noinline)) static bool store_slow(LaneState* lane, u64 address, u64 value, u32 size) {
  return myriarm_store_slow(lane, address, value, size);
}
__attribute__((preserve_most, noinline)) static bool store_pair_slow(LaneState* lane, u64 address, u64 first,
                                                                     u64 second, u32 size) {
  return myriarm_store_pair_slow(lane, address, first, second, size);
}

struct HostCpu : FlagSource<1> {
  LaneState* lane;
  u64 at;     // the address of the instruction
  u64 next;   // the target of a branch
  u64 count;  // retired instructions less the limit, so that a sum tells by its sign whether the limit is reached
  u32 place;  // of the window of the instruction's accesses
  u64 x[kSlotCount];
  u64 vectors[64];
  u64 fields[(int)SystemField::count];

  using Fp = NativeFpContext<false>;
  MYR_FN bool give_up() { return false; }

  MYR_FN u64 r(u32 slot) const { return slot == kSlotZero ? 0 : x[slot]; }
  MYR_FN void set_r(u32 slot, u64 value) {
    if (slot != kSlotDiscard) lane->r[slot] = x[slot] = value;
  }
  MYR_FN u64 v(u32 n, u32 half) const { return vectors[2 * n + half]; }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = vectors[2 * n + half] = value; }
  MYR_FN u64 system(SystemField field) const { return fields[(int)field]; }
  MYR_FN void set_system(SystemField field, u64 value) { lane->system[(int)field] = fields[(int)field] = value; }
  MYR_FN u64 pc() const { return at; }
  /// Volatile, so that the limit takes no register while the region runs.
  MYR_FN u64 retired() const { return count + *(const volatile u64*)&lane->region_limit; }

  MYR_FN PagedMemory<1> memory() const { return lane->memory(); }
  MYR_FN bool readable(u64 address, u32 bytes, u8*& at) const {
    if (!kUsesWindows) return lane->find_readable(address, bytes, at);
    return bytes <= kLongestAccess && lane->windows.at[place].find_readable(address, at);
  }
  MYR_FN bool writable(u64 address, u32 bytes, u8*& at) const {
    if (!kUsesWindows) return lane->find_writable(address, bytes, at);
    return bytes <= kLongestAccess && lane->windows.at[place].find_writable(address, at);
  }
  MYR_FN u32 slow_size(u32 size) const { return kUsesWindows ? size | (place + 1) << kPlaceShift : size; }
  MYR_FN SlowLoad load_slow(u64 address, u32 size) { return translate::load_slow(lane, address, slow_size(size)); }
  MYR_FN bool store_slow(u64 address, u64 value, u32 size) {
    return translate::store_slow(lane, address, value, slow_size(size));
  }
  MYR_FN bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return translate::store_pair_slow(lane, address, first, second, slow_size(size));
  }

  MYR_FN Outcome branch_relative(i64) { return Outcome::branch; }  // the region knows the target
  MYR_FN Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode code, u32 detail, u64 address) {
    lane->stop = stop_record(code, detail, address);
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() { return stop(StopCode::undefined, 0, 0); }
};
static_assert(Cpu<HostCpu>);

}  // namespace myriarm::translate
