// SPDX-License-Identifier: Apache-2.0
// Loads and stores of structures: LD1 to LD4 and ST1 to ST4, of whole registers, of one lane, and replicating.
// All accesses are made or none; the base is written back after them.
// offset: the bytes accessed; rm: a general register to add to the base, or the zero register.
#pragma once

#include "core/memory.h"
#include "core/simd/vector.h"

namespace myriarm {

/// The address after the access: register offset, or the bytes that were accessed.
template <bool kPost, class Cpu>
MYR_FN Outcome structure_done(Cpu& cpu, const Operands& o, u64 base) {
  if (kPost) cpu.set_r(o.rn, base + (o.rm == kSlotZero ? (u64)o.offset : cpu.r(o.rm)));
  return Outcome::next;
}

/// One element of 1 << size bytes, zero-extended.
template <class Cpu>
MYR_FN bool load_element(Cpu& cpu, u64 address, u32 size, u64& value) {
  u8 byte;
  u16 half;
  u32 word;
  bool done;
  switch (size) {
    case 0: done = load(cpu, address, byte), value = byte; break;
    case 1: done = load(cpu, address, half), value = half; break;
    case 2: done = load(cpu, address, word), value = word; break;
    default: done = load(cpu, address, value); break;
  }
  return done;
}
template <class Cpu>
MYR_FN bool store_element(Cpu& cpu, u64 address, u32 size, u64 value) {
  switch (size) {
    case 0: return store(cpu, address, (u8)value);
    case 1: return store(cpu, address, (u16)value);
    case 2: return store(cpu, address, (u32)value);
    default: return store(cpu, address, value);
  }
}

/// LD1 (multiple structures): whole registers, one after the other.
template <bool kPost, class Cpu>
MYR_FN Outcome load_contiguous(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_load_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  bool full = arrangement_q(o);
  u32 step = full ? 16 : 8;
  for (u32 at = 0, n = o.rd; at < (u32)o.offset; at += step, n = (n + 1) & 31) {
    u64 low, high = 0;
    if (!(full ? load_pair(cpu, base + at, low, high) : load(cpu, base + at, low))) return Outcome::stop;
    write_vector(cpu, n, full, low, high);
  }
  return structure_done<kPost>(cpu, o, base);
}

/// ST1 (multiple structures).
template <bool kPost, class Cpu>
MYR_FN Outcome store_contiguous(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_store_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  bool full = arrangement_q(o);
  u32 step = full ? 16 : 8;
  for (u32 at = 0, n = o.rd; at < (u32)o.offset; at += step, n = (n + 1) & 31) {
    u64 low = cpu.v(n, 0);
    if (!(full ? store_pair(cpu, base + at, low, cpu.v(n, 1)) : store(cpu, base + at, low))) return Outcome::stop;
  }
  return structure_done<kPost>(cpu, o, base);
}

/// LD2, LD3, LD4 (multiple structures): element i of register r is element i * registers + r of memory.
/// If an access is refused in the middle, the engine runs the instruction again with the same effect, because no loaded
/// register is an operand.
template <bool kPost, class Cpu>
MYR_FN Outcome load_interleaved(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_load_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  u32 size = arrangement_size(o), halves = arrangement_halves(o), registers = (u32)o.offset / (8 * halves);
  for (u32 r = 0; r < registers; r++) {
    u32 n = (o.rd + r) & 31;
    u64 address = base + (r << size);
    for (u32 half = 0; half < halves; half++) {
      u64 value = 0;
      for (u32 bit = 0; bit < 64; bit += 8u << size) {
        u64 element;
        if (!load_element(cpu, address, size, element)) return Outcome::stop;
        value |= element << bit;
        address += registers << size;
      }
      cpu.set_v(n, half, value);
    }
    if (halves == 1) cpu.set_v(n, 1, 0);
  }
  return structure_done<kPost>(cpu, o, base);
}

/// ST2, ST3, ST4 (multiple structures).
template <bool kPost, class Cpu>
MYR_FN Outcome store_interleaved(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_store_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  u32 size = arrangement_size(o), halves = arrangement_halves(o), registers = (u32)o.offset / (8 * halves);
  for (u32 r = 0; r < registers; r++) {
    u64 address = base + (r << size);
    for (u32 half = 0; half < halves; half++) {
      u64 value = cpu.v((o.rd + r) & 31, half);
      for (u32 bit = 0; bit < 64; bit += 8u << size) {
        if (!store_element(cpu, address, size, value >> bit)) return Outcome::stop;
        address += registers << size;
      }
    }
  }
  return structure_done<kPost>(cpu, o, base);
}

/// LD1 to LD4 (single structure): one lane of each register. aux: its index.
template <u32 kSize, bool kPost, class Cpu>
MYR_FN Outcome load_lane(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_load_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  for (u32 at = 0, n = o.rd; at < (u32)o.offset; at += 1u << kSize, n = (n + 1) & 31) {
    u64 element;
    if (!load_element(cpu, base + at, kSize, element)) return Outcome::stop;
    write_element(cpu, n, o.aux, kSize, element);
  }
  return structure_done<kPost>(cpu, o, base);
}

/// ST1 to ST4 (single structure).
template <u32 kSize, bool kPost, class Cpu>
MYR_FN Outcome store_lane(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_store_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  for (u32 at = 0, n = o.rd; at < (u32)o.offset; at += 1u << kSize, n = (n + 1) & 31) {
    if (!store_element(cpu, base + at, kSize, read_element(cpu, n, o.aux, kSize))) return Outcome::stop;
  }
  return structure_done<kPost>(cpu, o, base);
}

/// LD1R to LD4R: copies each element to all lanes of its register.
template <bool kPost, class Cpu>
MYR_FN Outcome load_replicate(Cpu& cpu, const Operands& o) {
  u64 base = cpu.r(o.rn);
  if (!may_load_parts(cpu, base, (u32)o.offset)) return Outcome::stop;
  u32 size = arrangement_size(o);
  for (u32 at = 0, n = o.rd; at < (u32)o.offset; at += 1u << size, n = (n + 1) & 31) {
    u64 element;
    if (!load_element(cpu, base + at, size, element)) return Outcome::stop;
    u64 each = replicate_element(element, size);
    write_vector(cpu, n, arrangement_q(o), each, each);
  }
  return structure_done<kPost>(cpu, o, base);
}

}  // namespace myriarm
