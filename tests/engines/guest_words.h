// SPDX-License-Identifier: Apache-2.0
// Functions that encode the instructions of these tests' programs. GuestWords.AreWhatTheySay in fleet_test.cpp compares
// each with the disassembler. Distances of branches are in instructions.
#pragma once

#include <cstdint>

namespace guest {

constexpr uint32_t kZr = 31;
constexpr uint32_t kEq = 0, kNe = 1, kCs = 2, kLt = 11;

constexpr uint32_t distance(int32_t words, uint32_t bits) { return static_cast<uint32_t>(words) & ((1u << bits) - 1); }

constexpr uint32_t nop() { return 0xD503201F; }
constexpr uint32_t movz(uint32_t d, uint32_t imm16, uint32_t lsl = 0) {
  return 0xD2800000 | lsl / 16 << 21 | imm16 << 5 | d;
}
constexpr uint32_t movk(uint32_t d, uint32_t imm16, uint32_t lsl = 0) {
  return 0xF2800000 | lsl / 16 << 21 | imm16 << 5 | d;
}
constexpr uint32_t add(uint32_t d, uint32_t n, uint32_t imm12) { return 0x91000000 | imm12 << 10 | n << 5 | d; }
constexpr uint32_t sub(uint32_t d, uint32_t n, uint32_t imm12) { return 0xD1000000 | imm12 << 10 | n << 5 | d; }
constexpr uint32_t subs(uint32_t d, uint32_t n, uint32_t imm12) { return 0xF1000000 | imm12 << 10 | n << 5 | d; }
constexpr uint32_t cmp(uint32_t n, uint32_t imm12) { return subs(kZr, n, imm12); }
constexpr uint32_t add_register(uint32_t d, uint32_t n, uint32_t m) { return 0x8B000000 | m << 16 | n << 5 | d; }
constexpr uint32_t eor_register(uint32_t d, uint32_t n, uint32_t m) { return 0xCA000000 | m << 16 | n << 5 | d; }
constexpr uint32_t madd(uint32_t d, uint32_t n, uint32_t m, uint32_t a) {
  return 0x9B000000 | m << 16 | a << 10 | n << 5 | d;
}

constexpr uint32_t b(int32_t words) { return 0x14000000 | distance(words, 26); }
constexpr uint32_t bl(int32_t words) { return 0x94000000 | distance(words, 26); }
constexpr uint32_t b_cond(uint32_t cond, int32_t words) { return 0x54000000 | distance(words, 19) << 5 | cond; }
constexpr uint32_t cbz(uint32_t t, int32_t words) { return 0xB4000000 | distance(words, 19) << 5 | t; }
constexpr uint32_t cbnz(uint32_t t, int32_t words) { return 0xB5000000 | distance(words, 19) << 5 | t; }
constexpr uint32_t tbnz(uint32_t t, uint32_t bit, int32_t words) {
  return 0x37000000 | bit / 32 << 31 | bit % 32 << 19 | distance(words, 14) << 5 | t;
}
constexpr uint32_t br(uint32_t n) { return 0xD61F0000 | n << 5; }
constexpr uint32_t blr(uint32_t n) { return 0xD63F0000 | n << 5; }
constexpr uint32_t ret() { return 0xD65F03C0; }

/// One register of 1 << log2 bytes; offset 0.
constexpr uint32_t ldr(uint32_t log2, uint32_t t, uint32_t n) { return log2 << 30 | 0x39400000 | n << 5 | t; }
constexpr uint32_t str(uint32_t log2, uint32_t t, uint32_t n) { return log2 << 30 | 0x39000000 | n << 5 | t; }
/// 64 bits, then n += imm9.
constexpr uint32_t str_post(uint32_t t, uint32_t n, uint32_t imm9) { return 0xF8000400 | imm9 << 12 | n << 5 | t; }
constexpr uint32_t ldr_post(uint32_t t, uint32_t n, uint32_t imm9) { return 0xF8400400 | imm9 << 12 | n << 5 | t; }
constexpr uint32_t ldp(uint32_t t, uint32_t t2, uint32_t n) { return 0xA9400000 | t2 << 10 | n << 5 | t; }
constexpr uint32_t stp(uint32_t t, uint32_t t2, uint32_t n) { return 0xA9000000 | t2 << 10 | n << 5 | t; }
constexpr uint32_t ldp_w(uint32_t t, uint32_t t2, uint32_t n) { return 0x29400000 | t2 << 10 | n << 5 | t; }
constexpr uint32_t stp_w(uint32_t t, uint32_t t2, uint32_t n) { return 0x29000000 | t2 << 10 | n << 5 | t; }
constexpr uint32_t ldxr(uint32_t t, uint32_t n) { return 0xC85F7C00 | n << 5 | t; }
constexpr uint32_t stlr(uint32_t t, uint32_t n) { return 0xC89FFC00 | n << 5 | t; }

constexpr uint32_t svc(uint32_t imm16) { return 0xD4000001 | imm16 << 5; }
constexpr uint32_t brk(uint32_t imm16) { return 0xD4200000 | imm16 << 5; }
constexpr uint32_t hlt(uint32_t imm16) { return 0xD4400000 | imm16 << 5; }
constexpr uint32_t udf(uint32_t imm16) { return imm16; }

}  // namespace guest
