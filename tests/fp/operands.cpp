// SPDX-License-Identifier: Apache-2.0
// Sets of operands. Numbers are composed of an exponent field, which may be out of range, and a significand.
#include "fp/operands.h"

#include <algorithm>
#include <cstdlib>

namespace myriarm::fp {
namespace {

int length(Wide value) {
  int bits = 0;
  for (; value != 0; value >>= 1) bits++;
  return bits;
}

/// Fractions with no bit, one bit, all bits but one, and runs of bits from either end, at every `step`-th position.
std::vector<uint64_t> fractions(Format f, int step) {
  std::vector<uint64_t> list = {
      0, 1, f.quiet_bit(), f.quiet_bit() - 1, f.quiet_bit() + 1, f.fraction_mask(), f.fraction_mask() - 1};
  for (int i = 0; i < f.fraction_bits(); i += step) {
    uint64_t bit = uint64_t{1} << i;
    list.insert(list.end(), {bit, f.fraction_mask() ^ bit, bit - 1, f.fraction_mask() & (0 - bit)});
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

/// Exponent fields where something changes: both ends, around 1, and where a unit in the last place is 1.
std::vector<uint64_t> exponents(Format f, int level) {
  uint64_t bias = f.bias(), top = f.top(), bits = static_cast<uint64_t>(f.fraction_bits());
  std::vector<uint64_t> list = {0, 1, 2, bias - 1, bias, bias + 1, bias + bits, top - 2, top - 1};
  if (f.width != 16) list.insert(list.end(), {bias - bits - 1, bits + 1});
  if (level > 1) {
    list.insert(list.end(), {3, bias - 2, bias + 2, bias + bits - 1, bias + bits + 1, top - 3});
    if (f.width != 16)
      list.insert(list.end(), {bits, bits + 2, bias - bits, bias - bits - 2, bias + 31, bias + 63, top - bits});
  }
  return list;
}

}  // namespace

uint64_t number(Format f, bool negative, uint64_t exponent, uint64_t fraction) {
  return (negative ? f.sign() : 0) | (exponent & f.top()) << f.fraction_bits() | (fraction & f.fraction_mask());
}

uint64_t scaled(Format f, bool negative, int64_t exponent, Wide significand) {
  int shift = length(significand) - f.precision();
  uint64_t bits = static_cast<uint64_t>(shift > 0 ? significand >> shift : significand << -shift);
  if (exponent >= static_cast<int64_t>(f.top())) return (negative ? f.sign() : 0) | (f.infinity() - 1);
  if (exponent > 0) return number(f, negative, static_cast<uint64_t>(exponent), bits);
  return number(f, negative, 0, exponent > -f.precision() ? bits >> (1 - exponent) : 0);
}

uint64_t neighbour(Format f, uint64_t bits, int ulps) {
  const auto infinity = static_cast<int64_t>(f.infinity());
  // A NaN may be the largest integer, so that nothing can be added to it.
  int64_t magnitude = std::min(static_cast<int64_t>(bits & (f.sign() - 1)), infinity + std::abs(ulps)) + ulps;
  magnitude = std::clamp(magnitude, int64_t{0}, infinity);
  return (bits & f.sign()) | static_cast<uint64_t>(magnitude);
}

std::vector<uint64_t> hard_numbers(Format f, int level) {
  std::vector<uint64_t> list;
  std::vector<uint64_t> few = {0, 1, f.quiet_bit(), f.quiet_bit() - 1, f.fraction_mask() - 1, f.fraction_mask()};
  for (uint64_t exponent : exponents(f, level)) {
    bool all = level > 1 || exponent == 0 || exponent == f.bias();
    int step = f.width == 16 ? 1 : f.width == 32 ? 2 : 5;
    for (uint64_t fraction : all ? fractions(f, step) : few) list.push_back(number(f, false, exponent, fraction));
  }
  for (uint64_t fraction :
       {uint64_t{0}, uint64_t{1}, f.quiet_bit() - 1, f.quiet_bit(), f.quiet_bit() + 2, f.fraction_mask()}) {
    list.push_back(f.infinity() | fraction);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  size_t count = list.size();
  for (size_t i = 0; i < count; i++) list.push_back(list[i] | f.sign());
  return list;
}

void each_number(Format f, int level, const Sink& sink) {
  if (f.width == 16) {
    for (uint64_t bits = 0; bits < 0x10000; bits++) sink({bits});
    return;
  }
  std::vector<uint64_t> list = fractions(f, 1);
  for (uint64_t exponent = 0; exponent <= f.top(); exponent++) {
    uint64_t from_bias = exponent > f.bias() ? exponent - f.bias() : f.bias() - exponent;
    if (level < 2 && from_bias > 68 && exponent > 3 && exponent + 4 < f.top() && exponent % 61 != 0) continue;
    for (uint64_t fraction : list) {
      sink({number(f, false, exponent, fraction)});
      sink({number(f, true, exponent, fraction)});
    }
  }
  Random random(1);
  for (int i = 0; i < 20000 * (level > 1 ? 50 : 1); i++) sink({random.next() & f.mask()});
}

void each_pair(Format f, int level, const Sink& sink) {
  std::vector<uint64_t> list = hard_numbers(f, level);
  for (uint64_t a : list) {
    for (uint64_t b : list) sink({a, b});
  }
}

void each_sum(Format f, int level, const Sink& sink) {
  std::vector<uint64_t> list = fractions(f, f.width == 16 ? 1 : f.fraction_bits() / (level > 1 ? 8 : 3));
  uint64_t bits = static_cast<uint64_t>(f.fraction_bits());
  for (uint64_t exponent : {uint64_t{2}, bits + 3, f.bias(), f.top() - 1}) {
    for (uint64_t distance = 0; distance <= bits + 4 && distance <= exponent; distance++) {
      for (uint64_t a : list) {
        for (uint64_t b : list) {
          uint64_t larger = number(f, false, exponent, a), smaller = number(f, false, exponent - distance, b);
          sink({larger, smaller});
          sink({smaller | f.sign(), larger});
        }
      }
    }
  }
  for (uint64_t a : hard_numbers(f, level)) {
    for (int ulps = -3; ulps <= 3; ulps++) {
      sink({a, neighbour(f, a, ulps)});
      sink({a, neighbour(f, a ^ f.sign(), ulps)});
    }
  }
}

// Odd factors of k bits and of precision + 1 - k bits, or one more. If the product is one bit too long, that bit is
// half a unit in the last place.
void each_product(Format f, int level, const Sink& sink) {
  Random random(2);
  int64_t bias = static_cast<int64_t>(f.bias()), top = static_cast<int64_t>(f.top()), p = f.precision();
  for (int repeat = 0; repeat < (level > 1 ? 200 : 4); repeat++) {
    for (int k = 1; k <= p; k++) {
      for (int extra = 0; extra < 4; extra++) {
        int other = std::clamp(static_cast<int>(p) + extra - k, 1, static_cast<int>(p));
        uint64_t a = random.odd(k), b = random.odd(other);
        // The product's exponent field: subnormal, around the largest, and anywhere.
        for (int64_t target : {-p - 1, -static_cast<int64_t>(random.below(static_cast<uint64_t>(p))), int64_t{-1},
                               int64_t{0}, int64_t{1}, bias, top - 2, top - 1, top}) {
          int64_t exponent = target / 2 + bias / 2 + static_cast<int64_t>(random.below(5)) - 2;
          uint64_t x = scaled(f, random.next() & 1, exponent, a);
          uint64_t y = scaled(f, random.next() & 1, target + bias - exponent, b);
          sink({x, y});
          sink({neighbour(f, x, 1), y});
          sink({x, neighbour(f, y, -1)});
        }
      }
    }
  }
}

// Dividends q * b. With a short q the quotient is exact, or halfway if it is subnormal. If q has one bit more than the
// precision, the quotient is as close to halfway as dividends allow.
void each_quotient(Format f, int level, const Sink& sink) {
  Random random(3);
  int64_t bias = static_cast<int64_t>(f.bias()), top = static_cast<int64_t>(f.top()), p = f.precision();
  for (int repeat = 0; repeat < (level > 1 ? 200 : 5); repeat++) {
    for (int k = 1; k <= p + 1; k++) {
      for (int full = 0; full < 2; full++) {
        uint64_t quotient = random.odd(k) | uint64_t{1} << (k - 1);
        int length = full || k > p ? static_cast<int>(p) : std::max<int>(1, static_cast<int>(p) - k);
        uint64_t divisor = random.odd(length);
        Wide product = static_cast<Wide>(quotient) * divisor;
        for (int64_t target : {-p - 1, -static_cast<int64_t>(random.below(static_cast<uint64_t>(p))), int64_t{-1},
                               int64_t{0}, int64_t{1}, bias, top - 1, top}) {
          int64_t exponent = bias + (target - bias) / 2 + static_cast<int64_t>(random.below(3));
          uint64_t x = scaled(f, random.next() & 1, exponent, product);
          uint64_t y = scaled(f, random.next() & 1, exponent - target + bias, divisor);
          sink({x, y});
          sink({neighbour(f, x, 1), y});
          sink({neighbour(f, x, -1), y});
        }
      }
    }
  }
}

void each_square(Format f, int level, const Sink& sink) {
  Random random(4);
  for (int repeat = 0; repeat < (level > 1 ? 2000 : 20); repeat++) {
    for (int k = 1; k <= f.precision() + 1; k++) {
      uint64_t root = random.odd(k) | uint64_t{1} << (k - 1);
      Wide square = static_cast<Wide>(root) * root;
      for (uint64_t exponent : {uint64_t{1}, f.bias(), f.bias() + 1, random.below(f.top())}) {
        uint64_t a = scaled(f, false, static_cast<int64_t>(exponent), square);
        for (int ulps = -1; ulps <= 1; ulps++) sink({neighbour(f, a, ulps)});
      }
    }
  }
}

// Addends equal to the rounded product a * b or its negation, and their neighbours; and addends at each distance of
// exponents from it, with the given fractions, or with one of the hard fractions if none are given.
static void each_addend(Format f, Format factors, uint64_t a, uint64_t b, const std::vector<uint64_t>& fixed,
                        const std::vector<uint64_t>& hard, Random& random, const Sink& sink) {
  auto field = [&](uint64_t bits) { return static_cast<int64_t>(bits >> factors.fraction_bits() & factors.top()); };
  auto significand = [&](uint64_t bits) {
    return (bits & factors.fraction_mask()) | uint64_t{field(bits) != 0} << factors.fraction_bits();
  };
  Wide product = static_cast<Wide>(significand(a)) * significand(b);
  // For subnormal factors the exponent field is off by their leading zeros, which only gives another distance.
  int64_t exponent = field(a) + field(b) - 2 * static_cast<int64_t>(factors.bias()) + static_cast<int64_t>(f.bias()) +
                     (length(product) > 2 * factors.fraction_bits() + 1);
  if (product != 0) {
    for (int ulps = -2; ulps <= 2; ulps++) {
      uint64_t c = neighbour(f, scaled(f, false, exponent, product), ulps);
      sink({a, b, c});
      sink({a, b, c | f.sign()});
    }
  }
  auto addend = [&](int64_t at, uint64_t fraction, bool negative) {
    sink({a, b, scaled(f, negative, at, fraction | uint64_t{1} << f.fraction_bits())});
  };
  for (int64_t distance = -2 * f.precision() - 4; distance <= f.precision() + 4; distance++) {
    if (fixed.empty()) addend(exponent + distance, hard[random.below(hard.size())], random.next() & 1);
    for (uint64_t fraction : fixed) {
      addend(exponent + distance, fraction, false);
      addend(exponent + distance, fraction, true);
    }
  }
}

void each_fused(Format f, Format factors, int level, const Sink& sink) {
  Random random(5);
  std::vector<uint64_t> hard = hard_numbers(f, 1), hard_factors = hard_numbers(factors, 1);
  int many = level > 1 ? 20 : 1;
  for (int i = 0; i < 40000 * many; i++) {
    sink({hard_factors[random.below(hard_factors.size())], hard_factors[random.below(hard_factors.size())],
          hard[random.below(hard.size())]});
  }
  std::vector<uint64_t> list = fractions(f, 1), factor_fractions = fractions(factors, 1);
  for (int i = 0; i < 400 * many; i++) {
    bool hard_pair = i % 2 == 0;
    uint64_t x = hard_pair ? factor_fractions[random.below(factor_fractions.size())] : random.next();
    uint64_t y = hard_pair ? factor_fractions[random.below(factor_fractions.size())] : random.next();
    // In half of the pairs the product is near 1.
    uint64_t first = random.below(factors.top()), second = random.below(factors.top());
    if (i % 4 < 2) second = 2 * factors.bias() - std::max<uint64_t>(first, 1) + random.below(3);
    each_addend(f, factors, number(factors, random.next() & 1, first, x), number(factors, random.next() & 1, second, y),
                {}, list, random, sink);
  }
  // Products 2^n + 1 and 2^n - 1. Near half a unit of an addend, the last bit alone decides the rounding.
  std::vector<Operands> pairs;
  if (factors.width == 64) {
    pairs = {{0x1404B25A15C2BB, 0x19939800033273}, {0x157806FCA51601, 0x17D93736C115FF}};
  }
  for (int k = 2; 2 * k + 1 <= factors.precision(); k++) {
    uint64_t power = uint64_t{1} << k, square = power * power;
    pairs.push_back({power + 1, square - power + 1});
    pairs.push_back({power - 1, square + power + 1});
  }
  for (const Operands& pair : pairs) {
    for (int64_t exponent : {static_cast<int64_t>(factors.bias()), int64_t{2}}) {
      uint64_t x = scaled(factors, false, static_cast<int64_t>(factors.bias()), pair.a);
      uint64_t y = scaled(factors, false, exponent, pair.b);
      each_addend(f, factors, x, y, {0, 1, f.fraction_mask() - 1, f.fraction_mask()}, list, random, sink);
    }
  }
}

void each_narrowing(Format from, Format to, int level, const Sink& sink) {
  int drop = from.fraction_bits() - to.fraction_bits();
  if (drop <= 0) return;
  Random random(6);
  uint64_t half = uint64_t{1} << (drop - 1);
  int64_t shift = static_cast<int64_t>(from.bias()) - static_cast<int64_t>(to.bias());
  std::vector<uint64_t> list = fractions(to, 1);
  // From below the smallest subnormal number up to above the largest.
  for (int64_t exponent = -to.precision() - 1; exponent <= static_cast<int64_t>(to.top()) + 1; exponent++) {
    if (level < 2 && exponent > 2 && exponent < static_cast<int64_t>(to.top()) - 2 && exponent % 16 != 0) continue;
    int lost = drop + (exponent < 1 ? static_cast<int>(1 - exponent) : 0);
    uint64_t field = static_cast<uint64_t>(std::max<int64_t>(exponent + shift, 0));
    for (uint64_t fraction : list) {
      uint64_t base = fraction << drop;
      for (uint64_t part : {uint64_t{0}, uint64_t{1}, half - 1, half, half + 1, 2 * half - 1, random.next()}) {
        // The same where bits of the fraction are lost.
        uint64_t wide = lost < from.fraction_bits() ? (base >> lost << lost) | part << (lost - drop) : part;
        sink({number(from, random.next() & 1, field, wide)});
        sink({number(from, random.next() & 1, field, wide + 1)});
        sink({number(from, random.next() & 1, field, wide - 1)});
      }
    }
  }
}

void each_integer(int level, const Sink& sink) {
  auto both = [&](uint64_t value) {
    sink({value});
    sink({0 - value});
  };
  both(0);
  for (int i = 0; i < 64; i++) {
    uint64_t bit = uint64_t{1} << i;
    for (int64_t near = -2; near <= 2; near++) both(bit + static_cast<uint64_t>(near));
    for (int width : {16, 32, 64}) {
      // A number of that precision plus half a unit, or next to it.
      int half = i - Format(width).precision();
      if (half < 0) continue;
      for (uint64_t last : {uint64_t{0}, uint64_t{2}}) {
        for (int64_t near = -1; near <= 1; near++) {
          both(bit + (last << half) + (uint64_t{1} << half) + static_cast<uint64_t>(near));
          both(bit - (last << half) - (uint64_t{1} << half) + static_cast<uint64_t>(near));
        }
      }
    }
    for (int j = 0; j < i; j++) both(bit | uint64_t{1} << j);
  }
  Random random(7);
  for (int i = 0; i < 4000 * (level > 1 ? 4 : 1); i++) both(random.next() >> random.below(64));
}

}  // namespace myriarm::fp
