// SPDX-License-Identifier: Apache-2.0
// The oracle's arithmetic: unpacking, NaNs, rounding, and operations with a rounded result.
#include "fp/oracle.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace myriarm::fp {
namespace {

// A larger range than any intermediate result of double precision needs, so that only round() limits exponents.
constexpr mpfr_exp_t kWide = 1 << 20;

/// The bits of a value that the format can represent.
uint64_t exact_bits(Format f, mpfr_srcptr value) {
  uint64_t sign = mpfr_signbit(value) ? f.sign() : 0;
  if (mpfr_zero_p(value)) return sign;
  if (mpfr_inf_p(value)) return sign | f.infinity();
  double number = mpfr_get_d(value, MPFR_RNDZ);
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  bits &= ~(uint64_t{1} << 63);
  if (f.width == 64) return sign | bits;
  // From a double, which is normal here.
  int exponent = static_cast<int>(bits >> 52) - 1023 + static_cast<int>(f.bias()), drop = 53 - f.precision();
  uint64_t fraction = bits & Format(64).fraction_mask();
  if (exponent < 1) {
    drop += 1 - exponent;
    fraction |= uint64_t{1} << 52;
    exponent = 0;
  }
  return sign | static_cast<uint64_t>(exponent) << f.fraction_bits() | fraction >> drop;
}

}  // namespace

mpfr_rnd_t mpfr_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: return MPFR_RNDN;
    case Rounding::up: return MPFR_RNDU;
    case Rounding::down: return MPFR_RNDD;
    case Rounding::zero:
    case Rounding::odd: return MPFR_RNDZ;
    default: break;
  }
  std::fputs("oracle: arithmetic cannot round to nearest with ties away\n", stderr);
  std::abort();
}

Oracle::Oracle() : half_(11), single_(24), double_(53), integer_(64) {
  mpfr_set_emin(-kWide);
  mpfr_set_emax(kWide);
}

// FPUnpackBase()
void Oracle::unpack(Operand& to, Format f, uint64_t bits, bool flush, bool alternative) {
  uint64_t fraction = bits & f.fraction_mask(), exponent = bits >> f.fraction_bits() & f.top();
  to.bits = bits;
  to.negative = (bits & f.sign()) != 0;
  to.nan = to.signalling = false;
  if (exponent == f.top() && !alternative) {
    to.nan = fraction != 0;
    to.signalling = to.nan && (fraction & f.quiet_bit()) == 0;
    mpfr_set_inf(to.value, to.negative ? -1 : 1);
    return;
  }
  if (exponent == 0 && fraction != 0 && flush) {
    if (f.width != 16) raise(kInputDenormal);
    fraction = 0;
  }
  if (exponent != 0) fraction |= uint64_t{1} << f.fraction_bits();
  mpfr_exp_t unit =
      static_cast<mpfr_exp_t>(exponent != 0 ? exponent : 1) - static_cast<mpfr_exp_t>(f.bias()) - f.fraction_bits();
  mpfr_set_ui_2exp(to.value, fraction, unit, MPFR_RNDN);
  mpfr_setsign(to.value, to.value, to.negative, MPFR_RNDN);
}

// FPProcessNaN()
uint64_t Oracle::nan_result(Format f, const Operand& nan) {
  if (nan.signalling) raise(kInvalidOperation);
  return fpcr_ & kDefaultNan ? f.default_nan() : nan.bits | f.quiet_bit();
}

// FPProcessNaNs()
bool Oracle::nan_of_two(Format f, const Operand& a, const Operand& b, uint64_t& result) {
  for (const Operand* operand : {&a, &b}) {
    if (operand->signalling) {
      result = nan_result(f, *operand);
      return true;
    }
  }
  for (const Operand* operand : {&a, &b}) {
    if (operand->nan) {
      result = nan_result(f, *operand);
      return true;
    }
  }
  return false;
}

// FPRoundBase(). value: rounded to the format's precision, with any exponent; ternary: the direction of that rounding.
uint64_t Oracle::round(Format f, Real& value, int ternary, Rounding rounding, bool flush, bool alternative) {
  if (!mpfr_regular_p(value)) return exact_bits(f, value);
  // Before rounding: a value below the smallest normal number may have been rounded up to it.
  mpfr_exp_t exponent = mpfr_get_exp(value), normal = f.smallest_normal();
  bool smallest = exponent == normal && mpfr_min_prec(value) == 1;
  bool away = mpfr_signbit(value) ? ternary < 0 : ternary > 0;
  bool tiny = exponent < normal || (smallest && away);
  if (tiny && flush) {
    raise(kUnderflow);
    return mpfr_signbit(value) ? f.sign() : 0;
  }
  mpfr_rnd_t mode = mpfr_mode(rounding);
  mpfr_set_emin(normal - f.fraction_bits());
  mpfr_set_emax(f.largest() + alternative);
  mpfr_clear_flags();
  ternary = mpfr_check_range(value, ternary, mode);
  ternary = mpfr_subnormalize(value, ternary, mode);
  bool overflow = mpfr_overflow_p();
  mpfr_set_emin(-kWide);
  mpfr_set_emax(kWide);
  if (overflow && alternative) {
    raise(kInvalidOperation);
    return (mpfr_signbit(value) ? f.sign() : 0) | (f.sign() - 1);
  }
  uint64_t result = exact_bits(f, value);
  if (ternary != 0) {
    raise(kInexact | (tiny ? kUnderflow : 0u) | (overflow ? kOverflow : 0u));
    if (rounding == Rounding::odd) result |= 1;
  }
  return result;
}

// The part of FPAdd(), FPMul(), ... after the handling of NaN operands. A result without a value is invalid; infinities
// and signs of zeros are those of IEEE 754, which MPFR follows.
template <class Compute>
uint64_t Oracle::arithmetic(Format f, Compute compute) {
  Real& result = result_of(f);
  mpfr_clear_flags();
  int ternary = compute(result, mpfr_mode(rounding()));
  if (mpfr_nan_p(result)) {
    raise(kInvalidOperation);
    return f.default_nan();
  }
  if (mpfr_divby0_p()) raise(kDivideByZero);
  return round(f, result, ternary, rounding(), flushes(f), false);
}

template <class Compute>
uint64_t Oracle::two_operands(int width, uint64_t a, uint64_t b, Compute compute) {
  Format f(width);
  unpack(a_, f, a);
  unpack(b_, f, b);
  uint64_t result;
  if (nan_of_two(f, a_, b_, result)) return result;
  return arithmetic(f, [&](mpfr_ptr to, mpfr_rnd_t mode) { return compute(to, a_.value, b_.value, mode); });
}

// FPAdd()
uint64_t Oracle::add(int width, uint64_t a, uint64_t b) {
  return two_operands(width, a, b,
                      [](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) { return mpfr_add(to, x, y, m); });
}

// FPSub()
uint64_t Oracle::subtract(int width, uint64_t a, uint64_t b) {
  return two_operands(width, a, b,
                      [](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) { return mpfr_sub(to, x, y, m); });
}

// FPMul()
uint64_t Oracle::multiply(int width, uint64_t a, uint64_t b) {
  return two_operands(width, a, b,
                      [](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) { return mpfr_mul(to, x, y, m); });
}

// FPMulX(): zero times infinity is 2.
uint64_t Oracle::multiply_extended(int width, uint64_t a, uint64_t b) {
  return two_operands(width, a, b, [](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) {
    if ((mpfr_zero_p(x) && mpfr_inf_p(y)) || (mpfr_inf_p(x) && mpfr_zero_p(y))) {
      return mpfr_set_si(to, mpfr_signbit(x) == mpfr_signbit(y) ? 2 : -2, m);
    }
    return mpfr_mul(to, x, y, m);
  });
}

// FPDiv()
uint64_t Oracle::divide(int width, uint64_t a, uint64_t b) {
  return two_operands(width, a, b,
                      [](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) { return mpfr_div(to, x, y, m); });
}

// FPSqrt()
uint64_t Oracle::square_root(int width, uint64_t a) {
  Format f(width);
  unpack(a_, f, a);
  if (a_.nan) return nan_result(f, a_);
  return arithmetic(f, [&](mpfr_ptr to, mpfr_rnd_t mode) { return mpfr_sqrt(to, a_.value, mode); });
}

// FPMulAdd(); with narrower factors FPMulAddH(), which converts their NaNs first. FPProcessNaNs3(): signalling NaNs
// come first; otherwise the order is addend, a, b.
uint64_t Oracle::multiply_add(int width, int factors, uint64_t addend, uint64_t a, uint64_t b) {
  Format f(width);
  unpack(c_, f, addend);
  unpack(a_, Format(factors), a);
  unpack(b_, Format(factors), b);
  bool invalid = (a_.infinite() && b_.zero()) || (a_.zero() && b_.infinite());
  for (bool signalling : {true, false}) {
    for (const Operand* operand : {&c_, &a_, &b_}) {
      if (!operand->nan || operand->signalling != signalling) continue;
      if (operand == &c_ && c_.quiet() && invalid) {
        raise(kInvalidOperation);
        return f.default_nan();
      }
      if (operand == &c_ || factors == width) return nan_result(f, *operand);
      if (signalling) raise(kInvalidOperation);
      if (fpcr_ & kDefaultNan) return f.default_nan();
      uint64_t payload = (operand->bits & Format(factors).fraction_mask())
                         << (f.precision() - Format(factors).precision());
      return (operand->negative ? f.sign() : 0) | f.default_nan() | payload;
    }
  }
  return arithmetic(f, [&](mpfr_ptr to, mpfr_rnd_t mode) { return mpfr_fma(to, a_.value, b_.value, c_.value, mode); });
}

// FPRecipStepFused()
uint64_t Oracle::reciprocal_step(int width, uint64_t a, uint64_t b) {
  a ^= Format(width).sign();
  return two_operands(width, a, b, [this](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) {
    mpfr_set_ui(c_.value, 2, MPFR_RNDN);
    if ((mpfr_zero_p(x) && mpfr_inf_p(y)) || (mpfr_inf_p(x) && mpfr_zero_p(y))) return mpfr_set(to, c_.value, m);
    return mpfr_fma(to, x, y, c_.value, m);
  });
}

// FPRSqrtStepFused(): 1.5 + (-a / 2) * b.
uint64_t Oracle::root_step(int width, uint64_t a, uint64_t b) {
  a ^= Format(width).sign();
  return two_operands(width, a, b, [this](mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t m) {
    mpfr_set_ui_2exp(c_.value, 3, -1, MPFR_RNDN);
    if ((mpfr_zero_p(x) && mpfr_inf_p(y)) || (mpfr_inf_p(x) && mpfr_zero_p(y))) return mpfr_set(to, c_.value, m);
    mpfr_div_2ui(integer_, x, 1, MPFR_RNDN);
    return mpfr_fma(to, integer_, y, c_.value, m);
  });
}

// FPMax(), FPMin(). The maximum of two zeros is negative only if both are.
uint64_t Oracle::larger(int width, uint64_t a, uint64_t b, bool maximum) {
  Format f(width);
  unpack(a_, f, a);
  unpack(b_, f, b);
  uint64_t result;
  if (nan_of_two(f, a_, b_, result)) return result;
  if (a_.zero() && b_.zero()) return (maximum ? a_.negative && b_.negative : a_.negative || b_.negative) ? f.sign() : 0;
  int order = mpfr_cmp(a_.value, b_.value);
  return exact_bits(f, (maximum ? order > 0 : order < 0) ? a_.value : b_.value);
}

// FPMaxNum(), FPMinNum(): if one operand is a quiet NaN, the result is the other.
uint64_t Oracle::larger_number(int width, uint64_t a, uint64_t b, bool maximum) {
  Format f(width);
  uint64_t least = f.infinity() | (maximum ? f.sign() : 0);
  unpack(a_, f, a);
  unpack(b_, f, b);
  if (a_.quiet() && !b_.quiet()) return larger(width, least, b, maximum);
  if (b_.quiet() && !a_.quiet()) return larger(width, a, least, maximum);
  return larger(width, a, b, maximum);
}

// FPCompare()
uint32_t Oracle::compare(int width, uint64_t a, uint64_t b, bool signal_quiet_nans) {
  Format f(width);
  unpack(a_, f, a);
  unpack(b_, f, b);
  if (a_.nan || b_.nan) {
    if (signal_quiet_nans || a_.signalling || b_.signalling) raise(kInvalidOperation);
    return 3;
  }
  int order = mpfr_cmp(a_.value, b_.value);
  return order < 0 ? 8 : order == 0 ? 6 : 2;
}

// FPCompareEQ(), FPCompareGE(), FPCompareGT(): only the first does not signal quiet NaNs.
bool Oracle::equal(int width, uint64_t a, uint64_t b) { return compare(width, a, b, false) == 6; }
bool Oracle::greater_equal(int width, uint64_t a, uint64_t b) {
  uint32_t nzcv = compare(width, a, b, true);
  return nzcv == 6 || nzcv == 2;
}
bool Oracle::greater(int width, uint64_t a, uint64_t b) { return compare(width, a, b, true) == 2; }

// FPRecipEstimate(), RecipEstimate(): the upper eight bits of the fraction stand for an interval. The estimate is the
// reciprocal of its midpoint, rounded to nine bits.
uint64_t Oracle::reciprocal_estimate(int width, uint64_t a) {
  Format f(width);
  unpack(a_, f, a);
  uint64_t sign = a_.negative ? f.sign() : 0;
  if (a_.nan) return nan_result(f, a_);
  if (a_.infinite()) return sign;
  if (a_.zero()) {
    raise(kDivideByZero);
    return sign | f.infinity();
  }
  mpfr_exp_t exponent = mpfr_get_exp(a_.value);
  if (exponent <= -f.largest()) {
    raise(kOverflow | kInexact);
    bool away = rounding() == Rounding::nearest_even || rounding() == (a_.negative ? Rounding::down : Rounding::up);
    return sign | (f.infinity() - !away);
  }
  if (flushes(f) && exponent >= f.largest() - 1) {
    raise(kUnderflow);
    return sign;
  }
  mpfr_abs(integer_, a_.value, MPFR_RNDN);
  mpfr_mul_2si(integer_, integer_, 9 - exponent, MPFR_RNDN);
  mpfr_floor(integer_, integer_);
  mpfr_mul_2ui(integer_, integer_, 1, MPFR_RNDN);
  mpfr_add_ui(integer_, integer_, 1, MPFR_RNDN);
  mpfr_ui_div(integer_, 1u << 18, integer_, MPFR_RNDN);
  mpfr_round(integer_, integer_);
  mpfr_mul_2si(integer_, integer_, -8 - exponent, MPFR_RNDN);
  return sign | exact_bits(f, integer_);
}

// FPRSqrtEstimate(), RecipSqrtEstimate(): the same with the reciprocal square root of a number from 0.25 to 1.
uint64_t Oracle::root_estimate(int width, uint64_t a) {
  Format f(width);
  unpack(a_, f, a);
  uint64_t sign = a_.negative ? f.sign() : 0;
  if (a_.nan) return nan_result(f, a_);
  if (a_.zero()) {
    raise(kDivideByZero);
    return sign | f.infinity();
  }
  if (a_.negative) {
    raise(kInvalidOperation);
    return f.default_nan();
  }
  if (a_.infinite()) return 0;
  // The value is a power of 4 times a number from 0.25 to 1, of which eight bits are used.
  mpfr_exp_t exponent = mpfr_get_exp(a_.value), half = exponent % 2 == 0 ? exponent / 2 : (exponent + 1) / 2;
  mpfr_mul_2si(integer_, a_.value, 8 - exponent, MPFR_RNDN);
  mpfr_floor(integer_, integer_);
  mpfr_mul_2ui(integer_, integer_, 1, MPFR_RNDN);
  mpfr_add_ui(integer_, integer_, 1, MPFR_RNDN);
  mpfr_mul_2si(integer_, integer_, exponent - 2 * half - 9, MPFR_RNDN);
  mpfr_rec_sqrt(integer_, integer_, MPFR_RNDN);
  mpfr_mul_2ui(integer_, integer_, 8, MPFR_RNDN);
  mpfr_round(integer_, integer_);
  mpfr_mul_2si(integer_, integer_, -8 - half, MPFR_RNDN);
  return exact_bits(f, integer_);
}

// FPRecpX(): inverts the exponent's bits; for a zero or subnormal number, the largest exponent.
uint64_t Oracle::reciprocal_exponent(int width, uint64_t a) {
  Format f(width);
  unpack(a_, f, a);
  if (a_.nan) return nan_result(f, a_);
  uint64_t exponent = a >> f.fraction_bits() & f.top();
  exponent = exponent == 0 ? f.top() - 1 : exponent ^ f.top();
  return (a & f.sign()) | exponent << f.fraction_bits();
}

}  // namespace myriarm::fp
