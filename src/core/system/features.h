// SPDX-License-Identifier: Apache-2.0
// features.inc as C++ sees it: what a program finds out about the features, as numbers. Freestanding.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// The registers ID_AA64<name>_EL1 that have fields of features.
enum class IdRegister : u8 { PFR0, ISAR0, ISAR1 };

namespace detail {

struct IdField {
  IdRegister id_register;
  u32 low;
  u64 value;
};
constexpr IdField kIdFields[] = {
#define ID(id_register, field, low, value) {IdRegister::id_register, low, value},
#define FEATURE(name, gnu, ids, hwcaps) ids
#define ROWLESS(name, gnu, ids, hwcaps) ids
#include "core/system/features.inc"
#undef ID
#undef FEATURE
#undef ROWLESS
};

struct Hwcaps {
  u64 hwcap, hwcap2;
};
constexpr Hwcaps make_hwcaps() {
  Hwcaps caps = {};
#define HWCAP(bit) caps.hwcap |= (u64)1 << bit;
#define HWCAP2(bit) caps.hwcap2 |= (u64)1 << bit;
#define FEATURE(name, gnu, ids, hwcaps) hwcaps
#define ROWLESS(name, gnu, ids, hwcaps) hwcaps
#include "core/system/features.inc"
#undef HWCAP
#undef HWCAP2
#undef FEATURE
#undef ROWLESS
  return caps;
}

}  // namespace detail

/// The value of that register's fields that name features.
constexpr u64 feature_fields(IdRegister id_register) {
  u64 all = 0;
  for (const detail::IdField& field : detail::kIdFields) {
    const u64 mask = (u64)15 << field.low, value = field.value << field.low;
    if (field.id_register == id_register && (all & mask) < value) all = (all & ~mask) | value;
  }
  return all;
}

/// AT_HWCAP and AT_HWCAP2 of a process.
constexpr u64 kHwcap = detail::make_hwcaps().hwcap;
constexpr u64 kHwcap2 = detail::make_hwcaps().hwcap2;

}  // namespace myriarm
