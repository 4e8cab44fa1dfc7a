// SPDX-License-Identifier: Apache-2.0
// Includes all semantics, for files that build an engine from the instruction table.
#pragma once

#include "core/crypto/aes.h"
#include "core/crypto/polynomial.h"
#include "core/crypto/sha1.h"
#include "core/crypto/sha256.h"
#include "core/crypto/sha3.h"
#include "core/crypto/sha512.h"
#include "core/crypto/sm3.h"
#include "core/crypto/sm4.h"
#include "core/fp/estimate.h"
#include "core/fp/load_store.h"
#include "core/fp/scalar.h"
#include "core/integer/add_sub.h"
#include "core/integer/atomic.h"
#include "core/integer/bitfield.h"
#include "core/integer/bits.h"
#include "core/integer/branch.h"
#include "core/integer/conditional.h"
#include "core/integer/crc32.h"
#include "core/integer/exclusive.h"
#include "core/integer/flags.h"
#include "core/integer/load_store.h"
#include "core/integer/logical.h"
#include "core/integer/move.h"
#include "core/integer/multiply.h"
#include "core/integer/shift.h"
#include "core/simd/across.h"
#include "core/simd/copy.h"
#include "core/simd/fp_across.h"
#include "core/simd/fp_complex.h"
#include "core/simd/fp_three_same.h"
#include "core/simd/fp_two_misc.h"
#include "core/simd/immediate.h"
#include "core/simd/permute.h"
#include "core/simd/shift_immediate.h"
#include "core/simd/structure.h"
#include "core/simd/three_different.h"
#include "core/simd/three_same.h"
#include "core/simd/two_misc.h"
#include "core/system/operations.h"
#include "core/system/registers.h"

namespace myriarm {

/// The semantics of a row that is in the table but not implemented.
template <class Cpu>
MYR_FN Outcome todo(Cpu& cpu, const Operands&) {
  return cpu.undefined();
}

}  // namespace myriarm
