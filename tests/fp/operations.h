// SPDX-License-Identifier: Apache-2.0
// The operations under test: for each the operands, what src/core/fp computes and what the oracle computes.
#pragma once

#include <string>
#include <vector>

#include "core/fp/native.h"
#include "fp/operands.h"
#include "fp/oracle.h"

namespace myriarm::fp {

/// What src/core/fp computes, with each context: the reference's, and those that override it by the machine's arithmetic.
struct Computation {
  template <class Compute>
  Computation(Compute compute) : reference(compute), giving_up(compute), falling_back(compute) {}
  std::function<uint64_t(const Operands&, FpContext&)> reference;
  std::function<uint64_t(const Operands&, NativeFpContext<true>&)> giving_up;
  std::function<uint64_t(const Operands&, NativeFpContext<false>&)> falling_back;
};

struct Operation {
  const char* group;  // operations that a run of the program takes together
  std::string name;
  std::vector<uint32_t> controls;  // values of FPCR
  std::function<void(int level, const Sink& sink)> cases;
  Computation ours;
  std::function<uint64_t(const Operands&, Oracle&)> oracle;
  /// Random operands about the limits of its override; empty where it has none.
  std::function<Operands(Random&)> edges;
};

/// All of them, in three formats. Groups: add, sub, mul, div, sqrt, fma, compare, minmax, round, convert, to_integer,
/// from_integer, estimate, sign.
std::vector<Operation> operations();

// The parts of that list.
void append_arithmetic(std::vector<Operation>& list);
void append_conversions(std::vector<Operation>& list);

/// FPCR with each of `bits`, under all four rounding modes or, where the operation has its own, under two.
inline std::vector<uint32_t> under(std::initializer_list<uint32_t> bits, bool rounds = true) {
  std::vector<uint32_t> list;
  for (uint32_t control : bits) {
    for (uint32_t mode = 0; mode < 4; mode += rounds ? 1 : 2) list.push_back(control | mode << 22);
  }
  return list;
}

/// What matters to arithmetic of one width: flushing and default NaNs, and all other bits, which must not matter.
inline std::vector<uint32_t> arithmetic_controls(int width, bool rounds = true) {
  uint32_t flush = width == 16 ? kFlush16 : kFlush, others = (flush ^ kFlush ^ kFlush16) | kAlternativeHalf;
  return under({0, flush, kDefaultNan, flush | kDefaultNan, others, flush | kDefaultNan | others}, rounds);
}

}  // namespace myriarm::fp
