// SPDX-License-Identifier: Apache-2.0
// The three formats and the bits of FPCR and FPSR, for the tests: taken from Arm's manual, not from src/.
#pragma once

#include <cstdint>

namespace myriarm::fp {

/// Bits of FPSR.
enum Exception : uint32_t {
  kInvalidOperation = 1,
  kDivideByZero = 2,
  kOverflow = 4,
  kUnderflow = 8,
  kInexact = 16,
  kInputDenormal = 128,
};

/// Bits of FPCR; RMode is bits 23:22.
enum Control : uint32_t { kFlush16 = 1u << 19, kFlush = 1u << 24, kDefaultNan = 1u << 25, kAlternativeHalf = 1u << 26 };

/// The first four are the values of FPCR.RMode.
enum class Rounding { nearest_even, up, down, zero, nearest_away, odd };

/// One of the three formats, by its width in bits.
struct Format {
  int width;
  constexpr explicit Format(int bits) : width(bits) {}
  constexpr int precision() const { return width == 16 ? 11 : width == 32 ? 24 : 53; }
  constexpr int fraction_bits() const { return precision() - 1; }
  constexpr uint64_t fraction_mask() const { return (uint64_t{1} << fraction_bits()) - 1; }
  constexpr uint64_t quiet_bit() const { return uint64_t{1} << (fraction_bits() - 1); }
  /// The exponent field of infinities and NaNs.
  constexpr uint64_t top() const { return (uint64_t{1} << (width - precision())) - 1; }
  constexpr uint64_t bias() const { return top() >> 1; }
  constexpr uint64_t sign() const { return uint64_t{1} << (width - 1); }
  constexpr uint64_t mask() const { return sign() | (sign() - 1); }
  constexpr uint64_t infinity() const { return top() << fraction_bits(); }
  constexpr uint64_t default_nan() const { return infinity() | quiet_bit(); }
  // The largest exponent and that of the smallest normal number, as MPFR counts them: for a fraction from 0.5 to 1.
  constexpr int64_t largest() const { return static_cast<int64_t>(bias()) + 1; }
  constexpr int64_t smallest_normal() const { return 2 - static_cast<int64_t>(bias()); }
};

}  // namespace myriarm::fp
