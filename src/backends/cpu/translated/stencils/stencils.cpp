// SPDX-License-Identifier: Apache-2.0
// The stencils: functions whose machine code, with its holes filled in and one behind the other, is translated code. Each
// ends with a jump to the next one. clang compiles this file to an object that the library contains as data; nothing links it.
// docs/design/copied-code.md says why. Names: stencil_table.h.
#include "backends/cpu/translated/stencils/stencil_cpu.h"

using namespace myriarm;
using namespace myriarm::cpu;
using translate::EntryPoint;
using translate::RegionEnd;

// a, b: the operands of the FlagSource; c: the result of the last condition, for the next stencil alone.
#define MYR_PASSED LaneState *lane, u64 count, u64 a, u64 b, u64 c
#define MYR_STENCIL extern "C" __attribute__((preserve_none)) u64
#define MYR_GO(hole) [[clang::musttail]] return ((Stencil*)(hole_##hole))(lane, count, a, b, c)
using Stencil = __attribute__((preserve_none)) u64(MYR_PASSED);

namespace {

/// The Operands of a stencil: register holes, and what is known of the immediate.
MYR_FN Operands operands_with(u64 imm) {
  Operands o = {};
  o.rd = kHoleD;
  o.rn = kHoleN;
  o.rm = kHoleM;
  o.ra = kHoleA;
  o.imm = imm;
  return o;
}
MYR_FN Operands operands_with_halves() {
  Operands o = operands_with(0);
  o.offset = (i32)MYR_OPAQUE("movl", u32, low);
  o.aux = MYR_OPAQUE("movl", u32, high);
  return o;
}
MYR_FN StencilCpu cpu_of(MYR_PASSED) {
  StencilCpu cpu;
  cpu.lane = lane;
  cpu.count = count;
  cpu.set_source(FlagKind::packed, a, b);
  cpu.condition_result = c != 0;
  return cpu;
}
MYR_FN translate::FlagSource<1> flags_of(FlagKind kind, u64 a, u64 b) {
  translate::FlagSource<1> flags;
  flags.set_source(kind, a, b);
  return flags;
}

}  // namespace

// An instruction that does not branch.
#define MYR_ROW(symbol, semantics, operands)       \
  MYR_STENCIL symbol(MYR_PASSED) {                 \
    StencilCpu cpu = cpu_of(lane, count, a, b, c); \
    const Operands o = operands;                   \
    (void)(semantics)(cpu, o);                     \
    if (MYR_UNLIKELY(cpu.missed)) MYR_GO(slow);    \
    a = cpu.operand1;                              \
    b = cpu.operand2;                              \
    MYR_GO(next);                                  \
  }
// Of rows with many kinds of immediates, the stencils that know most of it; of others the two that serve all.
#define MYR_ROWS(name, semantics)                                                    \
  MYR_ROW(zero_##name, semantics, operands_with(0))                                  \
  MYR_ROW(small_##name, semantics, operands_with((u64)hole_imm))                     \
  MYR_ROW(whole_##name, semantics, operands_with(MYR_OPAQUE("movabsq", u64, imm64))) \
  MYR_ROW(halves_##name, semantics, operands_with_halves())
#define MYR_FEW_ROWS(name, semantics)               \
  MYR_ROW(zero_##name, semantics, operands_with(0)) \
  MYR_ROW(halves_##name, semantics, operands_with_halves())

#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature) MYR_ROWS(name, semantics)
#include "isa/a64_data_processing.inc"
#include "isa/a64_load_store.inc"
#undef A64
#define A64(name, syntax, bits, form, semantics, feature) MYR_FEW_ROWS(name, semantics)
#include "isa/a64_crypto.inc"
#include "isa/a64_floating_point.inc"
#include "isa/a64_simd.inc"
#undef A64
#undef GROUP
#undef UNDEFINED

// Instructions with operands that the interpreter has kinds for, too: shifts and extensions of registers.
#define A64(name, syntax, bits, form, semantics, feature)  \
  struct Do_kRow_##name {                                  \
    template <class C>                                     \
    MYR_FN static Outcome run(C& cpu, const Operands& o) { \
      return semantics(cpu, o);                            \
    }                                                      \
  };
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#include "isa/a64.inc"
#undef A64
#undef GROUP
#undef UNDEFINED
struct Do_kKind_near_B_only_condbranch : Do_kRow_B_only_condbranch {};
#define NEAR(row)
#define FUSE(name, first, second)
#define PIN(name, from, condition, pins)                          \
  struct Do_kKind_##name {                                        \
    template <class C>                                            \
    MYR_FN static Outcome run(C& cpu, const Operands& operands) { \
      Operands o = operands;                                      \
      pins;                                                       \
      return Do_##from::run(cpu, o);                              \
    }                                                             \
  };                                                              \
  MYR_ROW(pinned_##name, Do_kKind_##name::run, operands_with_halves())
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef FUSE
#undef PIN

// Branches to a known address.
#define BRANCH(name)                                                          \
  MYR_STENCIL branch_##name(MYR_PASSED) {                                     \
    StencilCpu cpu = cpu_of(lane, count, a, b, c);                            \
    const Outcome outcome = Do_kRow_##name::run(cpu, operands_with_halves()); \
    if (MYR_UNLIKELY(outcome == Outcome::branch)) MYR_GO(taken);              \
    MYR_GO(next);                                                             \
  }
BRANCH(CBZ_32_compbranch)
BRANCH(CBNZ_32_compbranch)
BRANCH(CBZ_64_compbranch)
BRANCH(CBNZ_64_compbranch)
BRANCH(TBZ_only_testbranch)
BRANCH(TBNZ_only_testbranch)
#undef BRANCH

// BL: what it does besides branching.
MYR_STENCIL link(MYR_PASSED) {
  StencilCpu cpu = cpu_of(lane, count, a, b, c);
  (void)Do_kRow_BL_only_branch_imm::run(cpu, operands_with(0));
  MYR_GO(next);
}

// Branches to an address in a register: the lane goes on in copied code if there is some.
#define LEAVE_FOR(address, point)                                                 \
  do {                                                                            \
    if (MYR_LIKELY(point != nullptr && point->inside != nullptr)) {               \
      [[clang::musttail]] return ((Stencil*)point->inside)(lane, count, a, b, c); \
    }                                                                             \
    lane->pc = address;                                                           \
    lane->retired = count + lane->region_limit;                                   \
    lane->region_flags.operand1 = a;                                              \
    lane->region_flags.operand2 = b;                                              \
    lane->next_point = point;                                                     \
    return (u64)(point != nullptr ? RegionEnd::goes_on : RegionEnd::left);        \
  } while (0)
#define INDIRECT(name)                                                               \
  MYR_STENCIL indirect_##name(MYR_PASSED) {                                          \
    StencilCpu cpu = cpu_of(lane, count, a, b, c);                                   \
    (void)Do_kRow_##name::run(cpu, operands_with(0));                                \
    const EntryPoint* point = (i64)count < 0 ? lane->entries.at(cpu.next) : nullptr; \
    LEAVE_FOR(cpu.next, point);                                                      \
  }
INDIRECT(BR_64_branch_reg)
INDIRECT(BLR_64_branch_reg)
INDIRECT(RET_64R_branch_reg)
#undef INDIRECT

// Leaves the region for a known address, in the area of code of the region or out of it.
MYR_STENCIL leave_within(MYR_PASSED) {
  const EntryPoint* point = nullptr;
  if ((i64)count < 0) {
    point = __atomic_load_n((const EntryPoint* const*)((const u8*)lane->entries.points + (u64)hole_point),
                            __ATOMIC_ACQUIRE);
  }
  const u64 pc = MYR_OPAQUE("movabsq", u64, pc);
  LEAVE_FOR(pc, point);
}
MYR_STENCIL leave(MYR_PASSED) {
  (void)c;
  lane->region_flags.operand1 = a;
  lane->region_flags.operand2 = b;
  lane->pc = MYR_OPAQUE("movabsq", u64, pc);
  lane->retired = count + lane->region_limit;
  return (u64)RegionEnd::left;
}

// At the first instruction of a loop: whether the limit is reached, or larger code begins here.
MYR_STENCIL loop(MYR_PASSED) {
  if (MYR_UNLIKELY((i64)count >= 0 || *(const volatile u8*)MYR_OPAQUE("movabsq", u64, flag) != 0)) MYR_GO(leave);
  MYR_GO(next);
}
MYR_STENCIL retire(MYR_PASSED) {
  count += (u64)hole_retired;
  MYR_GO(next);
}

// Runs an instruction that has no stencil, or whose stencil has given up.
#define CALL(symbol, after)                                                                                  \
  MYR_STENCIL symbol(MYR_PASSED) {                                                                           \
    auto* run = (u64(*)(LaneState*, const Operands*, u64, u64))MYR_OPAQUE("movabsq", u64, function);         \
    const u64 pc = MYR_OPAQUE("movabsq", u64, pc), retired = count + lane->region_limit + (u64)hole_retired; \
    const u64 outcome = run(lane, (const Operands*)MYR_OPAQUE("movabsq", u64, operands), pc, retired);       \
    if (MYR_UNLIKELY(outcome == (u64)Outcome::stop)) {                                                       \
      lane->pc = MYR_OPAQUE("movabsq", u64, pc);                                                             \
      lane->retired = count + lane->region_limit + (u64)hole_retired;                                        \
      return (u64)RegionEnd::stopped;                                                                        \
    }                                                                                                        \
    after;                                                                                                   \
    MYR_GO(next);                                                                                            \
  }
CALL(call, (void)0)
CALL(call_for_flags, a = pack_flags(lane->region_flags.flags()))
#undef CALL

// From C++ into copied code. `number` is the address of the code.
extern "C" u64 enter(LaneState* lane, u64 number, u64 count) {
  const u64 end = ((Stencil*)number)(lane, count, lane->region_flags.operand1, lane->region_flags.operand2, 0);
  lane->retired_in_copied += lane->retired - lane->region_limit - count;
  if (end != (u64)RegionEnd::goes_on) return end;
  const EntryPoint* point = lane->next_point;
  [[clang::musttail]] return ((decltype(&enter))point->run)(lane, point->number, lane->retired - lane->region_limit);
}

// Flags: a and b are the operands of their source. Its kind is known to the translator, or else it is in the LaneState.
// Between regions it is there.
MYR_STENCIL pack_flags_noted(MYR_PASSED) {
  translate::FlagSource<1> flags = flags_of(FlagKind::packed, a, b);
  flags.source = lane->region_flags.source;
  a = pack_flags(flags.flags());
  MYR_GO(next);
}
MYR_STENCIL store_flags_noted(MYR_PASSED) {
  lane->region_flags.operand1 = a;
  lane->region_flags.operand2 = b;
  MYR_GO(next);
}
#define CONDITION(kind, number)                                                               \
  MYR_STENCIL holds_##kind##_##number(MYR_PASSED) {                                           \
    c = flags_of(FlagKind::kind, a, b).holds(number);                                         \
    MYR_GO(next);                                                                             \
  }                                                                                           \
  MYR_STENCIL branch_##kind##_##number(MYR_PASSED) {                                          \
    if (MYR_UNLIKELY(flags_of(FlagKind::kind, a, b).holds(number))) MYR_GO(taken);            \
    MYR_GO(next);                                                                             \
  }                                                                                           \
  MYR_STENCIL select32_##kind##_##number(MYR_PASSED) {                                        \
    StencilCpu cpu = cpu_of(lane, count, a, b, flags_of(FlagKind::kind, a, b).holds(number)); \
    (void)Do_kRow_CSEL_32_condsel::run(cpu, operands_with(0));                                \
    MYR_GO(next);                                                                             \
  }                                                                                           \
  MYR_STENCIL select64_##kind##_##number(MYR_PASSED) {                                        \
    StencilCpu cpu = cpu_of(lane, count, a, b, flags_of(FlagKind::kind, a, b).holds(number)); \
    (void)Do_kRow_CSEL_64_condsel::run(cpu, operands_with(0));                                \
    MYR_GO(next);                                                                             \
  }                                                                                           \
  MYR_STENCIL increment32_##kind##_##number(MYR_PASSED) {                                     \
    StencilCpu cpu = cpu_of(lane, count, a, b, flags_of(FlagKind::kind, a, b).holds(number)); \
    (void)Do_kRow_CSINC_32_condsel::run(cpu, operands_with(0));                               \
    MYR_GO(next);                                                                             \
  }
#define FLAG_KIND(kind)                                                           \
  MYR_STENCIL note_flags_##kind(MYR_PASSED) {                                     \
    lane->region_flags.source = translate::FlagSource<1>::number(FlagKind::kind); \
    MYR_GO(next);                                                                 \
  }                                                                               \
  MYR_STENCIL store_flags_##kind(MYR_PASSED) {                                    \
    lane->region_flags = flags_of(FlagKind::kind, a, b);                          \
    MYR_GO(next);                                                                 \
  }                                                                               \
  MYR_STENCIL pack_flags_##kind(MYR_PASSED) {                                     \
    a = pack_flags(flags_of(FlagKind::kind, a, b).flags());                       \
    MYR_GO(next);                                                                 \
  }                                                                               \
  CONDITION(kind, 0)                                                              \
  CONDITION(kind, 1)                                                              \
  CONDITION(kind, 2)                                                              \
  CONDITION(kind, 3)                                                              \
  CONDITION(kind, 4)                                                              \
  CONDITION(kind, 5)                                                              \
  CONDITION(kind, 6)                                                              \
  CONDITION(kind, 7)                                                              \
  CONDITION(kind, 8)                                                              \
  CONDITION(kind, 9)                                                              \
  CONDITION(kind, 10)                                                             \
  CONDITION(kind, 11)                                                             \
  CONDITION(kind, 12)                                                             \
  CONDITION(kind, 13)                                                             \
  CONDITION(kind, 14)                                                             \
  CONDITION(kind, 15)
FLAG_KIND(packed)
FLAG_KIND(add32)
FLAG_KIND(add64)
FLAG_KIND(subtract32)
FLAG_KIND(subtract64)
FLAG_KIND(logical32)
FLAG_KIND(logical64)
