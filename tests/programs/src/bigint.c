// SPDX-License-Identifier: Apache-2.0
// Big integers: factorials and Fibonacci numbers in decimal, exponentiation modulo 2^255 - 19.
#include "guest.h"

enum { kLimbs = 80 };
typedef struct {
  int size;
  uint32_t limb[kLimbs];  // base 10^9, lowest first
} Decimal;

static void times_small(Decimal* n, uint32_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < n->size; i++) {
    carry += (uint64_t)n->limb[i] * factor;
    n->limb[i] = (uint32_t)(carry % 1000000000);
    carry /= 1000000000;
  }
  if (carry) n->limb[n->size++] = (uint32_t)carry;
}

static void add(Decimal* to, const Decimal* n) {
  uint32_t carry = 0;
  for (int i = 0; i < n->size || carry; i++) {
    if (i == to->size) to->limb[to->size++] = 0;
    uint32_t sum = to->limb[i] + (i < n->size ? n->limb[i] : 0) + carry;
    carry = sum >= 1000000000;
    to->limb[i] = carry ? sum - 1000000000 : sum;
  }
}

static void show(const char* name, const Decimal* n) {
  print("%s = %u", name, n->limb[n->size - 1]);
  for (int i = n->size - 2; i >= 0; i--) print("%09u", n->limb[i]);
  print("\n");
}

typedef struct {
  uint64_t word[4];
} Field;  // modulo 2^255 - 19, not always fully reduced

static Field times(const Field* a, const Field* b) {
  uint64_t wide[8] = {0};
  for (int i = 0; i < 4; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < 4; j++) {
      unsigned __int128 t = (unsigned __int128)a->word[i] * b->word[j] + wide[i + j] + carry;
      wide[i + j] = (uint64_t)t;
      carry = (uint64_t)(t >> 64);
    }
    wide[i + 4] = carry;
  }
  Field r;
  uint64_t carry = 0;
  for (int i = 0; i < 4; i++) {  // 2^256 is 38
    unsigned __int128 t = (unsigned __int128)wide[i + 4] * 38 + wide[i] + carry;
    r.word[i] = (uint64_t)t;
    carry = (uint64_t)(t >> 64);
  }
  while (carry) {
    unsigned __int128 t = (unsigned __int128)carry * 38;
    carry = 0;
    for (int i = 0; i < 4; i++) {
      t += r.word[i];
      r.word[i] = (uint64_t)t;
      t >>= 64;
    }
    carry = (uint64_t)t;
  }
  return r;
}

static void reduce(Field* a) {
  for (int round = 0; round < 2; round++) {
    unsigned __int128 t = (unsigned __int128)(a->word[3] >> 63) * 19;
    a->word[3] &= ~(uint64_t)0 >> 1;
    for (int i = 0; i < 4; i++) {
      t += a->word[i];
      a->word[i] = (uint64_t)t;
      t >>= 64;
    }
  }
  if (a->word[0] >= ~(uint64_t)0 - 18 && (a->word[1] & a->word[2]) == ~(uint64_t)0 && a->word[3] == ~(uint64_t)0 >> 1) {
    a->word[0] -= ~(uint64_t)0 - 18;
    a->word[1] = a->word[2] = a->word[3] = 0;
  }
}

static Field power(Field base, const uint64_t exponent[4]) {
  Field r = {{1, 0, 0, 0}};
  for (int bit = 255; bit >= 0; bit--) {
    r = times(&r, &r);
    if (exponent[bit / 64] >> (bit % 64) & 1) r = times(&r, &base);
  }
  reduce(&r);
  return r;
}

static void show_field(const char* name, const Field* a) {
  print("%s = %016lx%016lx%016lx%016lx\n", name, a->word[3], a->word[2], a->word[1], a->word[0]);
}

int main(int argc, char** argv) {
  uint64_t seed = argument(argc, argv, 1, 0);
  static Decimal factorial = {1, {1}}, low = {1, {0}}, high = {1, {1}};
  uint32_t n = 100 + (uint32_t)(seed % 80);
  for (uint32_t i = 2; i <= n; i++) times_small(&factorial, i);
  print("n = %u\n", n);
  show("n!", &factorial);
  for (uint32_t i = 0; i < 5 * n; i++) {
    Decimal next = low;
    add(&next, &high);
    low = high;
    high = next;
  }
  show("fibonacci(5 n)", &low);

  Random random = {seed};
  Field base;
  for (int i = 0; i < 4; i++) base.word[i] = next_random(&random);
  const uint64_t ones = ~(uint64_t)0;
  const uint64_t minus_1[4] = {ones - 19, ones, ones, ones >> 1};  // p - 1
  const uint64_t minus_2[4] = {ones - 20, ones, ones, ones >> 1};
  Field fermat = power(base, minus_1), inverse = power(base, minus_2), one = times(&inverse, &base);
  reduce(&one);
  show_field("1 / base", &inverse);
  show_field("base^(p - 1)", &fermat);
  show_field("base / base", &one);
  return fermat.word[0] != 1 || one.word[0] != 1 || (fermat.word[1] | one.word[3]) != 0;
}
