// SPDX-License-Identifier: Apache-2.0
// The initial values of registers: FPCR in every mode, FPSR, and SIMD&FP registers with numbers that are hard for
// floating-point arithmetic (fp/cases.h), of one size or of all sizes.
#pragma once

#include <array>
#include <cstdint>

#include "generate/generate.h"

namespace myriarm::differential {

/// The bits of FPCR that choose a mode: AHP, DN, FZ, RMode, FZ16.
constexpr uint64_t kFpcrModes = 0x07C80000;
/// FPCR_RMode, FZ, DN, AHP and FZ16 as a number below 64.
constexpr uint32_t fpcr_mode(uint64_t fpcr) {
  return static_cast<uint32_t>(fpcr >> 22 & 31) | static_cast<uint32_t>(fpcr >> 19 & 1) << 5;
}
/// Zero in a quarter of the cases, else any mode.
uint64_t random_fpcr(Random& random);
/// Zero, or IXC, or any of QC, IDC, IXC, UFC, OFC, DZC and IOC.
uint64_t random_fpsr(Random& random);

/// All SIMD&FP registers of a lane, low half first, and integers near the limits of conversions.
/// The numbers come from a small pool, so that two registers often have equal numbers, or numbers whose sum cancels.
struct VectorValues {
  std::array<std::array<uint64_t, 2>, 32> v;
  std::array<uint64_t, 4> integers;
};
VectorValues random_vectors(Random& random);

}  // namespace myriarm::differential
