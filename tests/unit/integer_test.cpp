// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic with published results, for which no emulator is needed.
#include <gtest/gtest.h>

#include <set>

#include "core/integer/crc32.h"
#include "core/system/id_registers.h"
#include "isa/forms/data_processing.h"

namespace myriarm {
namespace {

/// The check value of a CRC: of "123456789", inverted before and after.
template <u32 kPolynomial>
u32 check_value() {
  u32 remainder = ~0u;
  for (char c : {'1', '2', '3', '4', '5', '6', '7', '8', '9'}) {
    remainder = crc_update<kPolynomial, 8>(remainder, static_cast<u8>(c));
  }
  return ~remainder;
}

TEST(Crc32, CheckValues) {
  EXPECT_EQ(check_value<kCrc32>(), 0xCBF43926u);
  EXPECT_EQ(check_value<kCrc32C>(), 0xE3069283u);
}

TEST(Crc32, WidthsAgree) {
  u32 by_bytes = 0x12345678;
  for (u32 byte : {0xEFu, 0xBEu, 0xADu, 0xDEu}) by_bytes = crc_update<kCrc32C, 8>(by_bytes, byte);
  u32 by_halves = crc_update<kCrc32C, 16>(crc_update<kCrc32C, 16>(0x12345678, 0xBEEF), 0xDEAD);
  EXPECT_EQ(by_bytes, by_halves);
  EXPECT_EQ(by_bytes, (crc_update<kCrc32C, 32>(0x12345678, 0xDEADBEEF)));
}

// A run of 1 to e - 1 ones at any of e rotations, for elements of e = 2, 4, ... bits: the sum of e * (e - 1).
TEST(BitMask, AsManyAsThereAre) {
  std::set<u64> masks64, masks32;
  u32 accepted = 0;
  for (u32 n = 0; n < 2; n++) {
    for (u32 imms = 0; imms < 64; imms++) {
      for (u32 immr = 0; immr < 64; immr++) {
        u64 mask = 0;
        if (!decode_bit_mask(n, imms, immr, mask)) continue;
        accepted++;
        masks64.insert(mask);
        if (n == 0) masks32.insert(mask & 0xFFFFFFFF);
      }
    }
  }
  EXPECT_EQ(masks64.size(), 5334u);
  EXPECT_EQ(masks32.size(), 1302u);
  EXPECT_EQ(accepted, 64u * (63 + 31 + 15 + 7 + 3 + 1));
  EXPECT_EQ(masks64.count(0) + masks64.count(~u64{0}), 0u);
}

TEST(BitMask, Examples) {
  u64 mask = 0;
  ASSERT_TRUE(decode_bit_mask(0, 0b111100, 1, mask));
  EXPECT_EQ(mask, 0xAAAAAAAAAAAAAAAAu);
  ASSERT_TRUE(decode_bit_mask(1, 0, 63, mask));
  EXPECT_EQ(mask, 2u);
  ASSERT_TRUE(decode_bit_mask(0, 0b000111, 4, mask));
  EXPECT_EQ(mask, 0xF000000FF000000Fu);
  EXPECT_FALSE(decode_bit_mask(1, 63, 0, mask));
  EXPECT_FALSE(decode_bit_mask(0, 0b111110, 0, mask));
}

TEST(SystemKey, IsTheFieldOfTheWord) {
  constexpr u32 kMrsTpidr = 0xD53BD040;  // mrs x0, tpidr_el0
  EXPECT_EQ(kMrsTpidr >> 5 & 0xFFFF, system_key(3, 3, 13, 0, 2));
}

}  // namespace
}  // namespace myriarm
