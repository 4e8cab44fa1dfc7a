// SPDX-License-Identifier: Apache-2.0
// The n-body guest: the sun and the four large planets in double precision, by symplectic Euler steps. Nearly all of it
// is floating point: additions, multiplications, and one square root and one division for each pair of bodies. It is
// built without contraction (-ffp-contract=off), so that the result is the same on every machine. The seed moves one
// planet slightly: lanes follow the same path with different numbers. It uses no library.
#include <stdint.h>

enum { kBodies = 5, kSteps = 2000 };

typedef struct {
  double x, y, z, vx, vy, vz, mass;
} Body;

#define SOLAR_MASS (4 * 3.141592653589793 * 3.141592653589793)
#define DAYS 365.24

// The sun, Jupiter, Saturn, Uranus, Neptune: astronomical units, astronomical units per day, solar masses.
static const Body start[kBodies] = {
    {0, 0, 0, 0, 0, 0, 1},
    {4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694, 0.00769901118419740425,
     -0.0000690460016972063023, 0.000954791938424326609},
    {8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411862, 0.00499852801234917238,
     0.0000230417297573763929, 0.000285885980666130812},
    {12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618, 0.00237847173959480950,
     -0.0000296589568540237556, 0.0000436624404335156298},
    {15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322, 0.00162824170038242295,
     -0.0000951592254519715870, 0.0000515138902046611451},
};
static Body bodies[kBodies];

static void __attribute__((noinline)) place(uint32_t seed) {
  double px = 0, py = 0, pz = 0;
  for (int i = 0; i < kBodies; i++) {
    Body* b = &bodies[i];
    // Member by member, because there is no C library that copies a structure.
    b->x = start[i].x;
    b->y = start[i].y;
    b->z = start[i].z;
    b->vx = start[i].vx * DAYS;
    b->vy = start[i].vy * DAYS;
    b->vz = start[i].vz * DAYS;
    b->mass = start[i].mass * SOLAR_MASS;
    if (i == 1) b->x += (double)seed * 0x1p-40;
    px += b->vx * b->mass;
    py += b->vy * b->mass;
    pz += b->vz * b->mass;
  }
  bodies[0].vx = -px / SOLAR_MASS;  // so that the centre of mass does not move
  bodies[0].vy = -py / SOLAR_MASS;
  bodies[0].vz = -pz / SOLAR_MASS;
}

static void __attribute__((noinline)) advance(double dt) {
  for (int i = 0; i < kBodies; i++) {
    Body* a = &bodies[i];
    for (int j = i + 1; j < kBodies; j++) {
      Body* b = &bodies[j];
      double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
      double square = dx * dx + dy * dy + dz * dz;
      double magnitude = dt / (square * __builtin_sqrt(square));
      a->vx -= dx * b->mass * magnitude;
      a->vy -= dy * b->mass * magnitude;
      a->vz -= dz * b->mass * magnitude;
      b->vx += dx * a->mass * magnitude;
      b->vy += dy * a->mass * magnitude;
      b->vz += dz * a->mass * magnitude;
    }
  }
  for (int i = 0; i < kBodies; i++) {
    bodies[i].x += dt * bodies[i].vx;
    bodies[i].y += dt * bodies[i].vy;
    bodies[i].z += dt * bodies[i].vz;
  }
}

static double __attribute__((noinline)) energy(void) {
  double e = 0;
  for (int i = 0; i < kBodies; i++) {
    const Body* a = &bodies[i];
    e += 0.5 * a->mass * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
    for (int j = i + 1; j < kBodies; j++) {
      const Body* b = &bodies[j];
      double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
      e -= a->mass * b->mass / __builtin_sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return e;
}

/// The bits of the energy after iterations * kSteps steps of 0.01 years.
uint64_t nbody(uint32_t seed, int iterations) {
  place(seed);
  for (int t = 0; t < iterations * kSteps; t++) advance(0.01);
  double e = energy();
  uint64_t bits;
  __builtin_memcpy(&bits, &e, sizeof bits);
  return bits;
}
