// SPDX-License-Identifier: Apache-2.0
// Ciphers and hash functions made of the cryptographic instructions, against the examples of their standards.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "core/crypto/aes.h"
#include "core/crypto/polynomial.h"
#include "core/crypto/sha1.h"
#include "core/crypto/sha256.h"
#include "core/crypto/sha3.h"
#include "core/crypto/sha512.h"
#include "core/crypto/sm3.h"
#include "core/crypto/sm4.h"

namespace myriarm {
namespace {

/// A Cpu policy with vector registers alone.
struct Vectors {
  std::array<std::array<u64, 2>, 32> registers = {};
  u64 v(u32 n, u32 half) const { return registers[n][half]; }
  void set_v(u32 n, u32 half, u64 value) { registers[n][half] = value; }
  void set(u32 n, std::array<u32, 4> words) {
    registers[n] = {words[0] | u64{words[1]} << 32, words[2] | u64{words[3]} << 32};
  }
  std::array<u32, 4> words(u32 n) const {
    const auto& r = registers[n];
    return {static_cast<u32>(r[0]), static_cast<u32>(r[0] >> 32), static_cast<u32>(r[1]), static_cast<u32>(r[1] >> 32)};
  }
};

Operands operands(u8 rd, u8 rn, u8 rm = 0, u8 ra = 0, u64 imm = 0) {
  Operands o = {};
  o.rd = rd;
  o.rn = rn;
  o.rm = rm;
  o.ra = ra;
  o.imm = imm;
  return o;
}

// Registers from bytes in the order of memory, 16 for each register.
using Block = std::array<u64, 2>;
Block block(u64 first, u64 second) { return {__builtin_bswap64(first), __builtin_bswap64(second)}; }

// FIPS 197, C.1. The key schedule's substitution is AESE of a word in all columns with a key of zeros.
TEST(Crypto, Aes128) {
  Vectors cpu;
  std::array<u32, 44> keys = {0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C};
  u32 constant = 1;
  for (u32 i = 4; i < 44; i++) {
    u32 word = keys[i - 1];
    if (i % 4 == 0) {
      cpu.set(0, {word, word, word, word});
      cpu.set(1, {});
      aes_round<false>(cpu, operands(0, 1));
      word = std::rotr(cpu.words(0)[0], 8) ^ constant;
      constant = constant << 1 ^ (constant & 0x80 ? 0x11B : 0);
    }
    keys[i] = keys[i - 4] ^ word;
  }
  auto key = [&](u32 round) {
    cpu.set(1, {keys[4 * round], keys[4 * round + 1], keys[4 * round + 2], keys[4 * round + 3]});
  };
  const Block text = block(0x0011223344556677, 0x8899AABBCCDDEEFF),
              cipher = block(0x69C4E0D86A7B0430, 0xD8CDB78070B4C55A);
  cpu.registers[0] = text;
  for (u32 round = 0; round < 10; round++) {
    key(round);
    aes_round<false>(cpu, operands(0, 1));
    if (round < 9) aes_mix_columns<false>(cpu, operands(0, 0));
  }
  key(10);
  for (u32 half : {0u, 1u}) cpu.registers[0][half] ^= cpu.registers[1][half];
  EXPECT_EQ(cpu.registers[0], cipher);
  for (u32 round = 10; round > 0; round--) {  // the equivalent inverse cipher
    key(round);
    if (round < 10) aes_mix_columns<true>(cpu, operands(1, 1));
    aes_round<true>(cpu, operands(0, 1));
    if (round > 1) aes_mix_columns<true>(cpu, operands(0, 0));
  }
  key(0);
  for (u32 half : {0u, 1u}) cpu.registers[0][half] ^= cpu.registers[1][half];
  EXPECT_EQ(cpu.registers[0], text);
}

// The message "abc", padded, is one block in all of these.
constexpr u32 kAbc = 0x61626380;

TEST(Crypto, Sha1) {
  Vectors cpu;
  cpu.set(0, {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476});
  cpu.set(1, {0xC3D2E1F0});
  cpu.set(4, {kAbc});
  cpu.set(7, {0, 0, 0, 24});
  const std::array<u32, 4> constants = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
  for (u32 group = 0; group < 20; group++) {
    const u8 w = static_cast<u8>(4 + group % 4);
    std::array<u32, 4> schedule = cpu.words(w);
    for (u32& word : schedule) word += constants[group / 5];
    cpu.set(3, schedule);
    sha1_fixed_rotate(cpu, operands(2, 0));
    if (group < 5) sha1_rounds<Sha1Choose>(cpu, operands(0, 1, 3));
    else if (group / 5 == 2) sha1_rounds<Sha1Majority>(cpu, operands(0, 1, 3));
    else sha1_rounds<Sha1Parity>(cpu, operands(0, 1, 3));
    cpu.registers[1] = cpu.registers[2];
    auto next = [&](u32 i) { return static_cast<u8>(4 + (group + i) % 4); };
    sha1_schedule0(cpu, operands(w, next(1), next(2)));
    sha1_schedule1(cpu, operands(w, next(3)));
  }
  EXPECT_EQ(cpu.words(0)[0] + 0x67452301, 0xA9993E36);
  EXPECT_EQ(cpu.words(0)[1] + 0xEFCDAB89, 0x4706816A);
  EXPECT_EQ(cpu.words(0)[2] + 0x98BADCFE, 0xBA3E2571);
  EXPECT_EQ(cpu.words(0)[3] + 0x10325476, 0x7850C26C);
  EXPECT_EQ(cpu.words(1)[0] + 0xC3D2E1F0, 0x9CD0D89D);
}

/// The first 64 bits of the fraction of the root of a prime, of which SHA-2 takes its constants.
u64 root_fraction(u32 prime, u32 degree) {
  unsigned __int128 low = 0;  // the root times 2^64, bit by bit from the top
  for (int bit = 68; bit >= 0; bit--) {
    const unsigned __int128 x = low | static_cast<unsigned __int128>(1) << bit;
    // x is below 2^69; x^degree has up to 207 bits, so it is compared in 32-bit limbs.
    std::array<u64, 10> product = {1};
    for (u32 i = 0; i < degree; i++) {
      std::array<u64, 10> next = {};
      for (u32 a = 0; a < 7; a++) {
        for (u32 b = 0; b < 3; b++) {
          const u64 part = product[a] * static_cast<u32>(x >> (32 * b));
          next[a + b] += static_cast<u32>(part);
          next[a + b + 1] += part >> 32;
        }
      }
      for (u32 a = 0; a + 1 < next.size(); a++) {
        next[a + 1] += next[a] >> 32;
        next[a] = static_cast<u32>(next[a]);
      }
      product = next;
    }
    const u32 place = 2 * degree;  // the limb where `prime` stands
    u64 above = product[place] | product[place + 1] << 32;
    bool exact = true;
    for (u32 a = 0; a < place; a++) exact &= product[a] == 0;
    if (above < prime || (above == prime && exact)) low = x;
  }
  return static_cast<u64>(low);
}

std::array<u32, 80> primes() {
  std::array<u32, 80> result = {};
  u32 count = 0;
  for (u32 n = 2; count < result.size(); n++) {
    bool prime = true;
    for (u32 d = 2; d * d <= n; d++) prime &= n % d != 0;
    if (prime) result[count++] = n;
  }
  return result;
}

TEST(Crypto, Sha256) {
  Vectors cpu;
  const auto p = primes();
  std::array<u32, 8> state;
  for (u32 i = 0; i < 8; i++) state[i] = static_cast<u32>(root_fraction(p[i], 2) >> 32);
  cpu.set(0, {state[0], state[1], state[2], state[3]});
  cpu.set(1, {state[4], state[5], state[6], state[7]});
  cpu.set(4, {kAbc});
  cpu.set(7, {0, 0, 0, 24});
  for (u32 group = 0; group < 16; group++) {
    auto w = [&](u32 i) { return static_cast<u8>(4 + (group + i) % 4); };
    std::array<u32, 4> schedule = cpu.words(w(0));
    for (u32 i = 0; i < 4; i++) schedule[i] += static_cast<u32>(root_fraction(p[4 * group + i], 3) >> 32);
    cpu.set(3, schedule);
    cpu.registers[2] = cpu.registers[0];
    sha256_rounds<false>(cpu, operands(0, 1, 3));
    sha256_rounds<true>(cpu, operands(1, 2, 3));
    sha256_schedule0(cpu, operands(w(0), w(1)));
    sha256_schedule1(cpu, operands(w(0), w(2), w(3)));
  }
  const std::array<u32, 8> digest = {0xBA7816BF, 0x8F01CFEA, 0x414140DE, 0x5DAE2223,
                                     0xB00361A3, 0x96177A9C, 0xB410FF61, 0xF20015AD};
  for (u32 i = 0; i < 8; i++) EXPECT_EQ(cpu.words(i / 4)[i % 4] + state[i], digest[i]) << i;
}

TEST(Crypto, Sha512) {
  Vectors cpu;
  const auto p = primes();
  std::array<u64, 8> state;
  for (u32 i = 0; i < 8; i++) state[i] = root_fraction(p[i], 2);
  for (u32 i = 0; i < 4; i++) cpu.registers[i] = {state[2 * i], state[2 * i + 1]};  // ab cd ef gh
  cpu.registers[8] = {u64{kAbc} << 32, 0};
  cpu.registers[15] = {0, 24};
  std::array<u8, 4> r = {0, 1, 2, 3};
  for (u32 pair = 0; pair < 40; pair++) {
    auto w = [&](u32 i) { return static_cast<u8>(8 + (pair + i) % 8); };
    const u64 first = cpu.v(w(0), 0) + root_fraction(p[2 * pair], 3);
    const u64 second = cpu.v(w(0), 1) + root_fraction(p[2 * pair + 1], 3);
    // gh + the schedule with its halves exchanged, then fg and de made with EXT.
    auto [ab, cd, ef, gh] = r;
    cpu.registers[gh] = {cpu.v(gh, 0) + second, cpu.v(gh, 1) + first};
    cpu.registers[5] = {cpu.v(ef, 1), cpu.v(gh, 0) - second};
    cpu.registers[6] = {cpu.v(cd, 1), cpu.v(ef, 0)};
    sha512_rounds(cpu, operands(gh, 5, 6));
    cpu.registers[7] = {cpu.v(cd, 0) + cpu.v(gh, 0), cpu.v(cd, 1) + cpu.v(gh, 1)};
    sha512_rounds2(cpu, operands(gh, cd, ab));
    cpu.registers[cd] = cpu.registers[7];
    r = {gh, ab, cd, ef};
    sha512_schedule0(cpu, operands(w(0), w(1)));
    cpu.registers[5] = {cpu.v(w(4), 1), cpu.v(w(5), 0)};
    sha512_schedule1(cpu, operands(w(0), w(7), 5));
  }
  const std::array<u64, 8> digest = {0xDDAF35A193617ABA, 0xCC417349AE204131, 0x12E6FA4E89A97EA2, 0x0A9EEEE64B55D39A,
                                     0x2192992A274FC1A8, 0x36BA3C23A3FEEBBD, 0x454D4423643CE80E, 0x2A9AC94FA54CA49F};
  for (u32 i = 0; i < 8; i++) EXPECT_EQ(cpu.v(r[i / 2], i % 2) + state[i], digest[i]) << i;
}

// GB/T 32905, example 1.
TEST(Crypto, Sm3) {
  Vectors cpu;
  const std::array<u32, 8> state = {0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600,
                                    0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E};
  cpu.set(0, {state[3], state[2], state[1], state[0]});
  cpu.set(1, {state[7], state[6], state[5], state[4]});
  std::array<u32, 68> w = {kAbc};
  w[15] = 24;
  auto load = [&](u32 n, u32 at) { cpu.set(n, {w[at], w[at + 1], w[at + 2], at + 3 < 68 ? w[at + 3] : 0}); };
  for (u32 j = 16; j < 68; j += 4) {
    load(2, j - 9);
    load(3, j - 16);
    load(4, j - 4);
    sm3_part1(cpu, operands(3, 2, 4));
    load(5, j - 13);
    load(6, j - 6);
    sm3_part2(cpu, operands(3, 6, 5));
    for (u32 i = 0; i < 4; i++) w[j + i] = cpu.words(3)[i];
  }
  for (u32 j = 0; j < 64; j++) {
    const u32 t = std::rotl(j < 16 ? 0x79CC4519u : 0x7A879D8Au, static_cast<int>(j % 32));
    cpu.set(2, {0, 0, 0, t});
    sm3_ss1(cpu, operands(3, 0, 1, 2));
    // A is the highest lane of register 0 and E that of 1; SM3TT1 and SM3TT2 shift them on.
    const u64 lane = j % 4;
    std::array<u32, 4> prime = {}, plain = {};
    prime[lane] = w[j] ^ w[j + 4];
    plain[lane] = w[j];
    cpu.set(4, prime);
    cpu.set(5, plain);
    if (j < 16) {
      sm3_tt1<false>(cpu, operands(0, 3, 4, 0, lane));
      sm3_tt2<false>(cpu, operands(1, 3, 5, 0, lane));
    } else {
      sm3_tt1<true>(cpu, operands(0, 3, 4, 0, lane));
      sm3_tt2<true>(cpu, operands(1, 3, 5, 0, lane));
    }
  }
  const std::array<u32, 8> digest = {0x66C7F0F4, 0x62EEEDD9, 0xD1F2D46B, 0xDC10E4E2,
                                     0x4167C487, 0x5CF2F7A2, 0x297DA02B, 0x8F4BA8E0};
  for (u32 i = 0; i < 8; i++) EXPECT_EQ(cpu.words(i / 4)[3 - i % 4] ^ state[i], digest[i]) << i;
}

// GB/T 32907, example 1: key and text are the same.
TEST(Crypto, Sm4) {
  Vectors cpu;
  const std::array<u32, 4> text = {0x01234567, 0x89ABCDEF, 0xFEDCBA98, 0x76543210};
  cpu.set(0, {text[0] ^ 0xA3B1BAC6, text[1] ^ 0x56AA3350, text[2] ^ 0x677D9197, text[3] ^ 0xB27022DC});
  cpu.set(2, text);
  for (u32 i = 0; i < 8; i++) {
    std::array<u32, 4> constants = {};
    for (u32 j = 0; j < 16; j++) constants[j / 4] = constants[j / 4] << 8 | ((4 * (4 * i + j / 4) + j % 4) * 7 & 0xFF);
    cpu.set(1, constants);
    sm4_rounds<true>(cpu, operands(0, 0, 1));
    sm4_rounds<false>(cpu, operands(2, 0));
  }
  EXPECT_EQ(cpu.words(2), (std::array<u32, 4>{0x536E4246, 0x86B3E94F, 0xD206965E, 0x681EDF34}));
}

// Keccak-f[1600] of zeros, the first lanes, as the Keccak team published them.
TEST(Crypto, Sha3) {
  Vectors cpu;
  std::array<std::array<u64, 5>, 5> a = {};  // [y][x]
  auto run = [&](auto operation, u64 n, u64 m, u64 third, u64 amount) {
    cpu.registers[1] = {n, ~n};
    cpu.registers[2] = {m, ~m};
    cpu.registers[3] = {third, third};
    operation(operands(0, 1, 2, 3, amount));
    return cpu.v(0, 0);
  };
  auto eor3 = [&](const Operands& o) { sha3_logical<Sha3Eor3>(cpu, o); };
  auto bcax = [&](const Operands& o) { sha3_logical<Sha3Bcax>(cpu, o); };
  auto rax1 = [&](const Operands& o) { sha3_logical<Sha3Rax1>(cpu, o); };
  auto xar = [&](const Operands& o) { sha3_logical<Sha3Xar>(cpu, o); };
  u32 lfsr = 1;
  for (u32 round = 0; round < 24; round++) {
    std::array<u64, 5> c, d;
    for (u32 x = 0; x < 5; x++) c[x] = run(eor3, run(eor3, a[0][x], a[1][x], a[2][x], 0), a[3][x], a[4][x], 0);
    for (u32 x = 0; x < 5; x++) d[x] = run(rax1, c[(x + 4) % 5], c[(x + 1) % 5], 0, 0);
    std::array<std::array<u64, 5>, 5> b = {};
    b[0][0] = a[0][0] ^ d[0];
    for (u32 t = 0, x = 1, y = 0; t < 24; t++) {
      const u64 left = (t + 1) * (t + 2) / 2 % 64, next = (2 * x + 3 * y) % 5;
      b[next][y] = run(xar, a[y][x], d[x], 0, (64 - left) % 64);
      x = y;
      y = static_cast<u32>(next);
    }
    for (u32 y = 0; y < 5; y++) {
      for (u32 x = 0; x < 5; x++) a[y][x] = run(bcax, b[y][x], b[y][(x + 2) % 5], b[y][(x + 1) % 5], 0);
    }
    for (u32 j = 0; j < 7; j++) {
      if (lfsr & 1) a[0][0] ^= u64{1} << ((1u << j) - 1);
      lfsr = lfsr << 1 ^ (lfsr & 0x80 ? 0x171 : 0);
    }
  }
  EXPECT_EQ(a[0][0], 0xF1258F7940E1DDE7u);
  EXPECT_EQ(a[0][1], 0x84D5CCF933C0478Au);
  EXPECT_EQ(a[0][2], 0xD598261EA65AA9EEu);
}

TEST(Crypto, PolynomialSquareSpreadsBits) {
  Vectors cpu;
  cpu.registers[1] = {~u64{0}, 0x8000000000000001};
  Operands o = operands(0, 1, 1);
  polynomial_multiply_doubles(cpu, o);
  EXPECT_EQ(cpu.registers[0], (Block{0x5555555555555555, 0x5555555555555555}));
  o.offset = 0;
  o.aux = 4;
  polynomial_multiply_doubles(cpu, o);
  EXPECT_EQ(cpu.registers[0], (Block{1, 0x4000000000000000}));
}

}  // namespace
}  // namespace myriarm
