// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/run_one.h"

#include "backends/cpu/translated/slow_paths.h"
#include "isa/row_functions.h"

namespace myriarm::cpu {
namespace {

/// The Cpu policy: registers in the LaneState, flags as regions keep them.
struct One {
  translate::LaneState* lane;
  u64 at, count;

  using Fp = NativeFpContext<false>;
  bool give_up() { return false; }

  u64 r(u32 slot) const { return lane->r[slot]; }
  void set_r(u32 slot, u64 value) { lane->r[slot] = value; }
  Flags flags() const { return lane->region_flags.flags(); }
  void set_flags(Flags flags) { lane->region_flags.set_flags(flags); }
  u64 pc() const { return at; }
  u64 retired() const { return count; }
  u64 system(SystemField field) const { return lane->system[static_cast<int>(field)]; }
  void set_system(SystemField field, u64 value) { lane->system[static_cast<int>(field)] = value; }
  u64 v(u32 n, u32 half) const { return lane->v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = value; }

  PagedMemory<1> memory() const { return lane->memory(); }
  bool readable(u64 address, u32 bytes, u8*& place) const { return lane->find_readable(address, bytes, place); }
  bool writable(u64 address, u32 bytes, u8*& place) const { return lane->find_writable(address, bytes, place); }
  SlowLoad load_slow(u64 address, u32 size) { return kSlowPaths.load(lane, address, size); }
  bool store_slow(u64 address, u64 value, u32 size) { return kSlowPaths.store(lane, address, value, size); }
  bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return kSlowPaths.store_pair(lane, address, first, second, size);
  }

  Outcome branch_relative(i64) { return Outcome::branch; }
  Outcome branch_to(u64) { return Outcome::branch; }
  Outcome stop(StopCode code, u32 detail, u64 address) {
    lane->stop = stop_record(code, detail, address);
    return Outcome::stop;
  }
  Outcome fault(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return Outcome::stop;
  }
  Outcome undefined() { return stop(StopCode::undefined, 0, 0); }
};
static_assert(Cpu<One> && FindsPlaces<One>);

}  // namespace

u64 run_one(translate::LaneState* lane, const Operands* operands, u64 pc, u64 retired) {
  One one{lane, pc, retired};
  return static_cast<u64>(kRowFunctions<One>[operands->row](one, *operands));
}

}  // namespace myriarm::cpu
