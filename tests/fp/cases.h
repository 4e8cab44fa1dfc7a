// SPDX-License-Identifier: Apache-2.0
// Random operands that are hard for floating-point arithmetic: zeros, infinities, NaNs and denormals; fractions with
// few zeros or few ones; exponents at both ends, and near those of the other operands, of their product and of the
// limits of integers. The same seed makes the same cases everywhere; recorded results depend on that.
// So no expression calls random() twice: compilers may evaluate operands in either order.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// One case. a, b and c have a number in their lowest bits; x is an integer.
struct FpCase {
  u32 fpcr;
  u64 a, b, c, x;
};

class FpCases {
 public:
  /// Makes cases for numbers of 16, 32 or 64 bits.
  FpCases(int width, u64 seed)
      : width_(width),
        fraction_bits_(width == 16   ? 10
                       : width == 32 ? 23
                                     : 52),
        state_(seed * 0x9E3779B97F4A7C15u) {}

  FpCase next() {
    FpCase c;
    u32 mode = static_cast<u32>(random());
    // RMode varies; FZ, DN, AHP and FZ16 vary in half of the cases.
    c.fpcr = (mode & 3) << 22;
    if (mode & 4) c.fpcr |= (mode >> 3 & 7) << 24 | (mode >> 6 & 1) << 19;
    c.a = number(random());
    c.b = number(c.a);
    c.c = random() % 2 != 0 ? near_product(c.a, c.b) : number(c.b);
    u32 shift = static_cast<u32>(random() % 64);
    c.x = random() % 8 == 0 ? u64{1} << shift : (random() % 3 != 0 ? fraction(63) : random()) >> shift;
    if (random() % 2 != 0) c.x = 0 - c.x;
    return c;
  }

  u64 random() {
    u64 z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  u64 highest_exponent() const { return (u64{1} << (width_ - 1 - fraction_bits_)) - 1; }
  u64 exponent_of(u64 number) const { return number >> fraction_bits_ & highest_exponent(); }
  u64 assemble(u64 exponent, u64 fraction) {
    return (random() & 1) << (width_ - 1) | (exponent & highest_exponent()) << fraction_bits_ | fraction;
  }

  u64 fraction(int bits) {
    u64 mask = (u64{1} << bits) - 1, one = u64{1} << random() % static_cast<u64>(bits);
    switch (random() % 8) {
      case 0: return 0;
      case 1: return mask;
      case 2: return one;
      case 3: return mask ^ one;
      case 4: return mask & (0 - one);
      case 5: return one - 1;
      case 6: {
        const u64 other = u64{1} << random() % static_cast<u64>(bits), low = random() % 4;
        return (one | other | low) & mask;
      }
      default: return random() & mask;
    }
  }

  u64 number(u64 other) {
    u64 top = highest_exponent(), bias = top >> 1, bits = static_cast<u64>(fraction_bits_);
    u64 exponent = 0, part = fraction(fraction_bits_);
    switch (random() % 12) {
      case 0:
      case 1:
        exponent = random() % 2 != 0 ? 0 : top;
        if (random() % 3 == 0) part = 0;
        break;
      case 2: exponent = 1 + random() % 3; break;
      case 3: exponent = top - 1 - random() % 3; break;
      case 4: exponent = bias - 2 + random() % 4; break;
      case 5: exponent = exponent_of(other) + random() % 5 - 2; break;
      case 6: {
        const u64 near = other + random() % 5 - 2, sign = random() & 1;
        return (near ^ sign << (width_ - 1)) & (~u64{0} >> (64 - width_));
      }
      case 7: exponent = bias + random() % (bits + 13); break;
      case 8: exponent = 2 * bias - exponent_of(other) + random() % 5 - 2; break;
      case 9: exponent = exponent_of(other) + random() % (2 * bits + 6) - bits - 3; break;
      default: exponent = random(); break;
    }
    return assemble(exponent, part);
  }

  u64 near_product(u64 a, u64 b) {
    u64 exponent = exponent_of(a) + exponent_of(b) - (highest_exponent() >> 1) + random() % 5 - 2;
    return assemble(exponent, fraction(fraction_bits_));
  }

  int width_, fraction_bits_;
  u64 state_;
};

}  // namespace myriarm
