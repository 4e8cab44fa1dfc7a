// SPDX-License-Identifier: Apache-2.0
// Rounding to integers, and conversions between formats and to and from integers and fixed-point numbers.
#include "fp/operations.h"

namespace myriarm::fp {
namespace {

// In both lists the name is the letter in the mnemonic.
constexpr struct {
  FPRounding ours;
  Rounding theirs;
  char letter;
} kRoundings[] = {{FPRounding::tie_even, Rounding::nearest_even, 'N'},
                  {FPRounding::pos_inf, Rounding::up, 'P'},
                  {FPRounding::neg_inf, Rounding::down, 'M'},
                  {FPRounding::zero, Rounding::zero, 'Z'},
                  {FPRounding::tie_away, Rounding::nearest_away, 'A'}};

std::string name(std::string instruction, int to, int from) {
  return instruction + ' ' + std::to_string(to) + ' ' + std::to_string(from);
}

template <int N>
void append_roundings(std::vector<Operation>& list) {
  auto numbers = [](int level, const Sink& sink) { each_number(Format(N), level, sink); };
  for (auto r : kRoundings) {
    list.push_back({"round",
                    std::string("FRINT") + r.letter + ' ' + std::to_string(N),
                    arithmetic_controls(N, false),
                    numbers,
                    [=](const Operands& o, auto& ctx) { return FPRoundInt<N>(o.a, r.ours, false, ctx); },
                    [=](const Operands& o, Oracle& mpfr) { return mpfr.round_to_integral(N, o.a, r.theirs, false); },
                    {}});
  }
  for (bool exact : {false, true}) {
    list.push_back(
        {"round",
         std::string(exact ? "FRINTX " : "FRINTI ") + std::to_string(N),
         arithmetic_controls(N),
         numbers,
         [=](const Operands& o, auto& ctx) { return FPRoundInt<N>(o.a, FPRoundingMode(ctx), exact, ctx); },
         [=](const Operands& o, Oracle& mpfr) { return mpfr.round_to_integral(N, o.a, mpfr.rounding(), exact); },
         {}});
  }
}

template <int N, int M>
void append_format(std::vector<Operation>& list) {
  auto numbers = [](int level, const Sink& sink) {
    each_number(Format(N), level, sink);
    each_narrowing(Format(N), Format(M), level, sink);
  };
  std::vector<uint32_t> controls;
  for (uint32_t flush : {0u, u32{kFlush}, u32{kFlush16}, u32{kFlush | kFlush16}}) {
    for (uint32_t control :
         under({flush, flush | kDefaultNan, flush | kAlternativeHalf, flush | kDefaultNan | kAlternativeHalf})) {
      controls.push_back(control);
    }
  }
  std::function<Operands(Random&)> edges;
  if (N == 64 && M == 32) edges = [](Random& random) { return edge_narrowing(Format(N), Format(M), random); };
  if (N == 32 && M == 64) edges = [](Random& random) { return edge_number(Format(N), random); };
  list.push_back({"convert", name("FCVT", M, N), controls, numbers,
                  [](const Operands& o, auto& ctx) { return FPConvert<N, M>(o.a, FPRoundingMode(ctx), ctx); },
                  [](const Operands& o, Oracle& mpfr) { return mpfr.convert(N, M, o.a, mpfr.rounding()); }, edges});
  if (N == 64 && M == 32) {
    list.push_back({"convert",
                    name("FCVTXN", M, N),
                    controls,
                    numbers,
                    [](const Operands& o, auto& ctx) { return FPConvert<N, M>(o.a, FPRounding::odd, ctx); },
                    [](const Operands& o, Oracle& mpfr) { return mpfr.convert(N, M, o.a, Rounding::odd); },
                    {}});
  }
}

/// Conversions of N-bit numbers to M-bit integers, and to fixed-point numbers with each number of fraction bits.
template <int N, int M>
void append_to_integer(std::vector<Operation>& list) {
  auto numbers = [](int level, const Sink& sink) { each_number(Format(N), level, sink); };
  for (bool is_unsigned : {false, true}) {
    for (auto r : kRoundings) {
      std::function<Operands(Random&)> edges;
      if (N != 16 && r.ours == FPRounding::zero)
        edges = [](Random& random) { return edge_near_integer(Format(N), random); };
      std::string instruction = std::string("FCVT") + r.letter + (is_unsigned ? 'U' : 'S');
      list.push_back(
          {"to_integer", name(instruction, M, N), arithmetic_controls(N, false), numbers,
           [=](const Operands& o, auto& ctx) { return FPToFixed<N, M>(o.a, 0, is_unsigned, r.ours, ctx); },
           [=](const Operands& o, Oracle& mpfr) { return mpfr.to_fixed(N, M, o.a, 0, is_unsigned, r.theirs); }, edges});
    }
    auto fixed = [=](int level, const Sink& sink) {
      u64 turn = 0;
      each_number(Format(N), level, [&](const Operands& o) {
        bool all = N == 16 && level > 1;
        for (u64 i = 0; i < (all ? M : 1); i++) sink({o.a, turn++ % M + 1});
      });
      for (u64 bits = 1; bits <= M; bits++) {
        for (u64 a : hard_numbers(Format(N), 1)) sink({a, bits});
      }
    };
    list.push_back({"to_integer",
                    name(is_unsigned ? "FCVTZU fixed" : "FCVTZS fixed", M, N),
                    arithmetic_controls(N, false),
                    fixed,
                    [=](const Operands& o, auto& ctx) {
                      return FPToFixed<N, M>(o.a, static_cast<u32>(o.b), is_unsigned, FPRounding::zero, ctx);
                    },
                    [=](const Operands& o, Oracle& mpfr) {
                      return mpfr.to_fixed(N, M, o.a, static_cast<int>(o.b), is_unsigned, Rounding::zero);
                    },
                    {}});
  }
}

template <int M, int N>
void append_from_integer(std::vector<Operation>& list) {
  for (bool is_unsigned : {false, true}) {
    auto integers = [](int level, const Sink& sink) {
      u64 turn = 0;
      each_integer(level, [&](const Operands& o) {
        sink({o.a, 0});
        for (u64 i = 0; i < (level > 1 ? M : 1); i++) sink({o.a, turn++ % M + 1});
      });
      if (M == 16) {
        for (u64 i = 0; i < 0x10000; i++) {
          for (u64 bits = 0; bits <= M; bits += level > 1 ? 1 : M / 2) sink({i, bits});
        }
      }
    };
    std::function<Operands(Random&)> edges;
    if (N != 16 && M != 16) edges = edge_integer;
    list.push_back({"from_integer", name(is_unsigned ? "UCVTF" : "SCVTF", N, M), arithmetic_controls(N), integers,
                    [=](const Operands& o, auto& ctx) {
                      return FixedToFP<M, N>(o.a, static_cast<u32>(o.b), is_unsigned, FPRoundingMode(ctx), ctx);
                    },
                    [=](const Operands& o, Oracle& mpfr) {
                      return mpfr.from_fixed(M, N, o.a, static_cast<int>(o.b), is_unsigned, mpfr.rounding());
                    },
                    edges});
  }
}

template <int N>
void append_width(std::vector<Operation>& list) {
  append_roundings<N>(list);
  if constexpr (N != 16) append_format<N, 16>(list);
  if constexpr (N != 32) append_format<N, 32>(list);
  if constexpr (N != 64) append_format<N, 64>(list);
  append_to_integer<N, 32>(list);
  append_to_integer<N, 64>(list);
  append_from_integer<32, N>(list);
  append_from_integer<64, N>(list);
}

}  // namespace

void append_conversions(std::vector<Operation>& list) {
  append_width<16>(list);
  append_width<32>(list);
  append_width<64>(list);
  // AdvSIMD also converts between numbers and integers of 16 bits.
  append_to_integer<16, 16>(list);
  append_from_integer<16, 16>(list);
  list.push_back({"to_integer",
                  "FJCVTZS 32 64",
                  arithmetic_controls(64, false),
                  [](int level, const Sink& sink) { each_number(Format(64), level, sink); },
                  [](const Operands& o, auto& ctx) -> uint64_t {
                    bool z;
                    u64 result = FPToFixedJS(o.a, ctx, z);
                    return result | static_cast<u64>(z) << 32;
                  },
                  [](const Operands& o, Oracle& mpfr) { return mpfr.to_javascript_integer(o.a); },
                  {}});
}

}  // namespace myriarm::fp
