// SPDX-License-Identifier: Apache-2.0
// The oracle's conversions: between formats, and to and from integers.
#include "fp/oracle.h"

namespace myriarm::fp {
namespace {

/// Rounds a value to an integer, as both FPRoundInt() and FPToFixed() do. Returns whether it changed.
bool round_to_integer(mpfr_ptr to, mpfr_srcptr value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: mpfr_roundeven(to, value); break;
    case Rounding::up: mpfr_ceil(to, value); break;
    case Rounding::down: mpfr_floor(to, value); break;
    case Rounding::zero: mpfr_trunc(to, value); break;
    default: mpfr_round(to, value); break;
  }
  return !mpfr_equal_p(to, value);
}

}  // namespace

// FPRoundInt()
uint64_t Oracle::round_to_integral(int width, uint64_t a, Rounding rounding, bool exact) {
  Format f(width);
  unpack(a_, f, a);
  if (a_.nan) return nan_result(f, a_);
  if (a_.infinite()) return a;
  if (round_to_integer(result_of(f), a_.value, rounding) && exact) raise(kInexact);
  return round(f, result_of(f), 0, Rounding::zero, false, false);
}

// FPConvert(), with FPUnpackCV() and FPRoundCV(): FZ16 does not apply to conversions.
uint64_t Oracle::convert(int from, int to, uint64_t a, Rounding rounding) {
  Format source(from), target(to);
  bool flush = (fpcr_ & kFlush) != 0, alternative = (fpcr_ & kAlternativeHalf) != 0;
  bool to_alternative = alternative && to == 16;
  unpack(a_, source, a, flush && from != 16, alternative && from == 16);
  uint64_t sign = a_.negative ? target.sign() : 0;
  if (a_.nan) {
    if (to_alternative || a_.signalling) raise(kInvalidOperation);
    if (to_alternative) return sign;
    if (fpcr_ & kDefaultNan) return target.default_nan();
    // FPConvertNaN() keeps the upper bits of the payload.
    uint64_t payload = a & source.fraction_mask();
    int wider = target.fraction_bits() - source.fraction_bits();
    return sign | target.default_nan() | (wider > 0 ? payload << wider : payload >> -wider);
  }
  if (a_.infinite() && to_alternative) {
    raise(kInvalidOperation);
    return sign | (target.sign() - 1);
  }
  Real& result = result_of(target);
  int ternary = mpfr_set(result, a_.value, mpfr_mode(rounding));
  return round(target, result, ternary, rounding, flush && to != 16, to_alternative);
}

// FPToFixed(), SatQ()
uint64_t Oracle::to_fixed(int width, int bits, uint64_t a, int fraction_bits, bool is_unsigned, Rounding rounding) {
  unpack(a_, Format(width), a);
  if (a_.nan) {
    raise(kInvalidOperation);
    return 0;
  }
  uint64_t mask = ~uint64_t{0} >> (64 - bits);
  bool inexact = false, fits = false;
  if (!a_.infinite()) {
    mpfr_mul_2ui(a_.value, a_.value, static_cast<unsigned long>(fraction_bits), MPFR_RNDN);
    inexact = round_to_integer(integer_, a_.value, rounding);
    // From -2^(bits - 1), or 0, up to 2^(bits - 1), or 2^bits.
    fits = is_unsigned ? mpfr_sgn(integer_) >= 0 && mpfr_cmp_ui_2exp(integer_, 1, bits) < 0
                       : mpfr_cmp_si_2exp(integer_, -1, bits - 1) >= 0 && mpfr_cmp_ui_2exp(integer_, 1, bits - 1) < 0;
  }
  if (!fits) {
    raise(kInvalidOperation);
    if (is_unsigned) return a_.negative ? 0 : mask;
    return (mask >> 1) + a_.negative;
  }
  if (inexact) raise(kInexact);
  if (is_unsigned) return mpfr_get_ui(integer_, MPFR_RNDZ);
  return static_cast<uint64_t>(mpfr_get_si(integer_, MPFR_RNDZ)) & mask;
}

// FixedToFP()
uint64_t Oracle::from_fixed(int bits, int width, uint64_t integer, int fraction_bits, bool is_unsigned,
                            Rounding rounding) {
  Format f(width);
  integer <<= 64 - bits;
  if (is_unsigned) {
    mpfr_set_ui(integer_, integer >> (64 - bits), MPFR_RNDN);
  } else {
    mpfr_set_si(integer_, static_cast<int64_t>(integer) >> (64 - bits), MPFR_RNDN);
  }
  if (mpfr_zero_p(integer_)) return 0;
  Real& result = result_of(f);
  int ternary = mpfr_div_2ui(result, integer_, static_cast<unsigned long>(fraction_bits), mpfr_mode(rounding));
  return round(f, result, ternary, rounding, flushes(f), false);
}

// FPToFixedJS()
uint64_t Oracle::to_javascript_integer(uint64_t a) {
  unpack(a_, Format(64), a);
  if (a_.nan || a_.infinite()) {
    raise(kInvalidOperation);
    return 0;
  }
  bool inexact = round_to_integer(integer_, a_.value, Rounding::zero);
  bool fits = mpfr_cmp_si_2exp(integer_, -1, 31) >= 0 && mpfr_cmp_ui_2exp(integer_, 1, 31) < 0;
  // -0 does not count as an integer, nor does a number that was flushed to zero.
  bool same = fits && !inexact && (!a_.zero() || a == 0);
  if (!fits) {
    raise(kInvalidOperation);
  } else if (inexact) {
    raise(kInexact);
  }
  mpfr_set_ui_2exp(a_.value, 1, 32, MPFR_RNDN);
  mpfr_fmod(integer_, integer_, a_.value, MPFR_RNDZ);
  return static_cast<uint32_t>(mpfr_get_si(integer_, MPFR_RNDZ)) | static_cast<uint64_t>(same) << 32;
}

}  // namespace myriarm::fp
