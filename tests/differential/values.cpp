// SPDX-License-Identifier: Apache-2.0
// Makes random values of FPCR, FPSR and SIMD&FP registers.
#include "values.h"

#include <vector>

#include "fp/cases.h"

namespace myriarm::differential {
namespace {

constexpr uint32_t kSizes[] = {16, 32, 64};

/// Hard numbers of one size, and integers for conversions to that size.
struct Pool {
  FpCases cases;
  std::vector<uint64_t> numbers;

  Pool(Random& random, uint32_t width) : cases(static_cast<int>(width), random.next()) { grow(2); }
  void grow(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      const FpCase c = cases.next();
      numbers.insert(numbers.end(), {c.a, c.b, c.c, c.x});
    }
  }
  uint64_t draw(Random& random) {
    if (random.one_in(4) && numbers.size() < 64) grow(1);
    return numbers[random.below(numbers.size())];
  }
};

}  // namespace

uint64_t random_fpcr(Random& random) { return random.one_in(4) ? 0 : random.next() & kFpcrModes; }

uint64_t random_fpsr(Random& random) {
  switch (random.below(4)) {
    case 0: return 0;
    case 1: return 0x10;  // IXC alone, as after most arithmetic; then native arithmetic is used
    default: return random.next() & 0x0800009F;
  }
}

VectorValues random_vectors(Random& random) {
  Pool pools[] = {{random, 16}, {random, 32}, {random, 64}};
  VectorValues values;
  // The size of numbers changes with each lane, each register or each half, so that some cases have many elements of
  // one size, and others registers as instructions for another size leave them.
  const uint64_t mixture = random.below(4);
  uint64_t size = random.below(3);
  for (auto& halves : values.v) {
    if (mixture >= 2) size = random.below(3);
    for (uint64_t& half : halves) {
      if (mixture == 3) size = random.below(3);
      if (random.one_in(8)) {
        half = random.edge(64);
        continue;
      }
      const uint32_t width = kSizes[size];
      half = 0;
      for (uint32_t bit = 0; bit < 64; bit += width) {
        half |= (pools[size].draw(random) & (~uint64_t{0} >> (64 - width))) << bit;
      }
    }
  }
  for (uint64_t& integer : values.integers) integer = pools[random.below(3)].cases.next().x;
  return values;
}

}  // namespace myriarm::differential
