// SPDX-License-Identifier: Apache-2.0
// n-body in double precision with arrays by coordinate, so that the compiler vectorises over bodies; and the same in
// float. Prints energies in decimal and in bits.
#include <math.h>

#include "common.h"

enum { kBodies = 24, kSteps = 20 };

#define SYSTEM(type, root, suffix)                                                                 \
  typedef struct {                                                                                 \
    type x[kBodies], y[kBodies], z[kBodies], vx[kBodies], vy[kBodies], vz[kBodies], mass[kBodies]; \
  } System##suffix;                                                                                \
  static void __attribute__((noinline)) advance##suffix(System##suffix* s, type dt) {              \
    for (int i = 0; i < kBodies; i++) {                                                            \
      type ax = 0, ay = 0, az = 0;                                                                 \
      for (int j = 0; j < kBodies; j++) {                                                          \
        type dx = s->x[j] - s->x[i], dy = s->y[j] - s->y[i], dz = s->z[j] - s->z[i];               \
        type square = dx * dx + dy * dy + dz * dz + (type)0.01;                                    \
        type pull = s->mass[j] / (square * root(square));                                          \
        ax += dx * pull;                                                                           \
        ay += dy * pull;                                                                           \
        az += dz * pull;                                                                           \
      }                                                                                            \
      s->vx[i] += dt * ax;                                                                         \
      s->vy[i] += dt * ay;                                                                         \
      s->vz[i] += dt * az;                                                                         \
    }                                                                                              \
    for (int i = 0; i < kBodies; i++) {                                                            \
      s->x[i] += dt * s->vx[i];                                                                    \
      s->y[i] += dt * s->vy[i];                                                                    \
      s->z[i] += dt * s->vz[i];                                                                    \
    }                                                                                              \
  }                                                                                                \
  static type __attribute__((noinline)) energy##suffix(const System##suffix* s) {                  \
    type e = 0;                                                                                    \
    for (int i = 0; i < kBodies; i++) {                                                            \
      e += s->mass[i] * (s->vx[i] * s->vx[i] + s->vy[i] * s->vy[i] + s->vz[i] * s->vz[i]) / 2;     \
      for (int j = i + 1; j < kBodies; j++) {                                                      \
        type dx = s->x[j] - s->x[i], dy = s->y[j] - s->y[i], dz = s->z[j] - s->z[i];               \
        e -= s->mass[i] * s->mass[j] / root(dx * dx + dy * dy + dz * dz + (type)0.01);             \
      }                                                                                            \
    }                                                                                              \
    return e;                                                                                      \
  }                                                                                                \
  static void fill##suffix(System##suffix* s, uint64_t seed) {                                     \
    Random random = {seed};                                                                        \
    for (int i = 0; i < kBodies; i++) {                                                            \
      s->x[i] = (type)(next_unit(&random) * 2 - 1);                                                \
      s->y[i] = (type)(next_unit(&random) * 2 - 1);                                                \
      s->z[i] = (type)(next_unit(&random) * 2 - 1);                                                \
      s->vx[i] = s->vy[i] = s->vz[i] = 0;                                                          \
      s->mass[i] = (type)(next_unit(&random) / kBodies);                                           \
    }                                                                                              \
  }

SYSTEM(double, sqrt, )
SYSTEM(float, sqrtf, _float)

int main(int argc, char** argv) {
  static System system;
  static System_float system_float;
  uint64_t seed = seed_of(argc, argv);
  fill(&system, seed);
  fill_float(&system_float, seed);
  for (int step = 0; step <= kSteps; step++) {
    if (step % 10 == 0) {
      double e = energy(&system);
      float f = energy_float(&system_float);
      printf("%3d  %.12f  %016" PRIx64 "  %.7f  %08" PRIx32 "\n", step, e, bits_of(e), (double)f, bits_of_float(f));
    }
    advance(&system, 0.001);
    advance_float(&system_float, 0.001f);
  }
  printf("%016" PRIx64 "\n",
         hash_bytes(hash_bytes(kHashStart, &system, sizeof system), &system_float, sizeof system_float));
  return 0;
}
