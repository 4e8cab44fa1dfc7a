// SPDX-License-Identifier: Apache-2.0
// SHA-256, SHA-1, SHA-512 and SHA-3 with the cryptographic extension, and SM3's, SM4's and CRC-32's instructions, held
// against vectors from their standards and then run over random text. Build with
// -march=armv8.2-a+crypto+sha3+sm4+crc.
#include <arm_acle.h>
#include <arm_neon.h>

#include "common.h"

static int wrong;

static void expect(const char* what, const void* found, const char* expected, size_t size) {
  char text[129] = "";
  for (size_t i = 0; i < size; i++) sprintf(text + 2 * i, "%02x", ((const uint8_t*)found)[i]);
  int good = strcmp(text, expected) == 0;
  wrong += !good;
  printf("%-8s %s %s\n", what, text, good ? "as the standard says" : "WRONG");
}

/// Appends 0x80, zeros and the length in bits, big-endian; returns the size.
static size_t pad(uint8_t* out, const void* text, size_t size, size_t block) {
  size_t total = (size + 1 + block / 8 + block - 1) / block * block;
  memset(out, 0, total);
  memcpy(out, text, size);
  out[size] = 0x80;
  for (int i = 0; i < 8; i++) out[total - 1 - (size_t)i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
  return total;
}

/// floor(fractional part of the square (power 2) or cube (power 3) root of n, times 2^bits), bits at most 64.
static uint64_t fractional_root(uint32_t n, int power, int bits) {
  unsigned __int128 whole = 1;
  while ((power == 2 ? (whole + 1) * (whole + 1) : (whole + 1) * (whole + 1) * (whole + 1)) <= n) whole++;
  // Bit by bit; the comparison is of 192-bit numbers in pieces of 32 bits.
  uint64_t fraction = 0;
  for (int bit = bits - 1; bit >= 0; bit--) {
    uint64_t guess = fraction | (uint64_t)1 << bit;
    uint32_t root[3] = {(uint32_t)(guess << (64 - bits)), (uint32_t)(guess << (64 - bits) >> 32), (uint32_t)whole};
    uint32_t product[10] = {1};
    for (int p = 0; p < power; p++) {
      uint32_t next[10] = {0};
      for (int i = 0; i < 10; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 3 && i + j < 10; j++) {
          uint64_t sum = (uint64_t)product[i] * root[j] + next[i + j] + carry;
          next[i + j] = (uint32_t)sum;
          carry = sum >> 32;
        }
        if (i + 3 < 10) next[i + 3] += (uint32_t)carry;
      }
      memcpy(product, next, sizeof product);
    }
    uint64_t integer = product[2 * power];  // above the 64 * power bits of fraction
    if (integer < n) fraction = guess;
  }
  return fraction;
}

static uint32_t k256[64], h256[8];
static uint64_t k512[80], h512[8];

static void make_constants(void) {
  int count = 0;
  for (uint32_t n = 2; count < 80; n++) {
    int prime = 1;
    for (uint32_t d = 2; d * d <= n; d++) prime = prime && n % d;
    if (!prime) continue;
    uint64_t root = fractional_root(n, 3, 64);
    k512[count] = root;
    if (count < 64) k256[count] = (uint32_t)(root >> 32);
    if (count < 8) {
      h512[count] = fractional_root(n, 2, 64);
      h256[count] = (uint32_t)(h512[count] >> 32);
    }
    count++;
  }
}

static void sha256(const uint8_t* data, size_t size, uint8_t* digest) {
  uint32x4_t s0 = vld1q_u32(h256), s1 = vld1q_u32(h256 + 4);
  for (; size; size -= 64, data += 64) {
    uint32x4_t w[4], save0 = s0, save1 = s1;
    for (int i = 0; i < 4; i++) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
    for (int round = 0; round < 16; round++) {
      uint32x4_t input = vaddq_u32(w[0], vld1q_u32(k256 + 4 * round));
      uint32x4_t next = vsha256su1q_u32(vsha256su0q_u32(w[0], w[1]), w[2], w[3]);
      uint32x4_t before = s0;
      s0 = vsha256hq_u32(s0, s1, input);
      s1 = vsha256h2q_u32(s1, before, input);
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    s0 = vaddq_u32(s0, save0);
    s1 = vaddq_u32(s1, save1);
  }
  vst1q_u8(digest, vrev32q_u8(vreinterpretq_u8_u32(s0)));
  vst1q_u8(digest + 16, vrev32q_u8(vreinterpretq_u8_u32(s1)));
}

static void sha1(const uint8_t* data, size_t size, uint8_t* digest) {
  static const uint32_t start[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  static const uint32_t k[4] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
  uint32x4_t s = vld1q_u32(start);
  uint32_t e = 0xC3D2E1F0;
  for (; size; size -= 64, data += 64) {
    uint32x4_t w[4], save = s;
    uint32_t save_e = e;
    for (int i = 0; i < 4; i++) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
    for (int round = 0; round < 20; round++) {
      uint32x4_t input = vaddq_u32(w[0], vdupq_n_u32(k[round / 5]));
      uint32x4_t next = vsha1su1q_u32(vsha1su0q_u32(w[0], w[1], w[2]), w[3]);
      uint32_t after = vsha1h_u32(vgetq_lane_u32(s, 0));
      if (round < 5) s = vsha1cq_u32(s, e, input);
      else if (round < 10 || round >= 15) s = vsha1pq_u32(s, e, input);
      else s = vsha1mq_u32(s, e, input);
      e = after;
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    s = vaddq_u32(s, save);
    e += save_e;
  }
  vst1q_u8(digest, vrev32q_u8(vreinterpretq_u8_u32(s)));
  for (int i = 0; i < 4; i++) digest[16 + i] = (uint8_t)(e >> (24 - 8 * i));
}

static void sha512(const uint8_t* data, size_t size, uint8_t* digest) {
  uint64x2_t s[4];
  for (int i = 0; i < 4; i++) s[i] = vld1q_u64(h512 + 2 * i);
  for (; size; size -= 128, data += 128) {
    uint64x2_t w[8], ab = s[0], cd = s[1], ef = s[2], gh = s[3];
    for (int i = 0; i < 8; i++) w[i] = vreinterpretq_u64_u8(vrev64q_u8(vld1q_u8(data + 16 * i)));
    for (int round = 0; round < 40; round++) {
      uint64x2_t input = vaddq_u64(w[0], vld1q_u64(k512 + 2 * round));
      input = vaddq_u64(vextq_u64(input, input, 1), gh);
      uint64x2_t fg = vextq_u64(ef, gh, 1), de = vextq_u64(cd, ef, 1);
      uint64x2_t sum = vsha512hq_u64(input, fg, de);
      uint64x2_t next = vsha512su1q_u64(vsha512su0q_u64(w[0], w[1]), w[7], vextq_u64(w[4], w[5], 1));
      gh = ef;
      ef = vaddq_u64(cd, sum);
      sum = vsha512h2q_u64(sum, cd, ab);
      cd = ab;
      ab = sum;
      for (int i = 0; i < 7; i++) w[i] = w[i + 1];
      w[7] = next;
    }
    s[0] = vaddq_u64(s[0], ab);
    s[1] = vaddq_u64(s[1], cd);
    s[2] = vaddq_u64(s[2], ef);
    s[3] = vaddq_u64(s[3], gh);
  }
  for (int i = 0; i < 4; i++) vst1q_u8(digest + 16 * i, vrev64q_u8(vreinterpretq_u8_u64(s[i])));
}

/// SHA3-256 of less than one block; two states at once, one of them of zeros.
static void sha3(const uint8_t* text, size_t size, uint8_t* digest) {
  static const uint8_t turns[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                                    25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
  uint8_t block[200] = {0};
  memcpy(block, text, size);
  block[size] ^= 6;
  block[135] ^= 0x80;
  uint64x2_t a[25];
  for (int i = 0; i < 25; i++) {
    uint64_t word;
    memcpy(&word, block + 8 * i, 8);
    a[i] = vcombine_u64(vcreate_u64(word), vcreate_u64(0));
  }
  uint8_t lfsr = 1;
  for (int round = 0; round < 24; round++) {
    uint64x2_t c[5], d[5], b[25];
    for (int x = 0; x < 5; x++) c[x] = veor3q_u64(veor3q_u64(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
    for (int x = 0; x < 5; x++) d[x] = vrax1q_u64(c[(x + 4) % 5], c[(x + 1) % 5]);
    for (int i = 0; i < 25; i++) {
      uint64x2_t mixed = veorq_u64(a[i], d[i % 5]);
      int n = turns[i];
      uint64x2_t left = vshlq_u64(mixed, vdupq_n_s64(n)), right = vshlq_u64(mixed, vdupq_n_s64(n - 64));
      b[i / 5 + 5 * ((2 * (i % 5) + 3 * (i / 5)) % 5)] = n ? vorrq_u64(left, right) : mixed;
    }
    for (int i = 0; i < 25; i++) a[i] = vbcaxq_u64(b[i], b[i / 5 * 5 + (i + 2) % 5], b[i / 5 * 5 + (i + 1) % 5]);
    uint64_t constant = 0;
    for (int j = 0; j < 7; j++) {
      if (lfsr & 1) constant ^= (uint64_t)1 << ((1 << j) - 1);
      lfsr = (uint8_t)(lfsr << 1 ^ (lfsr >> 7) * 0x71);
    }
    a[0] = veorq_u64(a[0], vdupq_n_u64(constant));
  }
  for (int i = 0; i < 4; i++) {
    uint64_t word = vgetq_lane_u64(a[i], 0);
    memcpy(digest + 8 * i, &word, 8);
  }
}

int main(int argc, char** argv) {
  static const char abc[] = "abc", two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  static uint8_t padded[1024], digest[64], text[700];
  make_constants();
  sha256(padded, pad(padded, abc, 3, 64), digest);
  expect("sha256", digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 32);
  sha256(padded, pad(padded, two, 56, 64), digest);
  expect("sha256", digest, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", 32);
  sha1(padded, pad(padded, abc, 3, 64), digest);
  expect("sha1", digest, "a9993e364706816aba3e25717850c26c9cd0d89d", 20);
  sha1(padded, pad(padded, two, 56, 64), digest);
  expect("sha1", digest, "84983e441c3bd26ebaae4aa1f95129e5e54670f1", 20);
  sha512(padded, pad(padded, abc, 3, 128), digest);
  expect("sha512", digest,
         "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
         "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
         64);
  sha3((const uint8_t*)abc, 3, digest);
  expect("sha3", digest, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532", 32);
  uint32_t crc = ~0u;
  for (const char* c = "123456789"; *c; c++) crc = __crc32cb(crc, (uint8_t)*c);
  crc = ~crc;
  expect("crc32c", &crc, "839206e3", 4);
  crc = ~0u;
  crc = ~__crc32b(__crc32d(crc, 0x3837363534333231u), '9');
  expect("crc32", &crc, "2639f4cb", 4);

  Random random = {seed_of(argc, argv)};
  uint64_t hash = kHashStart;
  for (int i = 0; i < 8; i++) {
    size_t size = next_random(&random) % sizeof text;
    for (size_t k = 0; k < size; k++) text[k] = (uint8_t)next_random(&random);
    sha256(padded, pad(padded, text, size, 64), digest);
    hash = hash_bytes(hash, digest, 32);
    sha1(padded, pad(padded, text, size, 64), digest);
    hash = hash_bytes(hash, digest, 20);
    sha512(padded, pad(padded, text, size, 128), digest);
    hash = hash_bytes(hash, digest, 64);
    sha3(text, size % 136, digest);
    hash = hash_bytes(hash, digest, 32);
    uint32x4_t a = vld1q_u32((const uint32_t*)text), b = vld1q_u32((const uint32_t*)text + 4),
               c = vld1q_u32((const uint32_t*)text + 8);
    uint32x4_t sm3 = vsm3tt1aq_u32(vsm3partw1q_u32(a, b, c), vsm3tt2bq_u32(a, b, c, 1), vsm3ss1q_u32(a, b, c), 2);
    uint32x4_t more = vsm3tt1bq_u32(vsm3partw2q_u32(sm3, b, c), vsm3tt2aq_u32(a, sm3, c, 3), sm3, 0);
    uint32x4_t sm4 = vsm4eq_u32(vsm4ekeyq_u32(a, more), b);
    hash = hash_bytes(hash_bytes(hash, &more, 16), &sm4, 16);
  }
  printf("random %016" PRIx64 "\n", hash);
  return wrong;
}
