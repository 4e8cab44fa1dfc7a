// SPDX-License-Identifier: Apache-2.0
// Operations whose operands and result are of one format, comparisons, and the widening multiply-add.
#include "fp/operations.h"

#include "core/fp/estimate.h"
#include "core/fp/scalar.h"

namespace myriarm::fp {
namespace {

/// A processor of four SIMD&FP registers, for rows whose operands are changed on the way to the arithmetic.
struct SmallCpu {
  u64 low[4], fpcr, fpsr;
  u64 v(u32 n, u32) const { return low[n]; }
  void set_v(u32 n, u32 half, u64 value) {
    if (half == 0) low[n] = value;
  }
  u64 system(SystemField field) const { return field == SystemField::fpcr ? fpcr : fpsr; }
  void set_system(SystemField, u64 value) { fpsr = value; }
};

using Row = Outcome (*)(SmallCpu&, const myriarm::Operands&);

/// Runs a row with a, b and c in the registers 1, 2 and 3.
template <Row row>
uint64_t run_row(const Operands& o, FpContext& ctx) {
  SmallCpu cpu = {{~u64{0}, o.a, o.b, o.c}, ctx.fpcr, ctx.exceptions};
  myriarm::Operands operands = {};
  operands.rn = 1;
  operands.rm = 2;
  operands.ra = 3;
  row(cpu, operands);
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

    two("add", "FADD", sums, FPAdd<N>, &Oracle::add);
    two("sub", "FSUB", sums, FPSub<N>, &Oracle::subtract);
    two("mul", "FMUL", products, FPMul<N>, &Oracle::multiply);
    two("mul", "FMULX", pairs, FPMulX<N>, &Oracle::multiply_extended);
    two("div", "FDIV", quotients, FPDiv<N>, &Oracle::divide);
    one("sqrt", "FSQRT", with(numbers, each_square), FPSqrt<N>, &Oracle::square_root);

    two("minmax", "FMAX", pairs, FPMax<N>, &Oracle::maximum, false);
    two("minmax", "FMIN", pairs, FPMin<N>, &Oracle::minimum, false);
    two("minmax", "FMAXNM", pairs, FPMaxNum<N>, &Oracle::maximum_number, false);
    two("minmax", "FMINNM", pairs, FPMinNum<N>, &Oracle::minimum_number, false);

    two("compare", "FCMEQ", pairs, FPCompareEQ<N>, &Oracle::equal, false);
    two("compare", "FCMGE", pairs, FPCompareGE<N>, &Oracle::greater_equal, false);
    two("compare", "FCMGT", pairs, FPCompareGT<N>, &Oracle::greater, false);
    compare<false>("FCMP", sums);
    compare<true>("FCMPE", pairs);

    two("estimate", "FRECPS", products, FPRecipStepFused<N>, &Oracle::reciprocal_step);
    two("estimate", "FRSQRTS", products, FPRSqrtStepFused<N>, &Oracle::root_step);
    one("estimate", "FRECPE", numbers, FPRecipEstimate<N>, &Oracle::reciprocal_estimate);
    one("estimate", "FRSQRTE", numbers, FPRSqrtEstimate<N>, &Oracle::root_estimate);
    one("estimate", "FRECPX", numbers, FPRecpX<N>, &Oracle::reciprocal_exponent);

    sign<fp_sign<N, FpSign::keep, SmallCpu>>("FMOV", numbers, ~u64{0}, 0);
    sign<fp_sign<N, FpSign::clear, SmallCpu>>("FABS", numbers, ~kFormat.sign(), 0);
    sign<fp_sign<N, FpSign::flip, SmallCpu>>("FNEG", numbers, ~u64{0}, kFormat.sign());

    row("mul", "FNMUL", pairs, run_row<fp_binary<N, FpBinary::nmul, SmallCpu>>,
        [](const Operands& o, Oracle& mpfr) { return mpfr.multiply(N, o.a, o.b) ^ kFormat.sign(); });
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

  template <class Ours, class Theirs>
  void row(const char* group, const char* name, const Cases& cases, Ours ours, Theirs theirs, bool rounds = true) {
    list_.push_back(
        {group, name + std::string(" ") + std::to_string(N), arithmetic_controls(N, rounds), cases, ours, theirs});
  }
  template <class Result, class Theirs>
  void two(const char* group, const char* name, const Cases& cases, Result (*ours)(u64, u64, FpContext&),
           Theirs (Oracle::*theirs)(int, uint64_t, uint64_t), bool rounds = true) {
    row(
        group, name, cases, [=](const Operands& o, FpContext& ctx) -> uint64_t { return ours(o.a, o.b, ctx); },
        [=](const Operands& o, Oracle& mpfr) -> uint64_t { return (mpfr.*theirs)(N, o.a, o.b); }, rounds);
  }
  void one(const char* group, const char* name, const Cases& cases, u64 (*ours)(u64, FpContext&),
           uint64_t (Oracle::*theirs)(int, uint64_t)) {
    row(
        group, name, cases, [=](const Operands& o, FpContext& ctx) { return ours(o.a, ctx); },
        [=](const Operands& o, Oracle& mpfr) { return (mpfr.*theirs)(N, o.a); });
  }
  template <bool signal_nans>
  void compare(const char* name, const Cases& cases) {
    row(
        "compare", name, cases,
        [](const Operands& o, FpContext& ctx) -> uint64_t {
          return pack_flags(FPCompare<N>(o.a, o.b, signal_nans, ctx));
        },
        [](const Operands& o, Oracle& mpfr) -> uint64_t { return mpfr.compare(N, o.a, o.b, signal_nans); }, false);
  }
  template <Row semantics>
  void sign(const char* name, const Cases& cases, uint64_t keep, uint64_t flip) {
    row(
        "sign", name, cases, run_row<semantics>, [=](const Operands& o, Oracle&) { return (o.a & keep) ^ flip; },
        false);
  }
  template <bool negate_addend, bool negate_product>
  void multiply_add(const char* name) {
    Cases fused = [](int level, const Sink& sink) { each_fused(kFormat, kFormat, level, sink); };
    row("fma", name, fused, run_row<fp_multiply_add<N, negate_addend, negate_product, SmallCpu>>,
        [](const Operands& o, Oracle& mpfr) {
          return mpfr.multiply_add(N, N, negate_addend ? o.c ^ kFormat.sign() : o.c,
                                   negate_product ? o.a ^ kFormat.sign() : o.a, o.b);
        });
  }

  std::vector<Operation>& list_;
};

}  // namespace

void append_arithmetic(std::vector<Operation>& list) {
  Appender<16>(list).append();
  Appender<32>(list).append();
  Appender<64>(list).append();
  list.push_back({"fma", "FMLAL 32 16", under({0, kFlush, kFlush16, kDefaultNan, kFlush | kFlush16 | kDefaultNan}),
                  [](int level, const Sink& sink) { each_fused(Format(32), Format(16), level, sink); },
                  [](const Operands& o, FpContext& ctx) { return FPMulAddH(o.c, o.a, o.b, ctx); },
                  [](const Operands& o, Oracle& mpfr) { return mpfr.multiply_add(32, 16, o.c, o.a, o.b); }});
}

std::vector<Operation> operations() {
  std::vector<Operation> list;
  append_arithmetic(list);
  append_conversions(list);
  return list;
}

}  // namespace myriarm::fp
