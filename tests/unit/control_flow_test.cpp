// SPDX-License-Identifier: Apache-2.0
// Compares src/isa/control_flow.h with the semantics: every implemented row runs with random operands on a Cpu policy
// that only records, and must branch if the list says so and never otherwise.
#include "isa/control_flow.h"

#include <gtest/gtest.h>

#include "generate/generate.h"
#include "isa/decoder.h"
#include "isa/row_functions.h"
#include "isa/row_info.h"

namespace myriarm {
namespace {

/// Reads of registers and memory return random values, often zero; writes have no effect, except that of the link
/// register.
struct Probe {
  explicit Probe(Random& random_numbers) : random(random_numbers), nzcv(static_cast<u32>(random.below(16))) {}

  Random& random;
  u32 nzcv;
  bool branched = false, linked = false, ended = false;

  u64 value() { return random.one_in(4) ? 0 : random.next(); }
  u64 r(u32 slot) { return slot == kSlotZero ? 0 : value(); }
  void set_r(u32 slot, u64 written) { linked |= slot == kSlotLR && written == pc() + 4; }
  Flags flags() const { return unpack_flags(nzcv); }
  void set_flags(Flags flags) { nzcv = pack_flags(flags); }
  u64 pc() const { return 0x123450; }
  u64 retired() const { return 77; }
  u64 system(SystemField) { return value(); }
  void set_system(SystemField, u64) {}
  u64 v(u32, u32) { return value(); }
  void set_v(u32, u32, u64) {}
  PagedMemory<1> memory() const { return {nullptr, nullptr, 0, 0, 0}; }  // without pages every access is a slow one
  using Fp = FpContext;
  bool give_up() { return false; }
  SlowLoad load_slow(u64, u32) { return {value(), true}; }
  bool store_slow(u64, u64, u32) { return true; }
  bool store_pair_slow(u64, u64, u64, u32) { return true; }

  Outcome branch_relative(i64) { return branch_to(0); }
  Outcome branch_to(u64) {
    branched = true;
    return Outcome::branch;
  }
  Outcome end() {
    ended = true;
    return Outcome::stop;
  }
  Outcome stop(StopCode, u32, u64) { return end(); }
  Outcome fault(FaultCode, u64) { return end(); }
  Outcome undefined() { return end(); }
};

TEST(ControlFlow, ListsTheRowsThatBranch) {
  constexpr int kTries = 200;
  u32 rows = 0;
  for (u16 row = 1; row < kRowCount; row++) {
    const Flow flow = flow_of(row);
    const RowInfo& info = kRowInfos[row];
    if (info.status != RowStatus::implemented) {
      EXPECT_EQ(flow, Flow::next) << info.name << " has no semantics and cannot branch";
      continue;
    }
    rows++;
    Random random(row);
    int branches = 0, links = 0;
    for (int i = 0; i < kTries; i++) {
      const u32 word = generate_instruction(random, row);
      const Operands o = decode(decode_table(), word);
      ASSERT_EQ(o.row, row) << info.name << " is not generated";
      Probe cpu(random);
      const Outcome outcome = kRowFunctions<Probe>[row](cpu, o);
      ASSERT_EQ(outcome == Outcome::branch, cpu.branched) << info.name << " gives another outcome than it asked for";
      ASSERT_EQ(outcome == Outcome::stop, cpu.ended) << info.name << " stops without a reason, or goes on after one";
      branches += cpu.branched;
      links += cpu.branched && cpu.linked;
    }
    if (flow == Flow::next) {
      EXPECT_EQ(branches, 0) << info.name << " branches: add it to flow_of";
    } else {
      EXPECT_GT(branches, 0) << info.name << " never branches: take it out of flow_of";
      EXPECT_EQ(links, flow == Flow::call ? branches : 0) << info.name << ": a call, and nothing else, sets the link";
    }
  }
  EXPECT_GT(rows, 300u);
}

}  // namespace
}  // namespace myriarm
