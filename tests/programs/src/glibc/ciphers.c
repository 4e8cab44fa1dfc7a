// SPDX-License-Identifier: Apache-2.0
// AES-128 with AESE and AESMC against the example of FIPS 197, the inverse with AESD and AESIMC, and AES-GCM, whose
// GHASH multiplies with PMULL, against the test cases of its authors; then random text. Build with
// -march=armv8-a+crypto.
#include <arm_neon.h>

#include "common.h"

static int wrong;

static void expect(const char* what, uint8x16_t found, const char* expected) {
  uint8_t bytes[16];
  char text[33] = "";
  vst1q_u8(bytes, found);
  for (int i = 0; i < 16; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
  int good = strcmp(text, expected) == 0;
  wrong += !good;
  printf("%-14s %s %s\n", what, text, good ? "as the standard says" : "WRONG");
}

typedef struct {
  uint8x16_t key[11], inverse[11];
} Aes;

/// The S-box on four bytes: AESE of a column in all columns, so that ShiftRows moves nothing.
static uint32_t substitute(uint32_t word) {
  uint8x16_t column = vreinterpretq_u8_u32(vdupq_n_u32(word));
  return vgetq_lane_u32(vreinterpretq_u32_u8(vaeseq_u8(column, vdupq_n_u8(0))), 0);
}

static void expand(Aes* aes, const uint8_t* key) {
  uint32_t w[44], constant = 1;
  memcpy(w, key, 16);
  for (int i = 4; i < 44; i++) {
    uint32_t t = w[i - 1];
    if (i % 4 == 0) {
      t = substitute(t >> 8 | t << 24) ^ constant;
      constant = constant << 1 ^ (constant >> 7) * 0x11B;
    }
    w[i] = w[i - 4] ^ t;
  }
  for (int i = 0; i < 11; i++) {
    aes->key[i] = vreinterpretq_u8_u32(vld1q_u32(w + 4 * i));
    aes->inverse[10 - i] = i == 0 || i == 10 ? aes->key[i] : vaesimcq_u8(aes->key[i]);
  }
}
static uint8x16_t encrypt(const Aes* aes, uint8x16_t block) {
  for (int i = 0; i < 9; i++) block = vaesmcq_u8(vaeseq_u8(block, aes->key[i]));
  return veorq_u8(vaeseq_u8(block, aes->key[9]), aes->key[10]);
}
static uint8x16_t decrypt(const Aes* aes, uint8x16_t block) {
  for (int i = 0; i < 9; i++) block = vaesimcq_u8(vaesdq_u8(block, aes->inverse[i]));
  return veorq_u8(vaesdq_u8(block, aes->inverse[9]), aes->inverse[10]);
}

/// The product of two elements of GF(2^128) in GCM's order of bits, reduced bit-reversed.
static uint8x16_t multiply(uint8x16_t x, uint8x16_t y) {
  poly64x2_t a = vreinterpretq_p64_u8(vrbitq_u8(x)), b = vreinterpretq_p64_u8(vrbitq_u8(y));
  poly64_t a0 = vgetq_lane_p64(a, 0), a1 = vgetq_lane_p64(a, 1), b0 = vgetq_lane_p64(b, 0), b1 = vgetq_lane_p64(b, 1);
  uint64x2_t low = vreinterpretq_u64_p128(vmull_p64(a0, b0)), high = vreinterpretq_u64_p128(vmull_high_p64(a, b));
  uint64x2_t middle = veorq_u64(vreinterpretq_u64_p128(vmull_p64(a0, b1)), vreinterpretq_u64_p128(vmull_p64(a1, b0)));
  uint64x2_t zero = vdupq_n_u64(0);
  low = veorq_u64(low, vextq_u64(zero, middle, 1));
  high = veorq_u64(high, vextq_u64(middle, zero, 1));
  // x^128 = x^7 + x^2 + x + 1: fold the upper half twice.
  const poly64_t p = 0x87;
  uint64x2_t fold = vreinterpretq_u64_p128(vmull_p64((poly64_t)vgetq_lane_u64(high, 1), p));
  low = veorq_u64(low, vextq_u64(zero, fold, 1));
  uint64_t rest = vgetq_lane_u64(high, 0) ^ vgetq_lane_u64(fold, 1);
  low = veorq_u64(low, vreinterpretq_u64_p128(vmull_p64((poly64_t)rest, p)));
  return vrbitq_u8(vreinterpretq_u8_u64(low));
}

static uint8x16_t gcm(const Aes* aes, const uint8_t* nonce, uint8_t* text, size_t blocks) {
  uint8x16_t h = encrypt(aes, vdupq_n_u8(0)), sum = vdupq_n_u8(0);
  uint8_t counter[16];
  memcpy(counter, nonce, 12);
  memcpy(counter + 12, "\0\0\0\1", 4);
  uint8x16_t mask = encrypt(aes, vld1q_u8(counter));
  for (size_t i = 0; i < blocks; i++) {
    counter[15] = (uint8_t)(i + 2);
    counter[14] = (uint8_t)((i + 2) >> 8);
    uint8x16_t block = veorq_u8(vld1q_u8(text + 16 * i), encrypt(aes, vld1q_u8(counter)));
    vst1q_u8(text + 16 * i, block);
    sum = multiply(veorq_u8(sum, block), h);
  }
  uint64_t lengths[2] = {0, __builtin_bswap64(blocks * 128)};
  sum = multiply(veorq_u8(sum, vreinterpretq_u8_u64(vld1q_u64(lengths))), h);
  return veorq_u8(sum, mask);
}

static void from_hex(uint8_t* out, const char* text) {
  for (; *text; text += 2, out++) {
    char digits[3] = {text[0], text[1], 0};
    *out = (uint8_t)strtoul(digits, NULL, 16);
  }
}

int main(int argc, char** argv) {
  Aes aes;
  static uint8_t key[16], block[16], nonce[12], text[4096];
  for (int i = 0; i < 16; i++) {
    key[i] = (uint8_t)i;
    block[i] = (uint8_t)(i * 0x11);
  }
  expand(&aes, key);
  uint8x16_t cipher = encrypt(&aes, vld1q_u8(block));
  expect("FIPS 197 C.1", cipher, "69c4e0d86a7b0430d8cdb78070b4c55a");
  expect("and back", decrypt(&aes, cipher), "00112233445566778899aabbccddeeff");
  memset(key, 0, 16);
  expand(&aes, key);
  memset(text, 0, 16);
  expect("GCM case 1", gcm(&aes, nonce, text, 0), "58e2fccefa7e3061367f1d57a4e7455a");
  expect("GCM case 2", gcm(&aes, nonce, text, 1), "ab6e47d42cec13bdf53a67b21257bddf");
  expect("its text", vld1q_u8(text), "0388dace60b6a392f328c2b971b2fe78");
  from_hex(key, "feffe9928665731c6d6a8f9467308308");
  from_hex(nonce, "cafebabefacedbaddecaf888");
  from_hex(text,
           "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
           "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255");
  expand(&aes, key);
  expect("GCM case 3", gcm(&aes, nonce, text, 4), "4d5c2af327cd64a62cf35abd2ba6fab4");

  Random random = {seed_of(argc, argv)};
  for (int i = 0; i < 16; i++) key[i] = (uint8_t)next_random(&random);
  for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)next_random(&random);
  expand(&aes, key);
  uint8x16_t tag = gcm(&aes, nonce, text, sizeof text / 16);
  uint8_t back[16];
  vst1q_u8(back, decrypt(&aes, encrypt(&aes, tag)));
  printf("random %016" PRIx64 " %d\n", hash_bytes(hash_bytes(kHashStart, text, sizeof text), back, 16),
         memcmp(back, &tag, 16) == 0);
  return wrong;
}
