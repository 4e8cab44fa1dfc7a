// SPDX-License-Identifier: Apache-2.0
// Compares every scalar floating-point instruction on the device under test (MYRIARM_TEST_DEVICE) with the reference
// computed on the host: hard operands in every mode, and operands near the limits of the device's native arithmetic.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "core/fp/arithmetic.h"
#include "core/fp/compare.h"
#include "core/fp/convert.h"
#include "core/fp/divide.h"
#include "core/fp/estimate.h"
#include "core/fp/fused.h"
#include "fp/cases.h"
#include "fp/operands.h"
#include "myriarm/myriarm.h"

namespace myriarm {
namespace {

struct Row {
  const char* name;
  int width;
  u32 word;  // Rd, Rn, Rm, Ra are registers 0 to 3
  char where;
  u64 (*compute)(const FpCase& fp_case, FpContext& ctx);
};

const Row kRows[] = {
#define FP_RECORDED(name, width, word, where, expression, checksum)                   \
  {#name, width, word, where, [](const FpCase& fp_case, FpContext& ctx) -> u64 {      \
     [[maybe_unused]] u64 a = fp_case.a, b = fp_case.b, c = fp_case.c, x = fp_case.x; \
     return expression;                                                               \
   }},
#include "fp/recorded.inc"
#undef FP_RECORDED
};

constexpr u32 kHlt = 0xD4400000;
constexpr u64 kCode = 0x10000;

/// A program with the word of each row, followed by HLT.
Program program_of_rows() {
  std::vector<u32> words;
  for (const Row& row : kRows) words.insert(words.end(), {row.word, kHlt});
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  Program program;
  program.name = "rows";
  program.entry = kCode;
  program.segments = {{kCode, kPageBytes, kRead | kExecute, bytes}};
  EXPECT_LE(bytes.size(), kPageBytes);
  return program;
}

/// A random case near the limits of native arithmetic: rounding to nearest, in half of the cases with flushing.
FpCase edge_case(int width, fp::Random& random) {
  fp::Format f(width);
  fp::Operands o;
  switch (random.below(width == 64 ? 6 : 5)) {
    case 0: o = edge_sum(f, random); break;
    case 1: o = edge_product(f, random); break;
    case 2: o = edge_quotient(f, random); break;
    case 3: o = edge_fused(f, random); break;
    case 4: o = edge_near_integer(f, random); break;
    default: o = edge_narrowing(f, fp::Format(32), random); break;
  }
  return {random.next() & 1 ? kFpcrFZ : 0u, o.a, o.b, o.c, edge_integer(random).a};
}

class Machine {
 public:
  Machine(const char* device, u64 lanes)
      : fleet_(program_of_rows(), options_of(device, lanes)), cases_(lanes), values_(lanes) {}

  template <class Next>
  void load(Next next) {
    for (FpCase& fp_case : cases_) fp_case = next();
    set(v_low(1), [](const FpCase& c) { return c.a; });
    set(v_low(2), [](const FpCase& c) { return c.b; });
    set(v_low(3), [](const FpCase& c) { return c.c; });
    set(x(1), [](const FpCase& c) { return c.x; });
    set(Field::fpcr, [](const FpCase& c) { return c.fpcr; });
  }

  /// Runs a row with `fpsr` as the initial FPSR. Returns false if a result differs.
  bool run(const Row& row, u32 fpsr) {
    fleet_.fill(Field::pc, kCode + static_cast<u64>(&row - kRows) * 8);
    fleet_.fill(Field::fpsr, fpsr);
    fleet_.resume_all();
    fleet_.run();
    std::vector<u64> result(cases_.size()), after(cases_.size());
    fleet_.get_all(row.where == 'v' ? v_low(0) : row.where == 'x' ? x(0) : Field::nzcv, result);
    fleet_.get_all(Field::fpsr, after);
    for (size_t lane = 0; lane < cases_.size(); lane++) {
      const FpCase& c = cases_[lane];
      FpContext ctx = {c.fpcr, 0};
      u64 expected = row.compute(c, ctx);
      if (result[lane] == expected && after[lane] == (fpsr | ctx.exceptions)) continue;
      ADD_FAILURE() << row.name << std::hex << ": operands " << c.a << " " << c.b << " " << c.c << " " << c.x
                    << ", FPCR " << c.fpcr << ", FPSR " << fpsr << ": " << result[lane] << ", FPSR " << after[lane]
                    << ", not " << expected << ", FPSR " << (fpsr | ctx.exceptions);
      return false;
    }
    return true;
  }

 private:
  static FleetOptions options_of(const char* device, u64 lanes) {
    FleetOptions options;
    options.device = device;
    options.lanes = lanes;
    options.memory = kPageBytes;
    return options;
  }
  template <class Value>
  void set(Field field, Value value) {
    for (size_t lane = 0; lane < cases_.size(); lane++) values_[lane] = value(cases_[lane]);
    fleet_.set_all(field, values_);
  }

  Fleet fleet_;
  std::vector<FpCase> cases_;
  std::vector<u64> values_;
};

TEST(FpDevice, AsTheReference) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  bool gpu = device != nullptr && std::strcmp(device, "cpu") != 0;
  Machine machine(device != nullptr ? device : "cpu", gpu ? 65536 : 4096);
  fp::Random random(9);
  for (int width : {16, 32, 64}) {
    FpCases cases(width, 9);
    for (int round = 0; round < 8; round++) {
      bool edges = round % 2 != 0 && width != 16;
      machine.load([&] { return edges ? edge_case(width, random) : cases.next(); });
      for (const Row& row : kRows) {
        if (row.width != width) continue;
        // If Inexact is set before, native arithmetic may be used.
        for (u32 fpsr : {0u, static_cast<u32>(FPExc_Inexact)}) {
          if (!machine.run(row, fpsr)) break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace myriarm
