// SPDX-License-Identifier: Apache-2.0
// Level tests: compare every operation of src/core/fp with GNU MPFR, for enumerated hard operands in every mode, and
// the overrides of core/fp/native.h with the same results. Results and exceptions must be bit-identical.
//   fp_levels GROUP [--level 1|2]      a group of operations
//   fp_levels GROUP --edges COUNT      random operands near the limits of overrides, without MPFR
//   fp_levels --list                   the operations, by group
// --operation NAME ("FADD 64") selects one operation.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fp/operations.h"

namespace myriarm::fp {
namespace {

constexpr uint64_t kMostShown = 10;

struct Tally {
  uint64_t cases = 0, differences = 0;
  uint64_t asked = 0, applied = 0;  // how often an override was tried, and how often it applied
  uint32_t raised = 0;              // exceptions that occurred
};

struct Answer {
  uint64_t result;
  uint32_t exceptions;
  bool operator==(const Answer&) const = default;
};

class Run {
 public:
  explicit Run(const Operation& operation) : operation_(operation) {}

  Tally level(int level) {
    operation_.cases(level, [&](const Operands& o) {
      for (uint32_t fpcr : operation_.controls) {
        oracle_.begin(fpcr);
        uint64_t result = operation_.oracle(o, oracle_);
        Answer expected = {result, oracle_.exceptions()}, ours = reference(o, fpcr);
        tally_.cases++;
        if (ours != expected) show(o, fpcr, "the reference", ours, "MPFR", expected);
        overrides(o, fpcr, ours);
      }
    });
    return tally_;
  }

  Tally edges(uint64_t count) {
    Random random(8);
    for (uint64_t i = 0; operation_.edges && i < count; i++) {
      Operands o = operation_.edges(random);
      // Mostly a mode in which the override can apply.
      uint64_t choice = random.next();
      uint32_t fpcr = operation_.controls[choice % operation_.controls.size()];
      if (choice >> 60 != 0) fpcr &= ~(3u << 22);
      tally_.cases++;
      overrides(o, fpcr, reference(o, fpcr));
    }
    return tally_;
  }

 private:
  Answer reference(const Operands& o, uint32_t fpcr) {
    FpContext ctx = {fpcr, 0};
    uint64_t result = operation_.ours.reference(o, ctx);
    tally_.raised |= ctx.exceptions;
    return {result, ctx.exceptions};
  }

  /// Runs the overrides with and without Inexact in FPSR. One that does not apply gives up, or calls the reference.
  void overrides(const Operands& o, uint32_t fpcr, Answer expected) {
    for (uint32_t fpsr : {0u, static_cast<uint32_t>(kInexact)}) {
      expected.exceptions |= fpsr;
      NativeFpContext<true> giving_up;
      fp_begin(giving_up, fpcr, fpsr);
      Answer ours = {operation_.ours.giving_up(o, giving_up), giving_up.exceptions | fpsr};
      tally_.asked++;
      tally_.applied += !giving_up.missed;
      if (!giving_up.missed && ours != expected) show(o, fpcr, "the override", ours, "the reference", expected);
      NativeFpContext<false> falling_back;
      fp_begin(falling_back, fpcr, fpsr);
      ours = {operation_.ours.falling_back(o, falling_back), falling_back.exceptions | fpsr};
      if (ours != expected) show(o, fpcr, "the override, or what it calls", ours, "the reference", expected);
    }
  }

  void show(const Operands& o, uint32_t fpcr, const char* ours, const Answer& a, const char* theirs, const Answer& b) {
    if (tally_.differences++ >= kMostShown) return;
    auto hex = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf("%s: operands %llx %llx %llx, FPCR %08x\n  %16llx, FPSR %02x: %s\n  %16llx, FPSR %02x: %s\n",
                operation_.name.c_str(), hex(o.a), hex(o.b), hex(o.c), fpcr, hex(a.result), a.exceptions, ours,
                hex(b.result), b.exceptions, theirs);
  }

  const Operation& operation_;
  Oracle oracle_;
  Tally tally_;
};

/// Whether an override applied in some cases and not in others, as it should.
bool overrides_as_said(const Operation& operation, const Tally& tally) {
  bool all = tally.applied == tally.asked, none = tally.applied == 0;
  return operation.edges ? !none : all || none;
}

int usage() {
  std::fputs("usage: fp_levels GROUP [--level 1|2 | --edges COUNT] [--operation NAME], or fp_levels --list\n", stderr);
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
  unsigned long long edges = 0;
  const char* only = nullptr;
  for (int i = 2; i < count; i += 2) {
    if (i + 1 == count) return usage();
    if (std::strcmp(arguments[i], "--level") == 0) {
      level = std::atoi(arguments[i + 1]);
    } else if (std::strcmp(arguments[i], "--edges") == 0) {
      edges = std::strtoull(arguments[i + 1], nullptr, 10);
    } else if (std::strcmp(arguments[i], "--operation") == 0) {
      only = arguments[i + 1];
    } else {
      return usage();
    }
  }
  if (level != 1 && level != 2) return usage();
  Tally total;
  bool as_said = true;
  auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  for (const Operation& operation : list) {
    if (std::strcmp(operation.group, arguments[1]) != 0 || (only && operation.name != only)) continue;
    if (edges != 0 && !operation.edges) continue;
    Run run(operation);
    Tally tally = edges != 0 ? run.edges(edges) : run.level(level);
    std::printf("%-18s %11llu cases, %llu differences; raised %02x", operation.name.c_str(), number(tally.cases),
                number(tally.differences), tally.raised);
    if (operation.edges) {
      std::printf("; override in %.1f %%",
                  100.0 * static_cast<double>(tally.applied) / static_cast<double>(tally.asked));
    }
    if (!overrides_as_said(operation, tally)) {
      as_said = false;
      std::printf("; the override was taken %llu times of %llu", number(tally.applied), number(tally.asked));
    }
    std::printf("\n");
    std::fflush(stdout);
    total.cases += tally.cases;
    total.differences += tally.differences;
  }
  std::printf("%s: %llu cases, %llu differences\n", arguments[1], number(total.cases), number(total.differences));
  // A group without cases is an error: its name is wrong.
  return total.cases == 0 || total.differences != 0 || !as_said;
}

}  // namespace
}  // namespace myriarm::fp

int main(int count, char** arguments) { return myriarm::fp::main(count, arguments); }
