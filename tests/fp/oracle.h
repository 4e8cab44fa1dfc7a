// SPDX-License-Identifier: Apache-2.0
// The results of A64's floating-point operations, computed with GNU MPFR, which gives the correctly rounded value. The
// rules that Arm's manual adds to IEEE 754 are written here, without use of src/: which NaN, flushing to zero, tininess
// before rounding, the bits of FPSR. Each function names its pseudocode (Arm ARM, shared/functions/float).
#pragma once

#include <mpfr.h>

#include "fp/format.h"

namespace myriarm::fp {

/// MPFR's name of the mode. Odd becomes toward zero, which round() completes; nearest_away is an error.
mpfr_rnd_t mpfr_mode(Rounding rounding);

/// An MPFR number that frees its memory.
class Real {
 public:
  explicit Real(int precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }
  /// Some functions of MPFR are macros that access members.
  mpfr_srcptr operator->() const { return value_; }

 private:
  mpfr_t value_;
};

/// The operations under one FPCR. Operands and results are the bits of numbers of the given width.
class Oracle {
 public:
  Oracle();
  ~Oracle() { mpfr_free_cache(); }

  /// Sets FPCR and clears the exceptions.
  void begin(uint32_t fpcr) {
    fpcr_ = fpcr;
    exceptions_ = 0;
  }
  /// The bits of FPSR that were raised since begin().
  uint32_t exceptions() const { return exceptions_; }
  /// FPCR.RMode.
  Rounding rounding() const { return static_cast<Rounding>(fpcr_ >> 22 & 3); }

  uint64_t add(int width, uint64_t a, uint64_t b);
  uint64_t subtract(int width, uint64_t a, uint64_t b);
  uint64_t multiply(int width, uint64_t a, uint64_t b);
  uint64_t multiply_extended(int width, uint64_t a, uint64_t b);
  uint64_t divide(int width, uint64_t a, uint64_t b);
  uint64_t square_root(int width, uint64_t a);
  /// addend + a * b. factors: the width of a and b, which may be less than that of the addend and the result.
  uint64_t multiply_add(int width, int factors, uint64_t addend, uint64_t a, uint64_t b);
  /// 2 - a * b, and (3 - a * b) / 2.
  uint64_t reciprocal_step(int width, uint64_t a, uint64_t b);
  uint64_t root_step(int width, uint64_t a, uint64_t b);

  uint64_t maximum(int width, uint64_t a, uint64_t b) { return larger(width, a, b, true); }
  uint64_t minimum(int width, uint64_t a, uint64_t b) { return larger(width, a, b, false); }
  uint64_t maximum_number(int width, uint64_t a, uint64_t b) { return larger_number(width, a, b, true); }
  uint64_t minimum_number(int width, uint64_t a, uint64_t b) { return larger_number(width, a, b, false); }

  /// NZCV, N in bit 3.
  uint32_t compare(int width, uint64_t a, uint64_t b, bool signal_quiet_nans);
  bool equal(int width, uint64_t a, uint64_t b);
  bool greater_equal(int width, uint64_t a, uint64_t b);
  bool greater(int width, uint64_t a, uint64_t b);

  uint64_t round_to_integral(int width, uint64_t a, Rounding rounding, bool exact);
  uint64_t convert(int from, int to, uint64_t a, Rounding rounding);
  /// Converts a * 2^fraction_bits to an integer of `bits` bits: 16, 32 or 64.
  uint64_t to_fixed(int width, int bits, uint64_t a, int fraction_bits, bool is_unsigned, Rounding rounding);
  /// Converts an integer of 16, 32 or 64 bits, divided by 2^fraction_bits.
  uint64_t from_fixed(int bits, int width, uint64_t integer, int fraction_bits, bool is_unsigned, Rounding rounding);
  /// Returns the integer modulo 2^32, and in bit 32 the Z flag.
  uint64_t to_javascript_integer(uint64_t a);

  uint64_t reciprocal_estimate(int width, uint64_t a);
  uint64_t root_estimate(int width, uint64_t a);
  uint64_t reciprocal_exponent(int width, uint64_t a);

 private:
  struct Operand {
    explicit Operand() : value(64) {}
    uint64_t bits = 0;
    bool negative = false, nan = false, signalling = false;
    Real value;
    bool quiet() const { return nan && !signalling; }
    bool zero() const { return !nan && mpfr_zero_p(value); }
    bool infinite() const { return !nan && mpfr_inf_p(value); }
  };

  void raise(uint32_t exceptions) { exceptions_ |= exceptions; }
  bool flushes(Format f) const { return (fpcr_ & (f.width == 16 ? kFlush16 : kFlush)) != 0; }
  void unpack(Operand& to, Format f, uint64_t bits) { unpack(to, f, bits, flushes(f), false); }
  void unpack(Operand& to, Format f, uint64_t bits, bool flush, bool alternative);
  uint64_t nan_result(Format f, const Operand& nan);
  bool nan_of_two(Format f, const Operand& a, const Operand& b, uint64_t& result);
  template <class Compute>
  uint64_t arithmetic(Format f, Compute compute);
  template <class Compute>
  uint64_t two_operands(int width, uint64_t a, uint64_t b, Compute compute);
  uint64_t round(Format f, Real& value, int ternary, Rounding rounding, bool flush, bool alternative);
  uint64_t larger(int width, uint64_t a, uint64_t b, bool maximum);
  uint64_t larger_number(int width, uint64_t a, uint64_t b, bool maximum);
  Real& result_of(Format f) { return f.width == 16 ? half_ : f.width == 32 ? single_ : double_; }

  uint32_t fpcr_ = 0, exceptions_ = 0;
  Operand a_, b_, c_;
  Real half_, single_, double_, integer_;
};

}  // namespace myriarm::fp
