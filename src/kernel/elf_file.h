// SPDX-License-Identifier: Apache-2.0
// ELF files as execve() reads them: where a program of AArch64 goes, and what of it. All offsets are checked against the file. The
// rules for the place are those of the program with which a lane begins (src/linux/elf.cpp).
#pragma once

#include "kernel/layer_data.h"

namespace myriarm::kernel {

constexpr u64 kLowestProgram = 0x1000'0000;  // where a program goes that can be anywhere
constexpr u64 kProgramAddressLimit = (u64)1 << 48;
constexpr u32 kElfHeaderBytes = 64, kProgramHeaderBytes = 56, kMostProgramHeaders = 65536 / kProgramHeaderBytes;
enum SegmentType : u32 { kSegmentLoad = 1, kSegmentLoader = 3, kSegmentStack = 0x6474e551 };

template <class T, MemoryMachine M>
MYR_OUTLINE T content_value(const M& m, const Content& file, u64 at) {
  u64 value = 0;
  for (u32 i = 0; i < sizeof(T); i++) value |= (u64)content_byte(m, file, at + i) << 8 * i;
  return (T)value;
}

struct ElfSegment {
  u32 type, permissions;
  u64 offset, address, file_size, size, alignment;
};
/// A program or its loader.
struct ElfFile {
  Content file;
  bool moves;  // it can be anywhere
  u64 entry, headers_at;
  u32 headers;
  u64 lowest, highest, alignment;  // of what is loaded
  u64 loader_at, loader_size;      // the path of its loader in the file, with the NUL; 0, 0: it has none
  bool executable_stack;
  // Once it has a place:
  u64 bias;
  MYR_FN u64 entry_address() const { return entry + bias; }
  MYR_FN u64 end() const { return (highest + bias + kPageSize - 1) & ~(u64)(kPageSize - 1); }
};

template <MemoryMachine M>
MYR_OUTLINE ElfSegment elf_segment(const M& m, const ElfFile& elf, u32 index) {
  const u64 at = elf.headers_at + (u64)index * kProgramHeaderBytes;
  const u32 flags = content_value<u32>(m, elf.file, at + 4);
  // As on Linux for AArch64, writable memory is readable.
  const u32 permissions = ((flags & 6) ? (u32)kPageReadable : 0u) | ((flags & 2) ? (u32)kPageWritable : 0u) |
                          ((flags & 1) ? (u32)kPageExecutable : 0u);
  return {content_value<u32>(m, elf.file, at),      permissions,
          content_value<u64>(m, elf.file, at + 8),  content_value<u64>(m, elf.file, at + 16),
          content_value<u64>(m, elf.file, at + 32), content_value<u64>(m, elf.file, at + 40),
          content_value<u64>(m, elf.file, at + 48)};
}

/// Reads `elf.file`. Returns 0, or -ENOEXEC.
template <MemoryMachine M>
MYR_OUTLINE i64 read_elf(const M& m, ElfFile& elf) {
  enum HeaderPart : u32 {
    kIdentity = 0,
    kSystem = 7,
    kType = 16,
    kMachine = 18,
    kEntry = 24,
    kHeaders = 32,
    kSize = 54,
    kCount = 56
  };
  constexpr u64 kMagic = 0x00010102464c457f;  // ELF64, little-endian, version 1; any system
  constexpr u32 kExecutable = 2, kDynamic = 3, kArm64 = 183, kGnu = 3;
  const Content& file = elf.file;
  const u64 size = file.size;
  if (size < kElfHeaderBytes) return -kENOEXEC;
  const u32 system = content_value<u8>(m, file, kSystem), type = content_value<u16>(m, file, kType);
  if ((content_value<u64>(m, file, kIdentity) & 0x00FFFFFFFFFFFFFF) != kMagic || (system != 0 && system != kGnu))
    return -kENOEXEC;
  if ((type != kExecutable && type != kDynamic) || content_value<u16>(m, file, kMachine) != kArm64) return -kENOEXEC;
  if (content_value<u16>(m, file, kSize) != kProgramHeaderBytes) return -kENOEXEC;
  elf.moves = type == kDynamic;
  elf.entry = content_value<u64>(m, file, kEntry);
  elf.headers_at = content_value<u64>(m, file, kHeaders);
  elf.headers = content_value<u16>(m, file, kCount);
  if (elf.headers == 0 || elf.headers > kMostProgramHeaders || elf.headers_at > size ||
      elf.headers * kProgramHeaderBytes > size - elf.headers_at || elf.entry % 4 != 0) {
    return -kENOEXEC;
  }
  elf.lowest = ~(u64)0;
  elf.highest = elf.loader_at = elf.loader_size = elf.bias = 0;
  elf.alignment = kPageSize;
  elf.executable_stack = false;
  for (u32 i = 0; i < elf.headers; i++) {
    const ElfSegment s = elf_segment(m, elf, i);
    if (s.type == kSegmentStack) elf.executable_stack = (s.permissions & kPageExecutable) != 0;
    if (s.type == kSegmentLoader && elf.loader_size == 0) {
      if (s.file_size < 2 || s.file_size > kPageSize || s.offset > size || s.file_size > size - s.offset ||
          content_byte(m, file, s.offset + s.file_size - 1) != 0) {
        return -kENOEXEC;
      }
      elf.loader_at = s.offset;
      elf.loader_size = s.file_size;
    }
    if (s.type != kSegmentLoad || s.size == 0) continue;
    if (s.file_size > s.size || s.offset > size || s.file_size > size - s.offset) return -kENOEXEC;
    if (s.size > kProgramAddressLimit || s.address > kProgramAddressLimit - s.size) return -kENOEXEC;
    if (s.alignment > 1 && ((s.alignment & (s.alignment - 1)) != 0 || s.alignment > kProgramAddressLimit))
      return -kENOEXEC;
    if (s.address < elf.highest) return -kENOEXEC;  // they must be in order, and apart
    elf.lowest = lesser(elf.lowest, page_down(s.address));
    elf.highest = s.address + s.size;
    elf.alignment = greater(elf.alignment, s.alignment);
  }
  return elf.highest == 0 ? -(i64)kENOEXEC : 0;
}

/// Chooses a place for a file that can be anywhere, from `low` on. False: there is none.
MYR_FN bool place_elf(ElfFile& elf, u64 low) {
  if (!elf.moves) return true;
  const u64 wanted = greater(low, elf.lowest), base = (wanted + elf.alignment - 1) & ~(elf.alignment - 1);
  elf.bias = base - (elf.lowest & ~(elf.alignment - 1));
  return base >= wanted && elf.bias <= kProgramAddressLimit && elf.highest <= kProgramAddressLimit - elf.bias;
}
/// Where its program headers are in memory; 0: they are not loaded.
template <MemoryMachine M>
MYR_OUTLINE u64 headers_address(const M& m, const ElfFile& elf) {
  const u64 size = (u64)elf.headers * kProgramHeaderBytes;
  for (u32 i = 0; i < elf.headers; i++) {
    const ElfSegment s = elf_segment(m, elf, i);
    if (s.type != kSegmentLoad || elf.headers_at < s.offset) continue;
    const u64 into = elf.headers_at - s.offset;
    if (into <= s.file_size && size <= s.file_size - into) return elf.bias + s.address + into;
  }
  return 0;
}

}  // namespace myriarm::kernel
