// SPDX-License-Identifier: Apache-2.0
// The slow path of guest memory: accesses that load() and store() of core/memory.h do not make themselves. They cross a
// page or a granule, use a page that is not plainly readable or writable, or are refused. For every backend this file
// decides what is checked, in which order, and which fault results; the backend says where the bytes are and how a page
// becomes writable. A backend calls these functions out of line.
#pragma once

#include "core/memory.h"

namespace myriarm {

/// The memory of one lane, as the slow path asks for it.
///   u64  page_of(u64 address), u64 page_count()
///   u32  entry(u64 page)                  the entry as it is for this lane
///   u8*  locate(u32 entry, u32 offset)    where a byte of the page lies
///   bool refuse(FaultCode, u64 address)   records the fault; returns false
///   bool make_writable(u64 address, u32& entry)
///        prepares a store to a page that the lane may write, but that is shared or has predecoded code.
///        False: the instruction is abandoned, and the backend has recorded why.
///   void code_written(u64 address, u32 size)   is called after a store to a page with predecoded code
template <class M>
concept SlowMemory = requires(M& memory, u64 address, u32& entry, FaultCode fault) {
  memory.page_of(address) + memory.page_count();
  entry = memory.entry(address);
  *memory.locate(entry, entry) = (u8)0;
  memory.refuse(fault, address) || memory.make_writable(address, entry);
  memory.code_written(address, entry);
};

/// Bytes of an access at `address` that lie in its first page.
MYR_FN u32 size_in_page(u64 address, u32 size) {
  u32 left = left_in_page(address);
  return size < left ? size : left;
}

/// The entry of the page at `address` if the lane may access it in this way. 0: it may not, and the fault is recorded.
template <SlowMemory M>
MYR_FN u32 entry_for(M& memory, u64 address, Access access) {
  u64 page = memory.page_of(address);
  u32 entry = page < memory.page_count() ? memory.entry(page) : 0;
  FaultCode fault = permission_fault(entry, access);
  if (fault == FaultCode::none) return entry;
  memory.refuse(fault, address);
  return 0;
}

/// The fault of fetching an instruction at `pc`; none if it may run, and then `entry` is the entry of its page.
template <SlowMemory M>
MYR_FN FaultCode fetch_fault(M& memory, u64 pc, u32& entry) {
  if (pc & 3) return FaultCode::alignment;
  u64 page = memory.page_of(pc);
  if (untagged(pc) != pc || page >= memory.page_count()) return FaultCode::unmapped;
  entry = memory.entry(page);
  return permission_fault(entry, Access::execute);
}

/// The stop of a lane that cannot fetch at `pc`. Its address keeps the top byte of pc: a pc with a tag is outside every
/// window.
MYR_FN StopRecord fetch_fault_record(FaultCode fault, u64 pc) { return {StopCode::fault, fault, 0, 0, pc}; }

/// Loads `size` bytes, at most 8. If they lie in two pages, the first page is checked first.
template <SlowMemory M>
MYR_FN SlowLoad load_slowly(M& memory, u64 address, u32 size) {
  const u32 in_first = size_in_page(address, size);
  const u32 first = entry_for(memory, address, Access::read);
  if (first == 0) return {0, false};
  u32 second = first;
  if (in_first < size) {
    second = entry_for(memory, address + in_first, Access::read);
    if (second == 0) return {0, false};
  }
  u64 value = 0;
  for (u32 i = 0; i < size; i++) {
    const u32 offset = (u32)(address + i) & (kPageSize - 1);
    value |= (u64)read_once<u8>(memory.locate(i < in_first ? first : second, offset)) << (8 * i);
  }
  return {value, true};
}

/// Stores `size` bytes, at most 16: those of `low`, then those of `high`. All of them or none. With size 0 it stores
/// nothing, and returns whether the byte at the address may be written. Both pages are checked before either is made
/// writable, so that a refused store copies nothing.
template <SlowMemory M>
MYR_FN bool store_slowly(M& memory, u64 address, u64 low, u64 high, u32 size) {
  const u32 in_first = size_in_page(address, size);
  u32 first = entry_for(memory, address, Access::write);
  if (first == 0) return false;
  u32 second = first;
  if (in_first < size) {
    second = entry_for(memory, address + in_first, Access::write);
    if (second == 0) return false;
  }
  constexpr u32 kNotWritableYet = kPageShared | kPageCode;
  if ((first & kNotWritableYet) && !memory.make_writable(address, first)) return false;
  if (in_first < size && (second & kNotWritableYet) && !memory.make_writable(address + in_first, second)) return false;
  for (u32 i = 0; i < size; i++) {
    const u32 offset = (u32)(address + i) & (kPageSize - 1);
    const u8 byte = (u8)(i < 8 ? low >> (8 * i) : high >> (8 * (i - 8)));
    write_once<u8>(memory.locate(i < in_first ? first : second, offset), byte);
  }
  if ((first | (in_first < size ? second : 0)) & kPageCode) memory.code_written(address, size);
  return true;
}

/// The bytes of a pair as store_slowly() takes them.
struct PairBytes {
  u64 low, high;
  u32 size;
};
MYR_FN PairBytes bytes_of_pair(u64 first, u64 second, u32 size) {
  if (size == 8) return {first, second, 16};
  return {first | second << (8 * size), 0, 2 * size};
}

}  // namespace myriarm
