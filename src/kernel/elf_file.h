// SPDX-License-Identifier: Apache-2.0
// ELF files: which of them are programs of AArch64, where a program goes, and what of it. The one place for these rules: a lane's
// first program (src/linux/elf.cpp) and those that execve() loads are read by them. All offsets are checked against the file.
#pragma once

#include "kernel/guest_memory.h"

namespace myriarm::kernel {

/// Linux on AArch64 with 4 KiB pages gives a process 48 bits.
constexpr u64 kProgramAddressLimit = (u64)1 << 48;
/// Where a program goes that can be anywhere: near the begin of a window with a root, and where others are linked to go.
constexpr u64 kLowestProgram = 0x40'0000;
constexpr u32 kElfIdentityBytes = 16, kElfHeaderBytes = 64, kProgramHeaderBytes = 56;
/// Like Linux, at most 64 KiB of program headers are accepted.
constexpr u32 kMostProgramHeaders = 65536 / kProgramHeaderBytes;
enum SegmentType : u32 { kSegmentLoad = 1, kSegmentLoader = 3, kSegmentStack = 0x6474e551 };

/// Why a file is no program, in the order in which it is looked at.
enum class ElfFault : u8 {
  none,
  magic,
  header_is_cut,
  file_class,
  byte_order,
  version,
  system,
  machine,
  type,
  no_headers,
  header_size,
  too_many_headers,
  headers_are_outside,
  headers_are_cut,
  // Of one program header:
  loader,          // the path of the loader is not in the file, or is no path
  memory_size,     // less in memory than in the file
  segment_is_cut,  // it is not in the file
  file_size,       // segments with more bytes than the file has: a small file would be copied a thousand times
  address,
  alignment,
  order,  // segments must rise, and be apart
  // Of all of them:
  nothing_to_load,
  entry
};
struct ElfCheck {
  ElfFault fault;
  u32 index;  // of the program header
};

/// The bytes of a file:
///   u64 size() const
///   u8  byte(u64 at) const    `at` is less than size()
template <class File>
concept FileBytes = requires(const File& file) {
  { file.size() } -> detail::Is<u64>;
  { file.byte(0) } -> detail::Is<u8>;
};

template <class T, FileBytes File>
MYR_OUTLINE T file_value(const File& file, u64 at) {
  u64 value = 0;
  for (u32 i = 0; i < sizeof(T); i++) value |= (u64)file.byte(at + i) << 8 * i;
  return (T)value;
}

struct ElfSegment {
  u32 type, permissions;  // PageFlag
  u64 offset, address, file_size, size, alignment;
};
/// A program or its loader.
struct ElfFile {
  bool moves;  // it can be anywhere
  bool executable_stack;
  u32 headers;
  u64 entry, headers_at;
  u64 lowest, highest, alignment;  // of what is loaded
  u64 loader_at, loader_size;      // the path of its loader in the file, with the NUL; 0, 0: it has none
  u64 bias;                        // once it has a place: place_elf()
  MYR_FN u64 entry_address() const { return entry + bias; }
  MYR_FN u64 end() const { return page_up(highest + bias); }
};

template <FileBytes File>
MYR_OUTLINE ElfSegment elf_segment(const File& file, const ElfFile& elf, u32 index) {
  const u64 at = elf.headers_at + (u64)index * kProgramHeaderBytes;
  const u32 flags = file_value<u32>(file, at + 4);
  // As on Linux for AArch64, writable memory is readable.
  const u32 permissions = ((flags & 6) ? (u32)kPageReadable : 0u) | ((flags & 2) ? (u32)kPageWritable : 0u) |
                          ((flags & 1) ? (u32)kPageExecutable : 0u);
  return {file_value<u32>(file, at),      permissions,
          file_value<u64>(file, at + 8),  file_value<u64>(file, at + 16),
          file_value<u64>(file, at + 32), file_value<u64>(file, at + 40),
          file_value<u64>(file, at + 48)};
}

namespace detail_of_elf {

enum HeaderPart : u32 {
  kMagic = 0,
  kClass = 4,
  kOrder = 5,
  kVersion = 6,
  kSystem = 7,
  kType = 16,
  kMachine = 18,
  kEntry = 24,
  kHeaders = 32,
  kHeaderSize = 54,
  kHeaderCount = 56
};

template <FileBytes File>
MYR_OUTLINE ElfFault read_header(const File& file, ElfFile& elf) {
  constexpr u32 kElf = 0x464c457f, k64Bits = 2, kLittleEndian = 1, kCurrent = 1, kAnySystem = 0, kGnu = 3;
  constexpr u32 kExecutable = 2, kDynamic = 3, kArm64 = 183;
  const u64 size = file.size();
  if (size < 4 || file_value<u32>(file, kMagic) != kElf) return ElfFault::magic;
  if (size < kElfIdentityBytes) return ElfFault::header_is_cut;
  if (file.byte(kClass) != k64Bits) return ElfFault::file_class;
  if (file.byte(kOrder) != kLittleEndian) return ElfFault::byte_order;
  if (file.byte(kVersion) != kCurrent) return ElfFault::version;
  if (file.byte(kSystem) != kAnySystem && file.byte(kSystem) != kGnu) return ElfFault::system;
  if (size < kElfHeaderBytes) return ElfFault::header_is_cut;
  if (file_value<u16>(file, kMachine) != kArm64) return ElfFault::machine;
  const u32 type = file_value<u16>(file, kType);
  if (type != kExecutable && type != kDynamic) return ElfFault::type;
  elf.moves = type == kDynamic;
  elf.entry = file_value<u64>(file, kEntry);
  elf.headers_at = file_value<u64>(file, kHeaders);
  elf.headers = file_value<u16>(file, kHeaderCount);
  if (elf.headers == 0) return ElfFault::no_headers;
  if (file_value<u16>(file, kHeaderSize) != kProgramHeaderBytes) return ElfFault::header_size;
  if (elf.headers > kMostProgramHeaders) return ElfFault::too_many_headers;
  if (elf.headers_at > size) return ElfFault::headers_are_outside;
  return elf.headers * kProgramHeaderBytes > size - elf.headers_at ? ElfFault::headers_are_cut : ElfFault::none;
}

MYR_FN ElfFault check_segment(const ElfSegment& s, u64 file_size, u64& in_file, const ElfFile& elf) {
  if (s.file_size > s.size) return ElfFault::memory_size;
  if (s.file_size != 0 && (s.offset > file_size || s.file_size > file_size - s.offset)) return ElfFault::segment_is_cut;
  in_file += s.file_size;
  if (in_file > file_size) return ElfFault::file_size;
  if (s.size > kProgramAddressLimit || s.address > kProgramAddressLimit - s.size) return ElfFault::address;
  if (s.alignment > 1 && (s.alignment & (s.alignment - 1)) != 0) return ElfFault::alignment;
  return s.size != 0 && s.address < elf.highest ? ElfFault::order : ElfFault::none;
}

}  // namespace detail_of_elf

/// Reads a file; `elf` then has no place yet. The fault is `none` if it can be loaded.
template <FileBytes File>
MYR_OUTLINE ElfCheck read_elf(const File& file, ElfFile& elf) {
  using namespace detail_of_elf;
  elf = {};
  if (const ElfFault fault = read_header(file, elf); fault != ElfFault::none) return {fault, 0};
  const u64 size = file.size();
  u64 in_file = 0;
  elf.lowest = ~(u64)0;
  elf.alignment = kPageSize;
  for (u32 i = 0; i < elf.headers; i++) {
    const ElfSegment s = elf_segment(file, elf, i);
    if (s.type == kSegmentStack) elf.executable_stack = (s.permissions & kPageExecutable) != 0;
    if (s.type == kSegmentLoader && elf.loader_size == 0) {
      if (s.file_size < 2 || s.file_size > kPageSize || s.offset > size || s.file_size > size - s.offset ||
          file.byte(s.offset + s.file_size - 1) != 0) {
        return {ElfFault::loader, i};
      }
      elf.loader_at = s.offset;
      elf.loader_size = s.file_size;
    }
    if (s.type != kSegmentLoad) continue;
    if (const ElfFault fault = check_segment(s, size, in_file, elf); fault != ElfFault::none) return {fault, i};
    if (s.size == 0) continue;
    elf.lowest = lesser(elf.lowest, page_down(s.address));
    elf.highest = s.address + s.size;
    elf.alignment = greater(elf.alignment, s.alignment);
  }
  if (elf.highest == 0) return {ElfFault::nothing_to_load, 0};
  return {elf.entry % 4 != 0 ? ElfFault::entry : ElfFault::none, 0};
}

/// Chooses a place for a file that can be anywhere, from `low` on. False: there is none.
MYR_FN bool place_elf(ElfFile& elf, u64 low) {
  if (!elf.moves) return true;
  if (elf.alignment > kProgramAddressLimit) return false;
  const u64 wanted = greater(low, elf.lowest), base = (wanted + elf.alignment - 1) & ~(elf.alignment - 1);
  // The lowest segment keeps its distance to the multiple of the alignment below it, which goes to `base`.
  elf.bias = base - (elf.lowest & ~(elf.alignment - 1));
  return base >= wanted && elf.bias <= kProgramAddressLimit && elf.highest <= kProgramAddressLimit - elf.bias;
}
/// Where its program headers are in memory; 0: they are not loaded.
template <FileBytes File>
MYR_OUTLINE u64 headers_address(const File& file, const ElfFile& elf) {
  const u64 size = (u64)elf.headers * kProgramHeaderBytes;
  for (u32 i = 0; i < elf.headers; i++) {
    const ElfSegment s = elf_segment(file, elf, i);
    if (s.type != kSegmentLoad || elf.headers_at < s.offset) continue;
    const u64 into = elf.headers_at - s.offset;
    if (into <= s.file_size && size <= s.file_size - into) return elf.bias + s.address + into;
  }
  return 0;
}

}  // namespace myriarm::kernel
