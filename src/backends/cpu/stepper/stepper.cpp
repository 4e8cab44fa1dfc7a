// SPDX-License-Identifier: Apache-2.0
// The CPU's stepping engine: fetches a word, decodes it and calls its row's function, one instruction at a time.
// Nothing is predecoded, specialised or overridden, and floating point is the reference. Tests compare other engines
// with this one, and a debugger can stop between any two of its instructions.
#include "backends/cpu/stepper/stepper.h"

#include <algorithm>

#include "isa/decoder.h"
#include "isa/row_functions.h"

namespace myriarm::cpu {
namespace {

/// The Cpu policy.
struct Stepper {
  Lane* lane;
  u32 word;
  u64 next;

  using Fp = FpContext;
  bool give_up() { return false; }

  u64 r(u32 slot) const { return lane->r[slot]; }
  void set_r(u32 slot, u64 value) { lane->r[slot] = value; }
  Flags flags() const { return lane->flags(); }
  void set_flags(Flags flags) { lane->set_flags(flags); }
  u64 pc() const { return lane->pc; }
  u64 retired() const { return lane->retired; }
  u64 system(SystemField field) const { return lane->system[static_cast<int>(field)]; }
  void set_system(SystemField field, u64 value) { lane->system[static_cast<int>(field)] = value; }
  u64 v(u32 n, u32 half) const { return lane->v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = value; }

  PagedMemory<1> memory() const { return lane->memory(); }
  SlowLoad load_slow(u64 address, u32 size) { return cpu::load_slow(lane, address, size); }
  bool store_slow(u64 address, u64 value, u32 size) { return cpu::store_slow(lane, address, value, size); }
  bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return cpu::store_pair_slow(lane, address, first, second, size);
  }

  Outcome branch_relative(i64 offset) { return branch_to(pc() + static_cast<u64>(offset)); }
  Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  Outcome stop(StopCode code, u32 detail, u64 address) {
    lane->stop = stop_record(code, detail, address);
    return Outcome::stop;
  }
  Outcome fault(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return Outcome::stop;
  }
  Outcome undefined() { return stop(StopCode::undefined, 0, word); }
};
static_assert(Cpu<Stepper>);

}  // namespace

void run_stepper(Lane& lane, u64 limit, u64 quantum) {
  const DecodeTable& table = decode_table();
  for (const u64 until = std::min(limit, lane.retired + quantum); lane.retired < until; lane.retired++) {
    if (const FaultCode fault = fetch_fault(lane, lane.pc); fault != FaultCode::none) {
      lane.stop = fetch_fault_record(fault, lane.pc);
      return;
    }
    Stepper cpu{&lane, fetch_word(lane, lane.pc), lane.pc + 4};
    const Operands operands = decode(table, cpu.word);
    if (kRowFunctions<Stepper>[operands.row](cpu, operands) == Outcome::stop) return;
    lane.pc = cpu.next;
  }
}

}  // namespace myriarm::cpu
