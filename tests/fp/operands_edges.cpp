// SPDX-License-Identifier: Apache-2.0
// Random operands near the limits of the overrides that use the machine's arithmetic.
#include "fp/operands.h"

namespace myriarm::fp {
namespace {

int64_t between(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.below(static_cast<uint64_t>(high - low + 1)));
}

uint64_t fraction(Format f, Random& random) {
  uint64_t bits = random.next() & f.fraction_mask();
  switch (random.below(8)) {
    case 0: return 0;
    case 1: return f.fraction_mask();
    case 2: return bits & random.next() & random.next();
    case 3: return bits | random.next() | random.next();
    case 4: return f.fraction_mask() & (0 - (uint64_t{1} << random.below(static_cast<uint64_t>(f.fraction_bits()))));
    default: return bits;
  }
}

/// Near the smallest numbers, near the largest, or anywhere.
int64_t exponent(Format f, Random& random) {
  int64_t top = static_cast<int64_t>(f.top()), p = f.precision();
  switch (random.below(4)) {
    case 0: return between(random, 0, 3);
    case 1: return between(random, 1, p + 4);
    case 2: return random.below(4) != 0 ? between(random, top - 4, top - 1) : top;
    default: return between(random, 1, top - 1);
  }
}

/// The exponent of a result: from subnormal to just normal, around the largest, or anywhere.
int64_t target(Format f, Random& random) {
  int64_t top = static_cast<int64_t>(f.top()), p = f.precision();
  switch (random.below(4)) {
    case 0: return between(random, -1, 2);
    case 1: return between(random, top - 2, top + 1);
    case 2: return between(random, -p - 2, 3);
    default: return between(random, 1, top - 1);
  }
}

uint64_t any(Format f, Random& random) {
  return number(f, random.next() & 1, static_cast<uint64_t>(exponent(f, random)), fraction(f, random));
}

uint64_t significand(Format f, uint64_t fraction) { return fraction | uint64_t{1} << f.fraction_bits(); }

/// Two exponent fields that differ from `middle` by opposite amounts, within the range of fields.
struct Split {
  int64_t first, second;
};
Split split(Format f, int64_t sum, Random& random) {
  int64_t top = static_cast<int64_t>(f.top());
  int64_t low = sum - (top - 1) > 1 ? sum - (top - 1) : 1, high = sum - 1 < top - 1 ? sum - 1 : top - 1;
  int64_t first = low <= high ? between(random, low, high) : between(random, 1, top - 1);
  return {first, sum - first};
}

}  // namespace

Operands edge_sum(Format f, Random& random) {
  uint64_t a = any(f, random), b = any(f, random);
  int64_t at = static_cast<int64_t>(a >> f.fraction_bits() & f.top());
  switch (random.below(4)) {
    case 0: b = neighbour(f, a ^ f.sign(), static_cast<int>(between(random, -3, 3))); break;
    case 1: b = scaled(f, random.next() & 1, at + between(random, -2, 2), significand(f, fraction(f, random))); break;
    case 2:
      b = scaled(f, random.next() & 1, at - between(random, 0, f.precision() + 2), significand(f, fraction(f, random)));
      break;
    default: break;
  }
  if (random.below(32) == 0) b = random.next() & f.sign();
  if (random.next() & 1) return {a, b};
  return {b, a};
}

// Random significands, or significands with a product next to a power of two.
Operands edge_product(Format f, Random& random) {
  int64_t at = target(f, random);
  uint64_t x = significand(f, fraction(f, random)), y = significand(f, fraction(f, random));
  if (random.next() & 1) {
    y = static_cast<uint64_t>((Wide{1} << (2 * f.precision() - 1)) / x) + static_cast<uint64_t>(between(random, -1, 2));
    at -= random.next() & 1;
  }
  Split fields = split(f, at + static_cast<int64_t>(f.bias()), random);
  uint64_t a = scaled(f, random.next() & 1, fields.first, x), b = scaled(f, random.next() & 1, fields.second, y);
  if (random.below(32) == 0) a = any(f, random);
  return {a, b};
}

Operands edge_quotient(Format f, Random& random) {
  int64_t at = target(f, random);
  uint64_t x = significand(f, fraction(f, random)), y = significand(f, fraction(f, random));
  if (random.next() & 1) y = x + static_cast<uint64_t>(between(random, -3, 3));
  // The dividend's exponent field is the divisor's plus the distance of the target from 1.
  int64_t top = static_cast<int64_t>(f.top()), distance = at - static_cast<int64_t>(f.bias());
  int64_t low = distance < 0 ? 1 - distance : 1, high = distance < 0 ? top - 1 : top - 1 - distance;
  int64_t divisor = low <= high ? between(random, low, high) : between(random, 1, top - 1);
  uint64_t a = scaled(f, random.next() & 1, divisor + distance, x), b = scaled(f, random.next() & 1, divisor, y);
  if (random.below(32) == 0) a = any(f, random);
  if (random.below(32) == 0) b = any(f, random);
  return {a, b};
}

// A product as above, with an addend that is hard by itself, or near the product or its negation.
Operands edge_fused(Format f, Random& random) {
  Operands o = edge_product(f, random);
  o.c = random.below(4) == 0 ? random.next() & f.sign() : any(f, random);
  uint64_t first = o.a >> f.fraction_bits() & f.top(), second = o.b >> f.fraction_bits() & f.top();
  if (random.next() & 1 && first != 0 && second != 0) {
    Wide product = static_cast<Wide>(significand(f, o.a & f.fraction_mask())) * significand(f, o.b & f.fraction_mask());
    int64_t at =
        static_cast<int64_t>(first + second - f.bias()) + static_cast<int64_t>(product >> (2 * f.precision() - 1));
    if (random.next() & 1) at += between(random, -f.precision() - 3, f.precision() + 3);
    o.c = neighbour(f, scaled(f, random.next() & 1, at, product), static_cast<int>(between(random, -2, 2)));
  }
  return o;
}

Operands edge_number(Format f, Random& random) { return {any(f, random)}; }

Operands edge_narrowing(Format from, Format to, Random& random) {
  int64_t at = target(to, random) + static_cast<int64_t>(from.bias() - to.bias());
  int drop = from.fraction_bits() - to.fraction_bits();
  uint64_t bits = fraction(to, random) << drop;
  switch (random.below(4)) {
    case 0: bits += static_cast<uint64_t>(between(random, -1, 1)); break;
    case 1: bits += (uint64_t{1} << (drop - 1)) + static_cast<uint64_t>(between(random, -1, 1)); break;
    case 2: bits = fraction(from, random); break;
    default: break;
  }
  if (random.below(16) == 0) return {any(from, random)};
  return {number(from, random.next() & 1, static_cast<uint64_t>(at), bits)};
}

// Integers and halves of integers, and their neighbours, mostly with about 32 or 64 bits.
Operands edge_near_integer(Format f, Random& random) {
  int64_t bits = random.next() & 1 ? between(random, -2, 66) : (random.next() & 1 ? 32 : 64) - between(random, 0, 2);
  uint64_t part = fraction(f, random);
  int64_t below = f.fraction_bits() - bits;
  if (below > 0 && below <= f.fraction_bits() && random.below(4) != 0) part = part >> below << below;
  uint64_t a = number(f, random.next() & 1, f.bias() + static_cast<uint64_t>(bits), part);
  if (random.below(32) == 0) a = any(f, random);
  return {neighbour(f, a, static_cast<int>(between(random, -1, 1)))};
}

Operands edge_integer(Random& random) {
  uint64_t value = random.next() >> random.below(64);
  switch (random.below(4)) {
    case 0: value = (uint64_t{1} << random.below(64)) + static_cast<uint64_t>(between(random, -2, 2)); break;
    case 1: value &= random.next() & random.next(); break;
    case 2: value |= value >> 1 | value >> 2 | value >> 3; break;
    default: break;
  }
  return {random.next() & 1 ? value : 0 - value};
}

}  // namespace myriarm::fp
