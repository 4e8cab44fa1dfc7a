// SPDX-License-Identifier: Apache-2.0
// Level tests: every operation of src/core/fp over enumerated hard operands, in every mode, against GNU MPFR. Results and
// exceptions must be the same to the bit.
//   fp_levels GROUP [--level 1|2] [--operation NAME]     a group of operations, or one of them ("FADD 64")
//   fp_levels --list                                     the operations, group by group
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fp/operations.h"

namespace myriarm::fp {
namespace {

constexpr uint64_t kMostShown = 10;

struct Tally {
  uint64_t cases = 0, differences = 0;
  uint32_t raised = 0;  // exceptions that some case had
};

void show(const Operation& operation, const Operands& o, uint32_t fpcr, uint64_t ours, uint32_t our_exceptions,
          uint64_t expected, uint32_t exceptions) {
  auto hex = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s: operands %llx %llx %llx, FPCR %08x\n  here %16llx, FPSR %02x\n  MPFR %16llx, FPSR %02x\n",
              operation.name.c_str(), hex(o.a), hex(o.b), hex(o.c), fpcr, hex(ours), our_exceptions, hex(expected),
              exceptions);
}

Tally run(const Operation& operation, int level) {
  Tally tally;
  Oracle oracle;
  operation.cases(level, [&](const Operands& o) {
    for (uint32_t fpcr : operation.controls) {
      oracle.begin(fpcr);
      uint64_t expected = operation.oracle(o, oracle);
      FpContext ctx = {fpcr, 0};
      uint64_t result = operation.ours(o, ctx);
      tally.cases++;
      tally.raised |= ctx.exceptions;
      if (result == expected && ctx.exceptions == oracle.exceptions()) continue;
      if (tally.differences++ < kMostShown) {
        show(operation, o, fpcr, result, ctx.exceptions, expected, oracle.exceptions());
      }
    }
  });
  return tally;
}

int usage() {
  std::fputs("usage: fp_levels GROUP [--level 1|2] [--operation NAME], or fp_levels --list\n", stderr);
  return 2;
}

int main(int count, char** arguments) {
  std::vector<Operation> list = operations();
  if (count < 2) return usage();
  if (std::strcmp(arguments[1], "--list") == 0) {
    for (const Operation& operation : list) std::printf("%-13s %s\n", operation.group, operation.name.c_str());
    return 0;
  }
  int level = 1;
  const char* only = nullptr;
  for (int i = 2; i < count; i += 2) {
    if (i + 1 == count) return usage();
    if (std::strcmp(arguments[i], "--level") == 0) {
      level = std::atoi(arguments[i + 1]);
    } else if (std::strcmp(arguments[i], "--operation") == 0) {
      only = arguments[i + 1];
    } else {
      return usage();
    }
  }
  if (level != 1 && level != 2) return usage();
  Tally total;
  for (const Operation& operation : list) {
    if (std::strcmp(operation.group, arguments[1]) != 0 || (only && operation.name != only)) continue;
    Tally tally = run(operation, level);
    std::printf("%-20s %12llu cases, %llu differences; raised %02x\n", operation.name.c_str(),
                static_cast<unsigned long long>(tally.cases), static_cast<unsigned long long>(tally.differences),
                tally.raised);
    std::fflush(stdout);
    total.cases += tally.cases;
    total.differences += tally.differences;
  }
  std::printf("%s, level %d: %llu cases, %llu differences\n", arguments[1], level,
              static_cast<unsigned long long>(total.cases), static_cast<unsigned long long>(total.differences));
  // A group without cases is a mistake of the caller.
  return total.cases == 0 || total.differences != 0;
}

}  // namespace
}  // namespace myriarm::fp

int main(int count, char** arguments) { return myriarm::fp::main(count, arguments); }
