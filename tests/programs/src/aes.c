// SPDX-License-Identifier: Apache-2.0
// AES-128 in C without tables from outside: the example of FIPS 197, then counter mode over random bytes.
#include "guest.h"

static uint8_t sbox[256], inverse_sbox[256], round_keys[11][16];

static uint8_t times_2(uint8_t x) { return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1B : 0)); }

static uint8_t times(uint8_t a, uint8_t b) {
  uint8_t product = 0;
  for (; b; b >>= 1, a = times_2(a))
    if (b & 1) product ^= a;
  return product;
}

static void make_sbox(void) {
  uint8_t p = 1, q = 1;
  do {
    p = (uint8_t)(p ^ times_2(p));
    q = times(q, 0xF6);  // the inverse of 3
    uint8_t s = q;
    for (int k = 1; k < 5; k++) s = (uint8_t)(s ^ (uint8_t)(q << k | q >> (8 - k)));
    sbox[p] = s ^ 0x63;
  } while (p != 1);
  sbox[0] = 0x63;
  for (int i = 0; i < 256; i++) inverse_sbox[sbox[i]] = (uint8_t)i;
}

static void expand_key(const uint8_t key[16]) {
  uint8_t constant = 1, *w = round_keys[0];
  memcpy(w, key, 16);
  for (int i = 16; i < 176; i += 4) {
    uint8_t t[4];
    memcpy(t, w + i - 4, 4);
    if (i % 16 == 0) {
      uint8_t first = t[0];
      t[0] = sbox[t[1]] ^ constant;
      t[1] = sbox[t[2]];
      t[2] = sbox[t[3]];
      t[3] = sbox[first];
      constant = times_2(constant);
    }
    for (int k = 0; k < 4; k++) w[i + k] = w[i + k - 16] ^ t[k];
  }
}

static void mix(uint8_t* s, uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  for (int i = 0; i < 16; i += 4) {
    uint8_t v[4];
    memcpy(v, s + i, 4);
    for (int k = 0; k < 4; k++)
      s[i + k] = times(v[k], a) ^ times(v[(k + 1) & 3], b) ^ times(v[(k + 2) & 3], c) ^ times(v[(k + 3) & 3], d);
  }
}

static void add_key(uint8_t* s, int round) {
  for (int i = 0; i < 16; i++) s[i] ^= round_keys[round][i];
}

static void encrypt(uint8_t s[16]) {
  add_key(s, 0);
  for (int round = 1; round <= 10; round++) {
    uint8_t t[16];
    for (int i = 0; i < 16; i++) t[i] = sbox[s[(i + 4 * (i % 4)) % 16]];
    memcpy(s, t, 16);
    if (round < 10) mix(s, 2, 3, 1, 1);
    add_key(s, round);
  }
}

static void decrypt(uint8_t s[16]) {
  for (int round = 10; round >= 1; round--) {
    add_key(s, round);
    if (round < 10) mix(s, 14, 11, 13, 9);
    uint8_t t[16];
    for (int i = 0; i < 16; i++) t[(i + 4 * (i % 4)) % 16] = inverse_sbox[s[i]];
    memcpy(s, t, 16);
  }
  add_key(s, 0);
}

int main(int argc, char** argv) {
  static const uint8_t kExpected[16] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                        0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  uint8_t key[16], block[16], plain[16];
  make_sbox();
  for (int i = 0; i < 16; i++) {
    key[i] = (uint8_t)i;
    block[i] = plain[i] = (uint8_t)(i * 0x11);
  }
  expand_key(key);
  encrypt(block);
  put_hex(block, 16);
  int wrong = memcmp(block, kExpected, 16) != 0;
  decrypt(block);
  wrong += memcmp(block, plain, 16) != 0;
  print("\nwrong %d\n", wrong);

  Random random = {argument(argc, argv, 1, 0)};
  for (int i = 0; i < 16; i++) key[i] = (uint8_t)next_random(&random);
  expand_key(key);
  uint64_t sum = kHashStart;
  for (uint64_t counter = 0; counter < 24; counter++) {
    memset(block, 0, 16);
    memcpy(block, &counter, 8);
    encrypt(block);
    sum = hash_bytes(sum, block, 16);
  }
  put_hex(block, 16);
  print(" last block\nchecksum %016lx\n", sum);
  return wrong;
}
