// SPDX-License-Identifier: Apache-2.0
// Guest memory as every engine sees it: the page-table entry, where a byte of a lane lies, and the helpers for loads
// and stores. Permissions, faults and ordering are decided only here and in core/slow_access.h. The backends allocate
// the frames.
#pragma once

#include "core/portable.h"
#include "core/stop.h"

namespace myriarm {

constexpr u32 kPageBits = 12;
constexpr u32 kPageSize = 1u << kPageBits;

/// A page-table entry is 4 bytes: a frame number in units of 4 KiB and six flags. 0 is "not mapped".
enum PageFlag : u32 {
  kPageReadable = 1,
  kPageWritable = 2,  // the guest may write; with kPageShared the first write copies
  kPageExecutable = 4,
  kPageShared = 8,   // the frame is an image frame: contiguous, one copy for all lanes, never written
  kPageDiffer = 16,  // the lanes of the team have different permissions: always the slow path
  kPageCode = 32,    // a store takes the slow path: the page has predecoded code, or a snapshot holds the frame too
};
constexpr u32 kPagePermissions = kPageReadable | kPageWritable | kPageExecutable;
constexpr u32 kPageFlagBits = 6;
constexpr u32 kPageFlagMask = (1u << kPageFlagBits) - 1;

enum class Access : u8 { read, write, execute };

/// An address without its tag: the top byte is ignored (TBI, as Linux sets it for user space).
MYR_FN u64 untagged(u64 address) { return address << 8 >> 8; }

/// The stop of a lane whose access at `address` was refused.
MYR_FN StopRecord fault_record(FaultCode fault, u64 address) {
  return {StopCode::fault, fault, 0, 0, untagged(address)};
}

/// The page table of one team of `kTeam` lanes, and where one lane's bytes lie. A frame holds one page of every lane of
/// the team: granule g (8 bytes) of a lane lies at lane_offset + g * 8 * granule_step. In an interleaved frame
/// granule_step is the number of lanes in the frame, and lane_offset is 8 bytes for each lane before this one. If
/// granule_step is 1, the lane's page is contiguous. An image frame is contiguous for all lanes.
template <u32 kTeam>
struct PagedMemory {
  static constexpr u32 team = kTeam;
  u8* frames;      // frame f begins at frames + f * 4 KiB
  u32* table;      // page_count entries, for pages first_page and up
  u64 first_page;  // the guest's address window
  u64 page_count;
  u32 lane_in_team;
  u32 granule_step = kTeam;
  u32 lane_offset = lane_in_team * 8;

  /// Page number of an address within the window, with the tag ignored; page_count or more outside it.
  MYR_FN u64 page_of(u64 address) const { return (untagged(address) >> kPageBits) - first_page; }
  /// Where the entry of a page of the window lies. Only this function knows the layout of a page table.
  MYR_FN u32* entry_place(u64 page) const { return table + page; }
  MYR_FN u32 entry(u64 page) const { return *entry_place(page); }

  /// Where the byte at `offset` of the page with this entry lies for this lane.
  MYR_FN u8* locate(u32 entry, u32 offset) const {
    u8* frame = frames + ((u64)(entry >> kPageFlagBits) << kPageBits);
    if (kTeam == 1) return frame + offset;
    u32 own = (offset & ~7u) * granule_step + lane_offset + (offset & 7);
    return frame + ((entry & kPageShared) ? offset : own);
  }

  /// True if the host or GPU can reach `kSize` bytes at `offset` in one access. A GPU faults on an access that is not
  /// naturally aligned, even inside a granule.
  template <u32 kSize>
  MYR_FN static bool whole(u32 offset) {
    return kTeam == 1 ? offset <= kPageSize - kSize : (offset & (kSize - 1)) == 0;
  }
};

/// A load is fast if all lanes of the team may read the page.
MYR_FN bool fast_readable(u32 entry) { return (entry & (kPageReadable | kPageDiffer)) == kPageReadable; }
/// A store is fast if all lanes of the team may write to the page, nothing else holds its frame, and it has no
/// predecoded code.
MYR_FN bool fast_writable(u32 entry) {
  return (entry & (kPageWritable | kPageShared | kPageDiffer | kPageCode)) == kPageWritable;
}

/// The fault of an access to a page with this entry; none if the access is allowed.
MYR_FN FaultCode permission_fault(u32 entry, Access access) {
  if (!(entry & (kPageReadable | kPageWritable | kPageExecutable))) {
    return (entry & ~kPageFlagMask) ? (access == Access::read    ? FaultCode::read
                                       : access == Access::write ? FaultCode::write
                                                                 : FaultCode::execute)
                                    : FaultCode::unmapped;
  }
  switch (access) {
    case Access::read: return (entry & kPageReadable) ? FaultCode::none : FaultCode::read;
    case Access::write: return (entry & kPageWritable) ? FaultCode::none : FaultCode::write;
    default: return (entry & kPageExecutable) ? FaultCode::none : FaultCode::execute;
  }
}

/// What the slow path returns, by value, so that it stays in registers.
struct SlowLoad {
  u64 value;
  bool done;  // false: the instruction is abandoned; the engine has recorded why
};

/// A policy that finds the place of an access by itself, without the entry of its page: readable() and writable() say
/// whether all its bytes are plainly readable or writable there, and set `at` if so. Otherwise the slow path makes the
/// access.
template <class C>
concept FindsPlaces = requires(const C& cpu, u64 address, u32 bytes, u8*& at) {
  cpu.readable(address, bytes, at) && cpu.writable(address, bytes, at);
};

/// Loads a little-endian T at `address`. False: the instruction is abandoned and must return Outcome::stop. The read is
/// volatile: guest memory can change between two guest loads (the host may write to it, for example), and a compiler
/// has been seen to hoist a plain load out of a translated loop.
template <class T, class Cpu>
MYR_FN bool load(Cpu& cpu, u64 address, T& value) {
  if constexpr (FindsPlaces<Cpu>) {
    u8* at;
    if (MYR_LIKELY(cpu.readable(address, sizeof(T), at))) {
      value = read_once<T>(at);
      return true;
    }
  } else {
    const auto& memory = cpu.memory();
    u64 page = memory.page_of(address);
    u32 offset = (u32)address & (kPageSize - 1);
    if (MYR_LIKELY(page < memory.page_count)) {
      u32 entry = memory.entry(page);
      if (MYR_LIKELY(fast_readable(entry) && memory.template whole<sizeof(T)>(offset))) {
        value = read_once<T>(memory.locate(entry, offset));
        return true;
      }
    }
  }
  SlowLoad slow = cpu.load_slow(address, sizeof(T));
  value = (T)slow.value;
  return slow.done;
}

/// Stores a little-endian T at `address`, all of it or nothing. False: as for load().
template <class T, class Cpu>
MYR_FN bool store(Cpu& cpu, u64 address, T value) {
  if constexpr (FindsPlaces<Cpu>) {
    u8* at;
    if (MYR_LIKELY(cpu.writable(address, sizeof(T), at))) {
      write_once<T>(at, value);
      return true;
    }
  } else {
    const auto& memory = cpu.memory();
    u64 page = memory.page_of(address);
    u32 offset = (u32)address & (kPageSize - 1);
    if (MYR_LIKELY(page < memory.page_count)) {
      u32 entry = memory.entry(page);
      if (MYR_LIKELY(fast_writable(entry) && memory.template whole<sizeof(T)>(offset))) {
        write_once<T>(memory.locate(entry, offset), value);
        return true;
      }
    }
  }
  return cpu.store_slow(address, value, sizeof(T));
}

/// Loads two adjacent Ts, the lower-addressed one into `first`: pairs and 16-byte quantities.
template <class T, class Cpu>
MYR_FN bool load_pair(Cpu& cpu, u64 address, T& first, T& second) {
  if constexpr (FindsPlaces<Cpu>) {
    u8* at;
    if (MYR_LIKELY(cpu.readable(address, 2 * sizeof(T), at))) {
      first = read_once<T>(at);
      second = read_once<T>(at + sizeof(T));
      return true;
    }
  } else {
    const auto& memory = cpu.memory();
    u64 page = memory.page_of(address);
    u32 offset = (u32)address & (kPageSize - 1);
    if (MYR_LIKELY(page < memory.page_count)) {
      u32 entry = memory.entry(page);
      if (MYR_LIKELY(fast_readable(entry) && offset <= kPageSize - 2 * sizeof(T) &&
                     memory.template whole<sizeof(T)>(offset))) {
        first = read_once<T>(memory.locate(entry, offset));
        second = read_once<T>(memory.locate(entry, offset + sizeof(T)));
        return true;
      }
    }
  }
  SlowLoad slow = cpu.load_slow(address, sizeof(T));
  first = (T)slow.value;
  if (!slow.done) return false;
  slow = cpu.load_slow(address + sizeof(T), sizeof(T));
  second = (T)slow.value;
  return slow.done;
}

/// Stores two adjacent Ts, both or neither.
template <class T, class Cpu>
MYR_FN bool store_pair(Cpu& cpu, u64 address, T first, T second) {
  if constexpr (FindsPlaces<Cpu>) {
    u8* at;
    if (MYR_LIKELY(cpu.writable(address, 2 * sizeof(T), at))) {
      write_once<T>(at, first);
      write_once<T>(at + sizeof(T), second);
      return true;
    }
  } else {
    const auto& memory = cpu.memory();
    u64 page = memory.page_of(address);
    u32 offset = (u32)address & (kPageSize - 1);
    if (MYR_LIKELY(page < memory.page_count)) {
      u32 entry = memory.entry(page);
      if (MYR_LIKELY(fast_writable(entry) && offset <= kPageSize - 2 * sizeof(T) &&
                     memory.template whole<sizeof(T)>(offset))) {
        write_once<T>(memory.locate(entry, offset), first);
        write_once<T>(memory.locate(entry, offset + sizeof(T)), second);
        return true;
      }
    }
  }
  return cpu.store_pair_slow(address, first, second, sizeof(T));
}

/// Bytes from an address to the end of its page.
MYR_FN u32 left_in_page(u64 address) { return kPageSize - ((u32)address & (kPageSize - 1)); }

/// To be called before an access in several parts, of at most a page in all. True: no later part will fault unless the
/// first part does. False: as for load() and store(), and nothing was read or written. If the parts lie in two pages,
/// both pages are checked.
template <class Cpu>
MYR_FN bool may_load_parts(Cpu& cpu, u64 address, u32 bytes) {
  u32 left = left_in_page(address);
  if (MYR_LIKELY(bytes <= left)) return true;
  u8 value;
  return load(cpu, address, value) && load(cpu, address + left, value);
}
template <class Cpu>
MYR_FN bool may_store_parts(Cpu& cpu, u64 address, u32 bytes) {
  u32 left = left_in_page(address);
  if (MYR_LIKELY(bytes <= left)) return true;
  return cpu.store_slow(address, 0, 0) && cpu.store_slow(address + left, 0, 0);
}

}  // namespace myriarm
