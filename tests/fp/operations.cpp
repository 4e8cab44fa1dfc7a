// SPDX-License-Identifier: Apache-2.0
// Operations with operands and result of one format, comparisons, and the widening multiply-add.
#include "fp/operations.h"

#include <type_traits>

#include "core/fp/estimate.h"
#include "core/fp/scalar.h"

namespace myriarm::fp {
namespace {

/// A processor with four SIMD&FP registers, for rows that change operands before the arithmetic.
template <class Ctx>
struct SmallCpu {
  using Fp = Ctx;
  u64 low[4], fpcr, fpsr;
  bool gave_up = false;
  u64 v(u32 n, u32) const { return low[n]; }
  void set_v(u32 n, u32 half, u64 value) {
    if (half == 0) low[n] = value;
  }
  u64 system(SystemField field) const { return field == SystemField::fpcr ? fpcr : fpsr; }
  void set_system(SystemField, u64 value) { fpsr = value; }
  bool give_up() {
    gave_up = true;
    return false;
  }
};

/// Runs a row with a, b and c in registers 1, 2 and 3.
template <class Row, class Ctx>
uint64_t run_row(Row row, const Operands& o, Ctx& ctx) {
  SmallCpu<Ctx> cpu = {{0, o.a, o.b, o.c}, ctx.fpcr, 0};
  if constexpr (!std::is_same_v<Ctx, FpContext>) cpu.fpsr = ctx.inexact ? u32{FPExc_Inexact} : 0;
  myriarm::Operands operands = {};
  operands.rn = 1;
  operands.rm = 2;
  operands.ra = 3;
  row(cpu, operands);
  if constexpr (!std::is_same_v<Ctx, FpContext>) ctx.missed = cpu.gave_up;
  ctx.exceptions = static_cast<u32>(cpu.fpsr);
  return cpu.low[0];
}

using Cases = std::function<void(int level, const Sink& sink)>;

template <int N>
class Appender {
 public:
  explicit Appender(std::vector<Operation>& list) : list_(list) {}

  void append() {
    Cases pairs = [](int level, const Sink& sink) { each_pair(kFormat, level, sink); };
    Cases sums = with(pairs, each_sum), products = with(pairs, each_product), quotients = with(pairs, each_quotient);
    Cases numbers = [](int level, const Sink& sink) { each_number(kFormat, level, sink); };

    two(
        "add", "FADD", sums, [](u64 a, u64 b, auto& ctx) { return FPAdd<N>(a, b, ctx); }, &Oracle::add, edge_sum);
    two(
        "sub", "FSUB", sums, [](u64 a, u64 b, auto& ctx) { return FPSub<N>(a, b, ctx); }, &Oracle::subtract, edge_sum);
    two(
        "mul", "FMUL", products, [](u64 a, u64 b, auto& ctx) { return FPMul<N>(a, b, ctx); }, &Oracle::multiply,
        edge_product);
    two("mul", "FMULX", pairs, [](u64 a, u64 b, auto& ctx) { return FPMulX<N>(a, b, ctx); }, &Oracle::multiply_extended,
        {});
    row(
        "mul", "FNMUL", pairs, [](auto& cpu, const auto& o) { return fp_binary<N, FpBinary::nmul>(cpu, o); },
        [](const Operands& o, Oracle& mpfr) { return mpfr.multiply(N, o.a, o.b) ^ kFormat.sign(); }, edge_product);
    two(
        "div", "FDIV", quotients, [](u64 a, u64 b, auto& ctx) { return FPDiv<N>(a, b, ctx); }, &Oracle::divide,
        edge_quotient);
    one(
        "sqrt", "FSQRT", with(numbers, each_square), [](u64 a, auto& ctx) { return FPSqrt<N>(a, ctx); },
        &Oracle::square_root, edge_number);

    two(
        "minmax", "FMAX", pairs, [](u64 a, u64 b, auto& ctx) { return FPMax<N>(a, b, ctx); }, &Oracle::maximum,
        edge_sum, false);
    two(
        "minmax", "FMIN", pairs, [](u64 a, u64 b, auto& ctx) { return FPMin<N>(a, b, ctx); }, &Oracle::minimum,
        edge_sum, false);
    two(
        "minmax", "FMAXNM", pairs, [](u64 a, u64 b, auto& ctx) { return FPMaxNum<N>(a, b, ctx); },
        &Oracle::maximum_number, edge_sum, false);
    two(
        "minmax", "FMINNM", pairs, [](u64 a, u64 b, auto& ctx) { return FPMinNum<N>(a, b, ctx); },
        &Oracle::minimum_number, edge_sum, false);

    two(
        "compare", "FCMEQ", pairs, [](u64 a, u64 b, auto& ctx) { return FPCompareEQ<N>(a, b, ctx); }, &Oracle::equal,
        edge_sum, false);
    two(
        "compare", "FCMGE", pairs, [](u64 a, u64 b, auto& ctx) { return FPCompareGE<N>(a, b, ctx); },
        &Oracle::greater_equal, edge_sum, false);
    two(
        "compare", "FCMGT", pairs, [](u64 a, u64 b, auto& ctx) { return FPCompareGT<N>(a, b, ctx); }, &Oracle::greater,
        edge_sum, false);
    compare<false>("FCMP", sums);
    compare<true>("FCMPE", pairs);

    two("estimate", "FRECPS", products, [](u64 a, u64 b, auto& ctx) { return FPRecipStepFused<N>(a, b, ctx); },
        &Oracle::reciprocal_step, {});
    two("estimate", "FRSQRTS", products, [](u64 a, u64 b, auto& ctx) { return FPRSqrtStepFused<N>(a, b, ctx); },
        &Oracle::root_step, {});
    one("estimate", "FRECPE", numbers, [](u64 a, auto& ctx) { return FPRecipEstimate<N>(a, ctx); },
        &Oracle::reciprocal_estimate, {});
    one("estimate", "FRSQRTE", numbers, [](u64 a, auto& ctx) { return FPRSqrtEstimate<N>(a, ctx); },
        &Oracle::root_estimate, {});
    one("estimate", "FRECPX", numbers, [](u64 a, auto& ctx) { return FPRecpX<N>(a, ctx); },
        &Oracle::reciprocal_exponent, {});

    sign<FpSign::keep>("FMOV", numbers, ~u64{0}, 0);
    sign<FpSign::clear>("FABS", numbers, ~kFormat.sign(), 0);
    sign<FpSign::flip>("FNEG", numbers, ~u64{0}, kFormat.sign());

    multiply_add<false, false>("FMADD");
    multiply_add<false, true>("FMSUB");
    multiply_add<true, true>("FNMADD");
    multiply_add<true, false>("FNMSUB");
  }

 private:
  static constexpr Format kFormat{N};

  static Cases with(const Cases& first, void (*second)(Format, int, const Sink&)) {
    return [=](int level, const Sink& sink) {
      first(level, sink);
      second(kFormat, level, sink);
    };
  }

  using Edge = Operands (*)(Format, Random&);

  void append(const char* group, const char* name, const Cases& cases, Computation ours,
              std::function<uint64_t(const Operands&, Oracle&)> theirs, Edge edge = {}, bool rounds = true) {
    std::function<Operands(Random&)> edges;
    // Half precision has no overrides.
    if (edge && N != 16) edges = [=](Random& random) { return edge(kFormat, random); };
    list_.push_back({group, name + std::string(" ") + std::to_string(N), arithmetic_controls(N, rounds), cases, ours,
                     theirs, edges});
  }
  template <class Ours, class Result>
  void two(const char* group, const char* name, const Cases& cases, Ours ours,
           Result (Oracle::*theirs)(int, uint64_t, uint64_t), Edge edge = {}, bool rounds = true) {
    append(
        group, name, cases, [=](const Operands& o, auto& ctx) -> uint64_t { return ours(o.a, o.b, ctx); },
        [=](const Operands& o, Oracle& mpfr) -> uint64_t { return (mpfr.*theirs)(N, o.a, o.b); }, edge, rounds);
  }
  template <class Ours>
  void one(const char* group, const char* name, const Cases& cases, Ours ours,
           uint64_t (Oracle::*theirs)(int, uint64_t), Edge edge = {}) {
    append(
        group, name, cases, [=](const Operands& o, auto& ctx) { return ours(o.a, ctx); },
        [=](const Operands& o, Oracle& mpfr) { return (mpfr.*theirs)(N, o.a); }, edge);
  }
  template <class Row>
  void row(const char* group, const char* name, const Cases& cases, Row row,
           std::function<uint64_t(const Operands&, Oracle&)> theirs, Edge edge = {}, bool rounds = true) {
    append(
        group, name, cases, [=](const Operands& o, auto& ctx) { return run_row(row, o, ctx); }, theirs, edge, rounds);
  }
  template <bool signal_nans>
  void compare(const char* name, const Cases& cases) {
    append(
        "compare", name, cases,
        [](const Operands& o, auto& ctx) -> uint64_t { return pack_flags(FPCompare<N>(o.a, o.b, signal_nans, ctx)); },
        [](const Operands& o, Oracle& mpfr) -> uint64_t { return mpfr.compare(N, o.a, o.b, signal_nans); }, edge_sum,
        false);
  }
  template <FpSign kind>
  void sign(const char* name, const Cases& cases, uint64_t keep, uint64_t flip) {
    row(
        "sign", name, cases, [](auto& cpu, const auto& o) { return fp_sign<N, kind>(cpu, o); },
        [=](const Operands& o, Oracle&) { return (o.a & keep) ^ flip; }, {}, false);
  }
  template <bool negate_addend, bool negate_product>
  void multiply_add(const char* name) {
    row(
        "fma", name, [](int level, const Sink& sink) { each_fused(kFormat, kFormat, level, sink); },
        [](auto& cpu, const auto& o) { return fp_multiply_add<N, negate_addend, negate_product>(cpu, o); },
        [](const Operands& o, Oracle& mpfr) {
          return mpfr.multiply_add(N, N, negate_addend ? o.c ^ kFormat.sign() : o.c,
                                   negate_product ? o.a ^ kFormat.sign() : o.a, o.b);
        },
        edge_fused);
  }

  std::vector<Operation>& list_;
};

}  // namespace

void append_arithmetic(std::vector<Operation>& list) {
  Appender<16>(list).append();
  Appender<32>(list).append();
  Appender<64>(list).append();
  list.push_back({"fma",
                  "FMLAL 32 16",
                  under({0, kFlush, kFlush16, kDefaultNan, kFlush | kFlush16 | kDefaultNan}),
                  [](int level, const Sink& sink) { each_fused(Format(32), Format(16), level, sink); },
                  [](const Operands& o, auto& ctx) { return FPMulAddH(o.c, o.a, o.b, ctx); },
                  [](const Operands& o, Oracle& mpfr) { return mpfr.multiply_add(32, 16, o.c, o.a, o.b); },
                  {}});
}

std::vector<Operation> operations() {
  std::vector<Operation> list;
  append_arithmetic(list);
  append_conversions(list);
  return list;
}

}  // namespace myriarm::fp
