// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/code.h"

#include <cstring>

#include "backends/cpu/interpreter/kinds.h"
#include "core/system/registers.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"

namespace myriarm::cpu {
namespace {

/// Picks the fastest kind for one instruction.
void specialise(Operands& o, u64 pc, const CodeSpan& span) {
  bool inside = span.contains(pc + static_cast<u64>(static_cast<i64>(o.offset)));
  switch (o.row) {
#define NEAR(row)                          \
  case kRow_##row:                         \
    if (inside) o.kind = kKind_near_##row; \
    break;
#define PIN(name, from, condition, pins)
#define FUSE(name, first, second)
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
    default: break;
  }
#define NEAR(row)
#define PIN(name, from, condition, pins) \
  if (o.kind == (from) && (condition)) o.kind = kKind_##name;
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
}

/// Makes pairs of instructions, from the front: neither entry has changed when a pair is looked for. Pairs may
/// therefore overlap, and a branch to the second instruction of a pair finds the pair that begins there.
void fuse(Operands* words, u64 count) {
  for (u64 i = 0; i + 1 < count; i++) {
    switch (u32{words[i].kind} << 16 | words[i + 1].kind) {
#define NEAR(row)
#define PIN(name, from, condition, pins)
#define FUSE(name, first, second)          \
  case u32{(first)} << 16 | u32{(second)}: \
    words[i].kind = kKind_##name;          \
    break;
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
      default: break;
    }
  }
}

Operands decode_word(const u8* bytes, u64 index, u64 address, const CodeSpan& span) {
  u32 word;
  std::memcpy(&word, bytes + index * 4, 4);
  Operands o = decode(decode_table(), word);
  if (o.row == kRowUndefined) o.kind = kKindUndefined;
  specialise(o, address + index * 4, span);
  return o;
}

}  // namespace

bool always_leaves(u16 row) {
  return row == kRowUndefined || row == kRow_B_only_branch_imm || row == kRow_BR_64_branch_reg ||
         flow_of(row) == Flow::call || flow_of(row) == Flow::ret;
}

Operands lazy_word() {
  Operands o = {};
  o.kind = kKindLazy;
  return o;
}

void predecode_words(const u8* bytes, u64 address, const CodeSpan& span, Operands* words, u64 first, u64 count) {
  for (u64 i = first; i < first + count; i++) words[i] = decode_word(bytes, i, address, span);
  if (count > 1) fuse(words + first, count);
}

void predecode_page(const u8* bytes, u64 address, const CodeSpan& span, Operands* words) {
  predecode_words(bytes, address, span, words, 0, kPageWords);
}

}  // namespace myriarm::cpu
