// SPDX-License-Identifier: Apache-2.0
// The operations under test: for each its operands, its computation by src/core/fp, and its computation by the oracle.
#pragma once

#include <string>
#include <vector>

#include "core/fp/native.h"
#include "fp/operands.h"
#include "fp/oracle.h"

namespace myriarm::fp {

/// The computation by src/core/fp with each context: the reference, and those with overrides by the machine's
/// arithmetic.
struct Computation {
  template <class Compute>
  Computation(Compute compute) : reference(compute), giving_up(compute), falling_back(compute) {}
  std::function<uint64_t(const Operands&, FpContext&)> reference;
  std::function<uint64_t(const Operands&, NativeFpContext<true>&)> giving_up;
  std::function<uint64_t(const Operands&, NativeFpContext<false>&)> falling_back;
};

struct Operation {
  const char* group;  // operations of a group run together
  std::string name;
  std::vector<uint32_t> controls;  // values of FPCR
  std::function<void(int level, const Sink& sink)> cases;
  Computation ours;
  std::function<uint64_t(const Operands&, Oracle&)> oracle;
  /// Random operands near the limits of its override; empty if it has none.
  std::function<Operands(Random&)> edges;
};

/// All operations, in three formats. Groups: add, sub, mul, div, sqrt, fma, compare, minmax, round, convert,
/// to_integer, from_integer, estimate, sign.
std::vector<Operation> operations();

// Append parts of that list.
void append_arithmetic(std::vector<Operation>& list);
void append_conversions(std::vector<Operation>& list);

/// FPCR with each of `bits`, in all four rounding modes, or in two if the operation has a rounding mode of its own.
inline std::vector<uint32_t> under(std::initializer_list<uint32_t> bits, bool rounds = true) {
  std::vector<uint32_t> list;
  for (uint32_t control : bits) {
    for (uint32_t mode = 0; mode < 4; mode += rounds ? 1 : 2) list.push_back(control | mode << 22);
  }
  return list;
}

/// Values of FPCR for arithmetic of one width: flushing, default NaNs, and all other bits, which must have no effect.
inline std::vector<uint32_t> arithmetic_controls(int width, bool rounds = true) {
  uint32_t flush = width == 16 ? kFlush16 : kFlush, others = (flush ^ kFlush ^ kFlush16) | kAlternativeHalf;
  return under({0, flush, kDefaultNan, flush | kDefaultNan, others, flush | kDefaultNan | others}, rounds);
}

}  // namespace myriarm::fp
