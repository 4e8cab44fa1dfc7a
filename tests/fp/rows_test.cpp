// SPDX-License-Identifier: Apache-2.0
// Runs every row of floating-point arithmetic with overrides and without: registers, flags and FPSR must be the same,
// and an instruction that the engine has to run again must have changed nothing. Other tests of this folder compare the
// functions themselves, on many more operands.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "core/semantics.h"
#include "fp/cases.h"
#include "generate/generate.h"
#include "isa/decoder.h"
#include "isa/row_info.h"

namespace myriarm {
namespace {

struct Registers {
  std::array<u64, kSlotCount> x = {};
  std::array<u64, 64> v = {};
  u64 fpcr = 0, fpsr = 0;
  u32 nzcv = 0;
  bool operator==(const Registers&) const = default;
};

/// An engine without memory.
struct Engine {
  Registers state;
  bool gave_up = false;

  u64 r(u32 slot) const { return slot == kSlotZero ? 0 : state.x[slot]; }
  void set_r(u32 slot, u64 value) { state.x[slot] = value; }
  Flags flags() const { return unpack_flags(state.nzcv); }
  void set_flags(Flags flags) { state.nzcv = pack_flags(flags); }
  u64 pc() const { return 0x123450; }
  u64 retired() const { return 77; }
  u64 system(SystemField field) const {
    return field == SystemField::fpcr ? state.fpcr : field == SystemField::fpsr ? state.fpsr : 0;
  }
  void set_system(SystemField field, u64 value) {
    if (field == SystemField::fpcr) state.fpcr = value;
    if (field == SystemField::fpsr) state.fpsr = value;
  }
  u64 v(u32 n, u32 half) const { return state.v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { state.v[2 * n + half] = value; }
  PagedMemory<1> memory() const { return {nullptr, nullptr, 0, 0, 0}; }
  using Fp = FpContext;
  SlowLoad load_slow(u64, u32) { return {0, false}; }
  bool store_slow(u64, u64, u32) { return false; }
  bool store_pair_slow(u64, u64, u64, u32) { return false; }
  Outcome branch_relative(i64) { return Outcome::branch; }
  Outcome branch_to(u64) { return Outcome::branch; }
  Outcome stop(StopCode, u32, u64) { return Outcome::stop; }
  Outcome fault(FaultCode, u64) { return Outcome::stop; }
  Outcome undefined() { return Outcome::stop; }
  bool give_up() {
    gave_up = true;
    return false;
  }
};
struct NativeOrReference : Engine {
  using Fp = NativeFpContext<false>;
};
struct NativeOrNothing : Engine {
  using Fp = NativeFpContext<true>;
};

/// The semantics of each such row; null for all others. These are single functions, because compilers take minutes for
/// a switch over all rows.
template <class Cpu>
struct Semantics {
  Outcome (*run[kRowCount])(Cpu&, const Operands&) = {};
  Semantics() {
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature)                                        \
  if constexpr (std::string_view(#semantics).starts_with("(fp_")) {                              \
    run[kRow_##name] = [](Cpu& cpu, const Operands& o) -> Outcome { return semantics(cpu, o); }; \
  }
#include "isa/a64.inc"
#undef A64
#undef UNDEFINED
#undef GROUP
  }
};

/// Registers filled with hard numbers of one width; the numbers of one case are next to each other.
Registers random_registers(FpCases& cases, int width) {
  Registers state;
  const FpCase first = cases.next();
  // Half of the cases have FPCR 0 and IXC set, as most programs do after their first rounded result.
  const bool usual = first.x % 2 != 0;
  state.fpcr = usual ? 0 : first.fpcr;
  state.fpsr = usual ? 16 : cases.random() & 0x0800009F;
  state.nzcv = static_cast<u32>(cases.random() & 15);
  for (u64& x : state.x) x = cases.next().x;
  for (size_t n = 0; n < 64; n += 4) {
    for (int at = 0; at < 64; at += width) {
      const FpCase c = cases.next();
      state.v[n] |= c.a << at;
      state.v[n + 1] |= c.b << at;
      state.v[n + 2] |= c.b << at;
      state.v[n + 3] |= c.c << at;
    }
  }
  return state;
}

TEST(NativeRows, AreTheReference) {
  constexpr int kTries = 500;
  const Semantics<Engine> semantics;
  const Semantics<NativeOrReference> semantics_of_either;
  const Semantics<NativeOrNothing> semantics_of_only;
  u64 tried = 0, native = 0;
  for (u16 row : generatable_rows()) {
    const RowInfo& info = kRowInfos[row];
    if (semantics.run[row] == nullptr) continue;
    for (int width : {16, 32, 64}) {
      Random random(row);
      FpCases cases(width, row);
      for (int i = 0; i < kTries; i++) {
        const u32 word = generate_instruction(random, row);
        const Operands o = decode(decode_table(), word);
        const Registers before = random_registers(cases, width);
        Engine reference{before};
        NativeOrReference either{{before}};
        NativeOrNothing only{{before}};
        const Outcome outcome = semantics.run[row](reference, o);
        ASSERT_EQ(semantics_of_either.run[row](either, o), outcome) << info.name;
        ASSERT_TRUE(either.state == reference.state) << info.name << ", word " << std::hex << word;
        const Outcome tentative = semantics_of_only.run[row](only, o);
        ASSERT_EQ(tentative == Outcome::stop, only.gave_up) << info.name;
        ASSERT_TRUE(only.state == (only.gave_up ? before : reference.state))
            << info.name << (only.gave_up ? " gave up after a change" : "") << ", word " << std::hex << word;
        tried++;
        native += !only.gave_up;
      }
    }
  }
  // The bound is low, because operands are hard by design and half of the rows are half precision.
  EXPECT_GT(native * 10, tried) << "the overrides are hardly ever used";
  EXPECT_LT(native, tried);
}

}  // namespace
}  // namespace myriarm
