// SPDX-License-Identifier: Apache-2.0
// What instructions read and write whatever their operands are, and which registers are live at the blocks of a region.
#include "translate/liveness.h"

#include <gtest/gtest.h>

#include "isa/decoder.h"

namespace myriarm::translate {
namespace {

Effects effects_of_word(u32 word) { return effects_of(decode(decode_table(), word)); }
constexpr u64 bit(u32 slot) { return u64{1} << slot; }

std::map<u64, LiveRegisters> live_in(const std::vector<u32>& code) {
  Shape shape;
  std::string why;
  auto fetch = [&](u64 pc, u32& word) {
    if (pc / 4 >= code.size()) return false;
    word = code[pc / 4];
    return true;
  };
  EXPECT_TRUE(find_shape(0, fetch, {}, shape, why)) << why;
  return live_registers(shape);
}

TEST(EffectsTest, TellWhatIsReadAndAlwaysWritten) {
  const Effects add = effects_of_word(0x8B020020);  // ADD X0, X1, X2
  EXPECT_EQ(add.reads_r, bit(1) | bit(2));
  EXPECT_EQ(add.always_writes_r, bit(0));
  const Effects load = effects_of_word(0xF8408423);  // LDR X3, [X1], #8
  EXPECT_EQ(load.reads_r, bit(1));
  EXPECT_EQ(load.always_writes_r, bit(1) | bit(3));
  const Effects keep = effects_of_word(0xF2800025);  // MOVK X5, #1
  EXPECT_EQ(keep.reads_r, bit(5));
}

TEST(EffectsTest, AStoreExclusiveReadsItsDataThoughItMayBeRefused) {
  const Effects store = effects_of_word(0xC8027C20);  // STXR W2, X0, [X1]
  EXPECT_EQ(store.reads_r & (bit(0) | bit(1)), bit(0) | bit(1));
}

TEST(EffectsTest, ATableIsReadWhereItsIndicesMayPoint) {
  const Effects table = effects_of_word(0x4E032020);  // TBL V0.16B, {V1.16B, V2.16B}, V3.16B
  const u64 both_of = 3;
  for (const u32 n : {1, 2, 3}) EXPECT_EQ(table.reads_v >> (2 * n) & 3, both_of) << "V" << n;
}

TEST(LiveRegistersTest, AreThoseThatALoopMayRead) {
  const auto live = live_in({
      0xD2800000,  // 0x00: MOVZ X0, #0
      0x8B010000,  // 0x04: ADD X0, X0, X1
      0xF1000442,  // 0x08: SUBS X2, X2, #1
      0x54FFFFC1,  // 0x0C: B.NE 0x04
      0xAA0303E4,  // 0x10: MOV X4, X3
      0xD4400000,  // 0x14: HLT
  });
  EXPECT_EQ(live.at(0).r, bit(1) | bit(2) | bit(3));
  EXPECT_EQ(live.at(4).r, bit(0) | bit(1) | bit(2) | bit(3));
  EXPECT_EQ(live.at(0x10).r, bit(3));
}

}  // namespace
}  // namespace myriarm::translate
