// SPDX-License-Identifier: Apache-2.0
// Where the loops of a region begin, and which ways go back there.
#include "translate/loops.h"

#include <gtest/gtest.h>

#include "translate/shape.h"

namespace myriarm::translate {
namespace {

using Ways = std::set<std::pair<u64, u64>>;

/// A shape for a GPU, of code from address 0 on.
Shape shape_of(const std::vector<u32>& code) {
  Shape shape;
  std::string why;
  RegionLimits limits;
  limits.calls_leave = true;
  auto fetch = [&](u64 pc, u32& word) {
    if (pc / 4 >= code.size()) return false;
    word = code[pc / 4];
    return true;
  };
  EXPECT_TRUE(find_shape(0, fetch, limits, shape, why)) << why;
  return shape;
}

TEST(Loops, ALoopWithTwoWaysBackBeginsOnce) {
  const Shape shape = shape_of({
      0xD2800000,  // 0x00: MOVZ X0, #0
      0xB4000061,  // 0x04: CBZ X1, 0x10
      0xF1000442,  // 0x08: SUBS X2, X2, #1
      0x54FFFFC1,  // 0x0C: B.NE 0x04
      0xF1000442,  // 0x10: SUBS X2, X2, #1
      0x54FFFF81,  // 0x14: B.NE 0x04
      0xD4400000,  // 0x18: HLT
  });
  EXPECT_EQ(shape.loops.back, (Ways{{0x08, 0x04}, {0x10, 0x04}}));
  EXPECT_EQ(shape.loops.outermost, std::set<u64>{0x04});
  EXPECT_TRUE(shape.loops.tests.empty());
  EXPECT_EQ(shape.entries, (std::vector<u64>{0x00, 0x04}));
  EXPECT_EQ(shape.longest_run(), shape.instructions);
}

TEST(Loops, ABranchToLowerAddressesThatSharesCodeIsNone) {
  const Shape shape = shape_of({
      0xB4000061,  // 0x00: CBZ X1, 0x0C
      0xD2800000,  // 0x04: MOVZ X0, #0
      0xD65F03C0,  // 0x08: RET
      0xD2800021,  // 0x0C: MOVZ X1, #1
      0x17FFFFFD,  // 0x10: B 0x04
  });
  EXPECT_TRUE(shape.loops.back.empty());
  EXPECT_TRUE(shape.loops.outermost.empty());
  EXPECT_EQ(shape.entries, std::vector<u64>{0x00});
}

TEST(Loops, NobodyEntersARegionInsideOfALoopInALoop) {
  const Shape shape = shape_of({
      0xD2800143,  // 0x00: MOVZ X3, #10
      0xD2800142,  // 0x04: MOVZ X2, #10, where the outer loop begins
      0xB4000061,  // 0x08: CBZ X1, 0x14, where the inner one does
      0x8B010000,  // 0x0C: ADD X0, X0, X1
      0xB4000040,  // 0x10: CBZ X0, 0x18
      0x91000400,  // 0x14: ADD X0, X0, #1
      0xF1000442,  // 0x18: SUBS X2, X2, #1
      0x54FFFF61,  // 0x1C: B.NE 0x08
      0xF1000463,  // 0x20: SUBS X3, X3, #1
      0x54FFFF01,  // 0x24: B.NE 0x04
      0xD4400000,  // 0x28: HLT
  });
  EXPECT_EQ(shape.loops.back, (Ways{{0x18, 0x08}, {0x20, 0x04}}));
  EXPECT_TRUE(shape.loops.tests.empty());
  EXPECT_EQ(shape.loops.outermost, std::set<u64>{0x04});
  EXPECT_EQ(shape.entries, (std::vector<u64>{0x00, 0x04}));
}

/// As gcc writes a loop whose test stands in front of it, and is repeated at one of its ends.
TEST(Loops, ATestInFrontOfALoopIsCopiedForTheWayIntoIt) {
  const Shape shape = shape_of({
      0xEB03005F,  // 0x00: CMP X2, X3
      0x540000EC,  // 0x04: B.GT 0x20
      0x91000442,  // 0x08: ADD X2, X2, #1, where the loop begins
      0xB4FFFFA1,  // 0x0C: CBZ X1, 0x00
      0x91000842,  // 0x10: ADD X2, X2, #2
      0xEB03005F,  // 0x14: CMP X2, X3
      0x54FFFF8D,  // 0x18: B.LE 0x08
      0xD503201F,  // 0x1C: NOP
      0xD4400000,  // 0x20: HLT
  });
  EXPECT_EQ(shape.loops.back, (Ways{{0x00, 0x08}, {0x10, 0x08}}));
  EXPECT_EQ(shape.loops.outermost, std::set<u64>{0x08});
  ASSERT_EQ(shape.loops.tests.size(), 1u);
  EXPECT_EQ(shape.loops.tests.at(0x00), (std::set<u64>{0x00, 0x08, 0x10}));
  EXPECT_EQ(shape.longest_run(), shape.instructions + 2);
}

/// Lanes come back behind an instruction that another engine runs, wherever it is.
TEST(Loops, LanesResumeWhereTheyHaveToAndTheLoopGoesOnFromThere) {
  const Shape shape = shape_of({
      0xD2800000,  // 0x00: MOVZ X0, #0
      0xB4000041,  // 0x04: CBZ X1, 0x0C
      0xD4000001,  // 0x08: SVC #0
      0xF1000442,  // 0x0C: SUBS X2, X2, #1
      0x54FFFFA1,  // 0x10: B.NE 0x04
      0xD4400000,  // 0x14: HLT
  });
  EXPECT_EQ(shape.loops.back, (Ways{{0x0C, 0x04}}));
  EXPECT_EQ(shape.entries, (std::vector<u64>{0x00, 0x04, 0x0C}));
}

}  // namespace
}  // namespace myriarm::translate
