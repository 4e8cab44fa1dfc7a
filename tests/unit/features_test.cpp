// SPDX-License-Identifier: Apache-2.0
// What programs can read about features: the exact values of the ID registers and hwcaps. Whoever adds a feature
// changes its bits here, and no others.
#include <gtest/gtest.h>

#include "core/system/id_registers.h"
#include "myriarm/isa.h"

namespace myriarm {
namespace {

TEST(Features, IdRegistersHaveTheirFields) {
  EXPECT_EQ(id_register(system_key(3, 0, 0, 4, 0)), 0x0000000000110011u) << "ID_AA64PFR0_EL1";
  EXPECT_EQ(id_register(system_key(3, 0, 0, 6, 0)), 0x0011111110212120u) << "ID_AA64ISAR0_EL1";
  EXPECT_EQ(id_register(system_key(3, 0, 0, 6, 1)), 0x0000000000111001u) << "ID_AA64ISAR1_EL1";
}

TEST(Features, HwcapsHaveTheirBits) {
  EXPECT_EQ(hardware_capabilities().hwcap, 0x08BFFFFBu);
  EXPECT_EQ(hardware_capabilities().hwcap2, 0u);
}

}  // namespace
}  // namespace myriarm
