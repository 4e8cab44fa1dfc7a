// SPDX-License-Identifier: Apache-2.0
// AdvSIMD three different: results of twice or half the element size, from two registers or a register and an indexed
// element; the same on scalars. The arrangement is that of the narrower elements; its upper bit says which half of a
// register they are in.
#pragma once

#include "core/simd/operations.h"

namespace myriarm {
namespace simd {

// Long operations: a and b are narrow elements, d and the result are twice as wide. element.bits is the width of the
// result; half() gets all elements with that width.

template <bool kSigned>
struct AddLong : Signedness<kSigned> {
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_add(e, a, b); }
};
template <bool kSigned>
struct SubLong : Signedness<kSigned> {
  MYR_FN static u64 half(Element& e, u64 a, u64 b, u64) { return half_sub(e, a, b); }
};
template <bool kSigned>
struct MulLong : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64) { return a * b; }
};
template <bool kSigned>
struct MulAddLong : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d + a * b; }
};
template <bool kSigned>
struct MulSubLong : Signedness<kSigned> {
  MYR_FN static u64 apply(Element&, u64 a, u64 b, u64 d) { return d - a * b; }
};
/// SQDMULL: twice the product overflows only if both factors are the smallest number.
struct DoublingMulLong : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64) {
    u64 product = a * b;
    return add_saturated<true, false>(element, product, product);
  }
};
/// SQDMLAL, SQDMLSL.
template <bool kSubtract>
struct DoublingMulAddLong : Signed {
  MYR_FN static u64 apply(Element& element, u64 a, u64 b, u64 d) {
    return add_saturated<true, kSubtract>(element, d, DoublingMulLong::apply(element, a, b, d));
  }
};

}  // namespace simd

/// Op on each element of two parts of 64 bits.
template <class Op, class Cpu>
MYR_FN Outcome long_elements(Cpu& cpu, const Operands& o, u64 n, u64 m) {
  Element element = element_of(arrangement_size(o) + 1);
  u32 wide = element.bits, narrow = wide / 2;
  for (u32 half = 0; half < 2; half++) {
    u64 d = cpu.v(o.rd, half), result = 0;
    if constexpr (requires { Op::half(element, n, m, d); }) {
      result = Op::half(element, widen_elements<Op::kSigned>(element, n), widen_elements<Op::kSigned>(element, m), d);
    } else {
      for (u32 at = 0; at < 64; at += wide) {
        u64 value = Op::apply(element, element_at<Op::kSigned>(n, at / 2, narrow),
                              element_at<Op::kSigned>(m, at / 2, narrow), element_at<Op::kSigned>(d, at, wide));
        result |= (value & ones(wide)) << at;
      }
    }
    cpu.set_v(o.rd, half, result);
    n >>= 32;
    m >>= 32;
  }
  return finish(cpu, element);
}
/// SADDL, SMLAL and similar.
template <class Op, class Cpu>
MYR_FN Outcome vector_long(Cpu& cpu, const Operands& o) {
  u32 part = arrangement_q(o);
  return long_elements<Op>(cpu, o, cpu.v(o.rn, part), cpu.v(o.rm, part));
}
template <class Op, class Cpu>
MYR_FN Outcome vector_long_by_element(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  u64 m = replicate_element(read_element(cpu, o.rm, (u32)o.offset, size), size);
  return long_elements<Op>(cpu, o, cpu.v(o.rn, arrangement_q(o)), m);
}

/// SADDW, SSUBW and similar: Vn has the wide elements.
template <bool kSigned, bool kSubtract, class Cpu>
MYR_FN Outcome vector_wide(Cpu& cpu, const Operands& o) {
  Element wide = element_of(arrangement_size(o) + 1);
  u64 m = cpu.v(o.rm, arrangement_q(o));
  for (u32 half = 0; half < 2; half++) {
    u64 a = cpu.v(o.rn, half), b = widen_elements<kSigned>(wide, m);
    cpu.set_v(o.rd, half, kSubtract ? half_sub(wide, a, b) : half_add(wide, a, b));
    m >>= 32;
  }
  return Outcome::next;
}

/// ADDHN, SUBHN, RADDHN, RSUBHN: the upper half of each sum or difference.
template <bool kSubtract, bool kRound, class Cpu>
MYR_FN Outcome vector_high_narrow(Cpu& cpu, const Operands& o) {
  u32 size = arrangement_size(o);
  Element wide = element_of(size + 1);
  u64 result = 0;
  for (u32 half = 0; half < 2; half++) {
    u64 a = cpu.v(o.rn, half), b = cpu.v(o.rm, half);
    u64 sum = kSubtract ? half_sub(wide, a, b) : half_add(wide, a, b);
    if (kRound) sum = half_add(wide, sum, half_lowest(wide) << (element_bits(size) - 1));
    result |= odd_elements(sum, size) << (half * 32);
  }
  write_part(cpu, o.rd, arrangement_q(o), result);
  return Outcome::next;
}

/// SQDMULL, SQDMLAL, SQDMLSL (scalar). m: the element of Vm.
template <class Op, class Cpu>
MYR_FN Outcome scalar_long_operation(Cpu& cpu, const Operands& o, u64 m) {
  u32 narrow = element_bits(o.aux);
  Element element = element_of(o.aux + 1);
  u64 result = Op::apply(element, extend<Op::kSigned>(cpu.v(o.rn, 0), narrow), extend<Op::kSigned>(m, narrow),
                         extend<Op::kSigned>(cpu.v(o.rd, 0), 2 * narrow));
  write_scalar(cpu, o.rd, result, o.aux + 1);
  return finish(cpu, element);
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_long(Cpu& cpu, const Operands& o) {
  return scalar_long_operation<Op>(cpu, o, cpu.v(o.rm, 0));
}
template <class Op, class Cpu>
MYR_FN Outcome scalar_long_by_element(Cpu& cpu, const Operands& o) {
  return scalar_long_operation<Op>(cpu, o, read_element(cpu, o.rm, (u32)o.offset, o.aux));
}

}  // namespace myriarm
