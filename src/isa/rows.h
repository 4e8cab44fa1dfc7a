// SPDX-License-Identifier: Apache-2.0
// The instruction table in C++: an enumerator for each row, and the fixed bits of its encoding. Freestanding, since the
// device uses it too. Names, syntax and coverage are in row_info.h, which only the host uses.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// The rows, in the order of a64.inc. 0 is "no such instruction".
enum Row : u16 {
  kRowUndefined = 0,
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) kRow_##name,
#define UNDEFINED(name, bits, reason) kRow_##name,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  kRowCount
};

/// The decode forms, in the order of forms.inc.
enum class Form : u16 {
  none,
#define FORM(name, picture) name,
#include "isa/forms.inc"
#undef FORM
  count
};

/// The fixed bits of a row: a word belongs to the row if (word & mask) == value and its form accepts the fields.
struct RowPattern {
  u32 mask;
  u32 value;
  Form form;
};

constexpr u32 fixed_mask(const char* bits) {
  u32 mask = 0;
  for (int i = 0; i < 32; i++) mask = mask << 1 | (u32)(bits[i] == '0' || bits[i] == '1');
  return mask;
}
constexpr u32 fixed_value(const char* bits) {
  u32 value = 0;
  for (int i = 0; i < 32; i++) value = value << 1 | (u32)(bits[i] == '1');
  return value;
}

}  // namespace myriarm
