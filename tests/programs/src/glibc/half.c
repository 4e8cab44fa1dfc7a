// SPDX-License-Identifier: Apache-2.0
// Half precision: vectorised loops of _Float16 and intrinsics for what no loop gives, results in bits. Build with
// -march=armv8.2-a+fp16+fp16fml+dotprod+rdma.
#include <arm_neon.h>
#include <fenv.h>

#include "common.h"

enum { kCount = 256 };

static _Float16 a[kCount], b[kCount], c[kCount];
static int16_t integers[kCount];
static float wide[kCount];

static void __attribute__((noinline)) arithmetic(void) {
  for (int i = 0; i < kCount; i++) c[i] = a[i] * b[i] + c[i];
  for (int i = 0; i < kCount; i++) c[i] = c[i] / (b[i] + (_Float16)0.5) - a[i];
}
static void __attribute__((noinline)) convert(void) {
  for (int i = 0; i < kCount; i++) wide[i] = (float)c[i] * 1.5f;
  for (int i = 0; i < kCount; i++) integers[i] = (int16_t)(a[i] * 100);
  for (int i = 0; i < kCount; i++) b[i] = (_Float16)integers[i] * (_Float16)0.25;
  for (int i = 0; i < kCount; i++) a[i] = (_Float16)(wide[i] * 0.3f);
}
static _Float16 __attribute__((noinline)) largest(void) {
  _Float16 m = a[0];
  for (int i = 1; i < kCount; i++) m = a[i] > m ? a[i] : m;
  return m;
}

static uint64_t intrinsics(Random* random) {
  uint64_t hash = kHashStart;
  for (int i = 0; i < 60; i++) {
    uint64_t words[6];
    for (int k = 0; k < 6; k++) words[k] = next_random(random);
    float16x8_t x = vreinterpretq_f16_u64(vld1q_u64(words)), y = vreinterpretq_f16_u64(vld1q_u64(words + 2));
    float16x8_t z = vreinterpretq_f16_u64(vld1q_u64(words + 4));
    float16x8_t results[] = {
        vaddq_f16(x, y),
        vmulxq_f16(x, y),
        vfmaq_f16(z, x, y),
        vfmsq_f16(z, x, y),
        vdivq_f16(x, y),
        vsqrtq_f16(x),
        vrecpeq_f16(x),
        vrsqrteq_f16(x),
        vrecpsq_f16(x, y),
        vrsqrtsq_f16(x, y),
        vmaxnmq_f16(x, y),
        vminq_f16(x, y),
        vabdq_f16(x, y),
        vrndnq_f16(x),
        vrndaq_f16(x),
        vrndxq_f16(x),
        vpaddq_f16(x, y),
        vpmaxnmq_f16(x, y),
        vmulq_laneq_f16(x, y, 5),
        vfmaq_laneq_f16(z, x, y, 3),
        vreinterpretq_f16_u16(vcgtq_f16(x, y)),
        vreinterpretq_f16_u16(vcaleq_f16(x, y)),
        vreinterpretq_f16_s16(vcvtq_s16_f16(x)),
        vreinterpretq_f16_u16(vcvtaq_u16_f16(x)),
        vcvtq_f16_s16(vreinterpretq_s16_f16(y)),
        vcvtq_n_f16_u16(vreinterpretq_u16_f16(y), 7),
        vreinterpretq_f16_f32(vfmlalq_low_f16(vreinterpretq_f32_f16(z), x, y)),
        vreinterpretq_f16_f32(vfmlslq_high_f16(vreinterpretq_f32_f16(z), x, y)),
        vreinterpretq_f16_f32(vcvt_f32_f16(vget_low_f16(x))),
        vreinterpretq_f16_s32(vdotq_s32(vreinterpretq_s32_f16(z), vreinterpretq_s8_f16(x), vreinterpretq_s8_f16(y))),
        vreinterpretq_f16_u32(
            vdotq_laneq_u32(vreinterpretq_u32_f16(z), vreinterpretq_u8_f16(x), vreinterpretq_u8_f16(y), 2)),
        vreinterpretq_f16_s16(
            vqrdmlahq_s16(vreinterpretq_s16_f16(z), vreinterpretq_s16_f16(x), vreinterpretq_s16_f16(y))),
        vreinterpretq_f16_s16(
            vqrdmlshq_s16(vreinterpretq_s16_f16(z), vreinterpretq_s16_f16(x), vreinterpretq_s16_f16(y))),
    };
    hash = hash_bytes(hash, results, sizeof results);
    __fp16 scalar = vmaxnmvq_f16(x);
    hash = hash_bytes(hash, &scalar, sizeof scalar);
  }
  return hash;
}

int main(int argc, char** argv) {
  Random random = {seed_of(argc, argv)};
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int m = 0; m < 4; m++) {
    fesetround(modes[m]);
    for (int i = 0; i < kCount; i++) {
      a[i] = (_Float16)((next_unit(&random) - 0.5) * (i % 5 ? 20 : 1e5));
      b[i] = (_Float16)(next_unit(&random) * (i % 7 ? 4 : 1e-6));
      c[i] = (_Float16)next_unit(&random);
    }
    feclearexcept(FE_ALL_EXCEPT);
    arithmetic();
    printf("%016" PRIx64 " ", hash_bytes(kHashStart, c, sizeof c));
    convert();
    uint64_t hash = hash_bytes(hash_bytes(hash_bytes(kHashStart, a, sizeof a), b, sizeof b), wide, sizeof wide);
    printf("%016" PRIx64 " %x %g\n", hash_bytes(hash, integers, sizeof integers), (unsigned)fetestexcept(FE_ALL_EXCEPT),
           (double)largest());
    feclearexcept(FE_ALL_EXCEPT);
    printf("%016" PRIx64 " %x\n", intrinsics(&random), (unsigned)fetestexcept(FE_ALL_EXCEPT));
  }
  return 0;
}
