// SPDX-License-Identifier: Apache-2.0
// Integer matrices: product, determinant and inverse modulo a prime, powers.
#include "guest.h"

enum { kSize = 20 };
static const uint64_t kPrime = 0x7FFFFFFFu;
typedef uint64_t Matrix[kSize][kSize];

static void multiply(Matrix r, Matrix a, Matrix b) {
  static Matrix t;
  for (int i = 0; i < kSize; i++)
    for (int j = 0; j < kSize; j++) {
      uint64_t sum = 0;
      for (int k = 0; k < kSize; k++) sum = (sum + a[i][k] * b[k][j]) % kPrime;
      t[i][j] = sum;
    }
  memcpy(r, t, sizeof t);
}

static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t r = 1;
  for (; exponent; exponent >>= 1, base = base * base % kPrime)
    if (exponent & 1) r = r * base % kPrime;
  return r;
}

// Gauss-Jordan. Returns the determinant; `inverse` is meaningless if that is 0.
static uint64_t invert(Matrix inverse, Matrix from) {
  static Matrix a;
  uint64_t determinant = 1;
  memcpy(a, from, sizeof a);
  memset(inverse, 0, sizeof a);
  for (int i = 0; i < kSize; i++) inverse[i][i] = 1;
  for (int column = 0; column < kSize; column++) {
    int pivot = column;
    while (pivot < kSize && !a[pivot][column]) pivot++;
    if (pivot == kSize) return 0;
    if (pivot != column) {
      determinant = (kPrime - determinant) % kPrime;
      for (int k = 0; k < kSize; k++) {
        uint64_t t = a[pivot][k], u = inverse[pivot][k];
        a[pivot][k] = a[column][k], a[column][k] = t;
        inverse[pivot][k] = inverse[column][k], inverse[column][k] = u;
      }
    }
    determinant = determinant * a[column][column] % kPrime;
    uint64_t scale = power(a[column][column], kPrime - 2);
    for (int k = 0; k < kSize; k++) {
      a[column][k] = a[column][k] * scale % kPrime;
      inverse[column][k] = inverse[column][k] * scale % kPrime;
    }
    for (int row = 0; row < kSize; row++) {
      uint64_t factor = row == column ? 0 : kPrime - a[row][column];
      if (!factor) continue;
      for (int k = 0; k < kSize; k++) {
        a[row][k] = (a[row][k] + factor * a[column][k]) % kPrime;
        inverse[row][k] = (inverse[row][k] + factor * inverse[column][k]) % kPrime;
      }
    }
  }
  return determinant;
}

int main(int argc, char** argv) {
  static Matrix a, b, c;
  Random random = {argument(argc, argv, 1, 0)};
  for (int i = 0; i < kSize * kSize; i++) a[i / kSize][i % kSize] = next_random(&random) % kPrime;
  uint64_t determinant = invert(b, a);
  multiply(c, a, b);
  int wrong = 0;
  for (int i = 0; i < kSize * kSize; i++) wrong += c[i / kSize][i % kSize] != (i / kSize == i % kSize);
  memcpy(c, a, sizeof c);
  for (int i = 0; i < 5; i++) multiply(c, c, c);
  print("determinant %lu modulo %lu\na^32 has corner %lu\nwrong %d\nchecksum %016lx\n", determinant, kPrime, c[0][0],
        wrong, hash_bytes(kHashStart, c, sizeof c));
  return determinant != 0 && wrong != 0;
}
