// SPDX-License-Identifier: Apache-2.0
// Compares soft-float with recorded results of QEMU: checksums of result and FPSR for 10,000 hard cases of each
// instruction.
#include <gtest/gtest.h>

#include "core/fp/arithmetic.h"
#include "core/fp/compare.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/estimate.h"
#include "core/fp/fused.h"
#include "fp/cases.h"

namespace myriarm {
namespace {

using Compute = u64 (*)(const FpCase& fp_case, FpContext& ctx);

struct Recorded {
  const char* name;
  int width;
  Compute compute;
  u64 checksum;
};

const Recorded kRecorded[] = {
#define FP_RECORDED(name, width, word, result, expression, checksum)                  \
  {#name, width,                                                                      \
   [](const FpCase& fp_case, FpContext& ctx) -> u64 {                                 \
     [[maybe_unused]] u64 a = fp_case.a, b = fp_case.b, c = fp_case.c, x = fp_case.x; \
     return expression;                                                               \
   },                                                                                 \
   checksum},
#include "fp/recorded.inc"
#undef FP_RECORDED
};

TEST(FpRecorded, AsQemu) {
  for (const Recorded& recorded : kRecorded) {
    FpCases cases(recorded.width, 1);
    u64 sum = 0;
    for (int i = 0; i < 10000; i++) {
      FpCase fp_case = cases.next();
      FpContext ctx = {fp_case.fpcr, 0};
      sum = (sum ^ recorded.compute(fp_case, ctx)) * 0x9E3779B97F4A7C15u;
      sum ^= sum >> 29;
      sum = (sum ^ ctx.exceptions) * 0xBF58476D1CE4E5B9u;
      sum ^= sum >> 32;
    }
    EXPECT_EQ(sum, recorded.checksum) << recorded.name;
  }
}

}  // namespace
}  // namespace myriarm
