// SPDX-License-Identifier: Apache-2.0
// Every row's semantics as a function of its own, over a machine in memory. clang compiles it to LLVM bitcode, for the
// host and for NVPTX: freestanding, without headers of CUDA or of a C library.
#include "core/semantics.h"
#include "row_machine.h"

namespace myriarm::bitcode {
namespace {

/// The Cpu policy.
struct RowCpu {
  using Fp = NativeFpContext<false>;
  MYR_FN bool give_up() { return false; }

  RowMachine* machine;

  MYR_FN u64 r(u32 slot) const { return machine->x[slot]; }
  MYR_FN void set_r(u32 slot, u64 value) { machine->x[slot] = value; }
  MYR_FN Flags flags() const { return unpack_flags((u32)machine->nzcv); }
  MYR_FN void set_flags(Flags flags) { machine->nzcv = pack_flags(flags); }
  MYR_FN u64 pc() const { return machine->pc; }
  MYR_FN u64 retired() const { return machine->retired; }
  MYR_FN u64 system(SystemField field) const { return machine->system[(int)field]; }
  MYR_FN void set_system(SystemField field, u64 value) { machine->system[(int)field] = value; }
  MYR_FN u64 v(u32 n, u32 half) const { return machine->v[2 * n + half]; }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { machine->v[2 * n + half] = value; }

  MYR_FN auto memory() const { return machine->memory(); }
  MYR_FN SlowLoad load_slow(u64 address, u32 size) {
    u64 value = 0;
    const bool done = myriarm_load_slow(machine, address, size, &value);
    return {value, done};
  }
  MYR_FN bool store_slow(u64 address, u64 value, u32 size) { return myriarm_store_slow(machine, address, value, size); }
  MYR_FN bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return myriarm_store_pair_slow(machine, address, first, second, size);
  }

  MYR_FN Outcome branch_relative(i64 offset) { return branch_to(machine->pc + (u64)offset); }
  MYR_FN Outcome branch_to(u64 address) {
    machine->target = address;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode code, u32 detail, u64 address) {
    machine->stop = {code, FaultCode::none, 0, detail, address};
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 address) {
    machine->stop = {StopCode::fault, fault, 0, 0, address << 8 >> 8};
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() { return stop(StopCode::undefined, 0, 0); }  // the test adds the word
};

static_assert(Cpu<RowCpu>);

}  // namespace
}  // namespace myriarm::bitcode

#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature)                                                         \
  myriarm::Outcome myriarm_row_##name(myriarm::bitcode::RowMachine* machine, const myriarm::Operands* operands) { \
    using namespace myriarm;                                                                                      \
    bitcode::RowCpu cpu{machine};                                                                                 \
    return semantics(cpu, *operands);                                                                             \
  }
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
