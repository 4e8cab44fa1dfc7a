// SPDX-License-Identifier: Apache-2.0
// Operands that are hard for floating-point operations, enumerated, in levels as Berkeley TestFloat has them: level 1 for
// every run of the tests, level 2 many times as large. Sets for one and two operands are every hard exponent with every
// hard fraction; where operands matter together (alignment, cancellation, halfway results) they are made together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fp/format.h"

namespace myriarm::fp {

/// The operands of one case; what is not needed is 0.
struct Operands {
  uint64_t a = 0, b = 0, c = 0;
};

/// Takes one case.
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

/// What is hard of one format, for pairs; some hundred, or some thousand numbers.
std::vector<uint64_t> hard_numbers(Format f, int level);

/// For one operand: all of half precision; of the others hard exponents with fractions of one bit, all but one, and runs.
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
/// c + a * b: hard numbers at random, and addends that are aligned with the product or cancel it. factors: the format of
/// a and b.
void each_fused(Format f, Format factors, int level, const Sink& sink);
/// Numbers of one format at, next to and halfway between those of a narrower one.
void each_narrowing(Format from, Format to, int level, const Sink& sink);
/// Integers of 64 bits: sparse, full, halfway of each format, at the limits of narrower integers.
void each_integer(int level, const Sink& sink);

// Random operands about the limits of what the machine's own arithmetic is used for: results next to the smallest normal
// number and to the largest, exact, cancelled to zero or to a subnormal number, integers at the limits of their width.

Operands edge_sum(Format f, Random& random);
Operands edge_product(Format f, Random& random);
Operands edge_quotient(Format f, Random& random);
Operands edge_fused(Format f, Random& random);
Operands edge_number(Format f, Random& random);
Operands edge_narrowing(Format from, Format to, Random& random);
Operands edge_near_integer(Format f, Random& random);
Operands edge_integer(Random& random);

// What both parts of these sets are made of.

using Wide = unsigned __int128;

/// Of the lowest bits of each field.
uint64_t number(Format f, bool negative, uint64_t exponent, uint64_t fraction);
/// The number next to significand * 2^k toward zero, with k such that its exponent field is `exponent`; of one that is not
/// positive the subnormal number, and of one that is too large the largest.
uint64_t scaled(Format f, bool negative, int64_t exponent, Wide significand);
/// A neighbour, `ulps` away from zero; stops at zero and at infinity.
uint64_t neighbour(Format f, uint64_t bits, int ulps);

}  // namespace myriarm::fp
