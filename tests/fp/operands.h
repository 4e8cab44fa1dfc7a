// SPDX-License-Identifier: Apache-2.0
// Enumerated operands that are hard for floating-point operations, in levels like those of Berkeley TestFloat: level 1
// for every run of the tests, level 2 many times as large. Sets for one and two operands combine every hard exponent
// with every hard fraction; where the combination matters (alignment, cancellation, halfway results), operands are made
// together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fp/format.h"

namespace myriarm::fp {

/// The operands of one case; unused operands are 0.
struct Operands {
  uint64_t a = 0, b = 0, c = 0;
};

/// Gets one case.
using Sink = std::function<void(const Operands&)>;

/// The same seed gives the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  /// A number of at most `bits` bits, with its lowest bit set.
  uint64_t odd(int bits) { return (next() >> (64 - bits)) | 1; }

 private:
  uint64_t state_;
};

/// The hard numbers of one format, for pairs: some hundred, or at level 2 some thousand.
std::vector<uint64_t> hard_numbers(Format f, int level);

/// For one operand: all of half precision; of the others hard exponents with fractions of one bit, all but one, and
/// runs.
void each_number(Format f, int level, const Sink& sink);
/// Pairs of hard numbers.
void each_pair(Format f, int level, const Sink& sink);
/// Sums and differences whose alignment, cancellation and halfway cases are enumerated.
void each_sum(Format f, int level, const Sink& sink);
/// Products and quotients that are exact, halfway, next to halfway, and at both ends of the exponents.
void each_product(Format f, int level, const Sink& sink);
void each_quotient(Format f, int level, const Sink& sink);
/// Squares, their neighbours, and numbers whose root is next to halfway.
void each_square(Format f, int level, const Sink& sink);
/// c + a * b: hard numbers at random, and addends that are aligned with the product or cancel it. factors: the format
/// of a and b.
void each_fused(Format f, Format factors, int level, const Sink& sink);
/// Numbers of one format at, next to and halfway between those of a narrower one.
void each_narrowing(Format from, Format to, int level, const Sink& sink);
/// Integers of 64 bits: sparse, full, halfway of each format, at the limits of narrower integers.
void each_integer(int level, const Sink& sink);

// Random operands near the limits of the overrides that use the machine's arithmetic: results near the smallest and the
// largest normal number, exact results, cancellation to zero or to a subnormal number, integers at the limits of their
// width.

Operands edge_sum(Format f, Random& random);
Operands edge_product(Format f, Random& random);
Operands edge_quotient(Format f, Random& random);
Operands edge_fused(Format f, Random& random);
Operands edge_number(Format f, Random& random);
Operands edge_narrowing(Format from, Format to, Random& random);
Operands edge_near_integer(Format f, Random& random);
Operands edge_integer(Random& random);

// Helpers of both files that make these sets.

using Wide = unsigned __int128;

/// The number with these fields, of which only the lowest bits are used.
uint64_t number(Format f, bool negative, uint64_t exponent, uint64_t fraction);
/// significand * 2^k rounded toward zero, with k such that the exponent field is `exponent`. If that is not positive,
/// the subnormal number; if it is too large, the largest number.
uint64_t scaled(Format f, bool negative, int64_t exponent, Wide significand);
/// The number `ulps` units in the last place further from zero; stops at zero and at infinity.
uint64_t neighbour(Format f, uint64_t bits, int ulps);

}  // namespace myriarm::fp
