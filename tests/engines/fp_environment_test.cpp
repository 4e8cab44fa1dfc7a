// SPDX-License-Identifier: Apache-2.0
// Guest arithmetic does not depend on the floating-point environment of the calling thread (rounding mode, flushing of
// denormals), and the caller's environment is unchanged afterwards.
#include <cfenv>

#include "fleet_fixture.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace fleet_test {
namespace {

constexpr uint64_t kOne = 0x3FF0000000000000, kThree = 0x4008000000000000;
constexpr uint64_t kIXC = 16;  // of FPSR: from then on an engine may use the host's arithmetic

/// Results of 1 and 3 in D registers, and of 1 and 3 in S16 and S17.
std::vector<uint64_t> run_arithmetic(uint32_t lanes) {
  Fleet fleet = fleet_of({0x1E622820,  // fadd d0, d1, d2
                          0x1E621823,  // fdiv d3, d1, d2
                          0x1E61C044,  // fsqrt d4, d2
                          0x1E630865,  // fmul d5, d3, d3
                          0x1F430466,  // fmadd d6, d3, d3, d1
                          0x1E624067,  // fcvt s7, d3
                          0x1E311A08,  // fdiv s8, s16, s17
                          0x9E620149,  // scvtf d9, x10
                          0x1E7F2BEA,  // fadd d10, d31, d31: twice the smallest denormal
                          guest::hlt(1)},
                         lanes);
  fleet.fill(myriarm::v_low(1), kOne);
  fleet.fill(myriarm::v_low(2), kThree);
  fleet.fill(myriarm::v_low(16), 0x3F800000);
  fleet.fill(myriarm::v_low(17), 0x40400000);
  fleet.fill(myriarm::v_low(31), 1);
  fleet.fill(x(10), 0x7FFFFFFFFFFFFFFF);
  fleet.fill(Field::fpsr, kIXC);
  fleet.run();
  std::vector<uint64_t> results;
  for (unsigned n : {0, 3, 4, 5, 6, 7, 8, 9, 10}) results.push_back(fleet.get(myriarm::v_low(n), lanes - 1));
  results.push_back(fleet.get(Field::fpsr, lanes - 1));
  return results;
}

// As IEEE 754 says, to nearest.
const std::vector<uint64_t> kExpected = {0x4010000000000000,
                                         0x3FD5555555555555,
                                         0x3FFBB67AE8584CAA,
                                         0x3FBC71C71C71C71C,
                                         0x3FF1C71C71C71C72,
                                         0x3EAAAAAB,
                                         0x3EAAAAAB,
                                         0x43E0000000000000,
                                         2,
                                         kIXC};

TEST(FpEnvironment, TheRoundingModeOfTheCallerIsNotTheGuests) {
  for (uint32_t lanes : {1u, 40u}) {
    for (int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const std::vector<uint64_t> results = run_arithmetic(lanes);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(results, kExpected) << "mode " << mode << ", " << lanes << " lanes";
      EXPECT_EQ(after, mode);
    }
  }
}

TEST(FpEnvironment, TheExceptionsOfTheGuestAreNotTheCallers) {
  Fleet fleet = fleet_of({0x1E612820, guest::hlt(1)});  // fadd d0, d1, d1
  fleet.fill(myriarm::v_low(1), 0x7FEFFFFFFFFFFFFF);
  fleet.fill(Field::fpsr, kIXC);
  std::feclearexcept(FE_ALL_EXCEPT);
  fleet.run();
  EXPECT_EQ(fleet.get(Field::fpsr, 0), kIXC | 4);
  EXPECT_EQ(std::fetestexcept(FE_OVERFLOW), 0);
}

#if defined(__x86_64__)
TEST(FpEnvironment, WhatTheCallerFlushesTheGuestKeeps) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zeros
  const std::vector<uint64_t> results = run_arithmetic(40);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(results, kExpected);
  EXPECT_EQ(after & 0x8040, 0x8040u);
}
#endif

}  // namespace
}  // namespace fleet_test
