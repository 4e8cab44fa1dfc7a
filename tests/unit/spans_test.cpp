// SPDX-License-Identifier: Apache-2.0
// Which accesses of a block lie near each other, and what an instruction says of its address.
#include "translate/spans.h"

#include <gtest/gtest.h>

#include "isa/decoder.h"

namespace myriarm::translate {
namespace {

Block block_of(const std::vector<u32>& code) {
  Block block;
  for (const u32 word : code) {
    Instruction at;
    at.pc = 4 * block.instructions.size();
    at.word = word;
    at.operands = decode(decode_table(), word);
    at.effects = effects_of(at.operands);
    block.instructions.push_back(at);
  }
  return block;
}
Effects effects_of_word(u32 word) { return effects_of(decode(decode_table(), word)); }

TEST(Effects, SayWhereAnAccessLiesBehindItsRegister) {
  const Effects load = effects_of_word(0xF9400C23);  // LDR X3, [X1, #24]
  EXPECT_EQ(load.base, 1u);
  EXPECT_EQ(load.offset, 24);
  EXPECT_EQ(load.parts, 1u);
  EXPECT_FALSE(load.steps);
  const Effects pair = effects_of_word(0xA9BD7BFD);  // STP X29, X30, [SP, #-48]!
  EXPECT_EQ(pair.base, u32{kSlotSP});
  EXPECT_EQ(pair.offset, -48);
  EXPECT_EQ(pair.parts, 2u);
  EXPECT_TRUE(pair.steps);
  EXPECT_EQ(pair.step, -48);
  const Effects vector = effects_of_word(0x3CC10400);  // LDR Q0, [X0], #16
  EXPECT_EQ(vector.base, 0u);
  EXPECT_EQ(vector.offset, 0);
  EXPECT_EQ(vector.access_size * vector.parts, 16u);
  EXPECT_EQ(vector.step, 16);
  const Effects add = effects_of_word(0xD1002042);  // SUB X2, X2, #8
  EXPECT_TRUE(add.steps);
  EXPECT_EQ(add.step, -8);
}

TEST(Effects, SayNothingOfAnAddressThatDependsOnMore) {
  for (const u32 word : {0xF8626823u,     // LDR X3, [X1, X2]
                         0x58000043u,     // LDR X3, 0x8
                         0x8B020021u,     // ADD X1, X1, X2
                         0x11000421u}) {  // ADD W1, W1, #1
    EXPECT_EQ(effects_of_word(word).base, Effects::kNoBase) << std::hex << word;
  }
  EXPECT_EQ(effects_of_word(0x0CDF0020).parts, 0u);  // in many parts: LD4 {V0.8B-V3.8B}, [X1], #32
}

TEST(Spans, ReachOverWhatStepsTheirRegister) {
  const Spans spans = spans_of(block_of({
      0xF9400022,  // LDR X2, [X1]
      0x9100E021,  // ADD X1, X1, #56
      0xFC5F8020,  // LDUR D0, [X1, #-8]
      0x3C9E0023,  // STUR Q3, [X1, #-32]
      0xB9400064,  // LDR W4, [X3]
  }));
  ASSERT_EQ(spans.spans.size(), 1u);
  EXPECT_EQ(spans.spans[0].base, 1u);
  EXPECT_EQ(spans.spans[0].begin, 0);
  EXPECT_EQ(spans.spans[0].bytes, 56u);
  EXPECT_TRUE(spans.spans[0].loads && spans.spans[0].stores);
  EXPECT_EQ(spans.accesses, (std::map<u64, u32>{{0, 0}, {8, 0}, {12, 0}}));
}

TEST(Spans, EndWhereTheirRegisterBecomesUnknown) {
  const Spans spans = spans_of(block_of({
      0xF9400022,  // LDR X2, [X1]
      0xF9400421,  // LDR X1, [X1, #8]
      0xF9400823,  // LDR X3, [X1, #16]
  }));
  ASSERT_EQ(spans.spans.size(), 1u);
  EXPECT_EQ(spans.spans[0].bytes, 16u);
  EXPECT_EQ(spans.accesses, (std::map<u64, u32>{{0, 0}, {4, 0}}));
}

TEST(Spans, LeaveOutWhatLiesElsewhereOrAcrossGranules) {
  const Spans spans = spans_of(block_of({
      0xF9400022,  // LDR X2, [X1]
      0xF9440022,  // LDR X2, [X1, #2048]
      0xF8404023,  // LDUR X3, [X1, #4]
      0x39401424,  // LDRB W4, [X1, #5]
  }));
  ASSERT_EQ(spans.spans.size(), 1u);
  EXPECT_EQ(spans.spans[0].bytes, 8u);
  EXPECT_EQ(spans.accesses, (std::map<u64, u32>{{0, 0}, {12, 0}}));
}

TEST(Spans, WithoutAnAccessOfAGranuleAreLeftOutOnRequest) {
  const Block block = block_of({
      0x79400025,  // LDRH W5, [X1]
      0x79400423,  // LDRH W3, [X1, #2]
      0xF9400044,  // LDR X4, [X2]
      0x79402045,  // LDRH W5, [X2, #16]
  });
  EXPECT_EQ(spans_of(block).accesses.size(), 4u);
  EXPECT_EQ(spans_of(block, true).accesses, (std::map<u64, u32>{{8, 0}, {12, 0}}));
}

}  // namespace
}  // namespace myriarm::translate
