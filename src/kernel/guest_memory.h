// SPDX-License-Identifier: Apache-2.0
// Memory as system calls use it: the words of the kernel pages, and what pointers of the guest lead to. An address has
// no tag here: Linux refuses a tagged pointer in most calls, and so does page_of() of a machine.
#pragma once

#include "kernel/machine.h"

namespace myriarm::kernel {

MYR_FN constexpr u64 page_down(u64 address) { return address & ~(u64)(kPageSize - 1); }
/// 0 for an address within the last page of the 64-bit address space.
MYR_FN constexpr u64 page_up(u64 address) { return page_down(address + kPageSize - 1); }
MYR_FN u64 lesser(u64 a, u64 b) { return a < b ? a : b; }
MYR_FN u64 greater(u64 a, u64 b) { return a < b ? b : a; }
MYR_FN u32 offset_in_page(u64 address) { return (u32)address & (kPageSize - 1); }

/// A word of the process; `offset` is a Word, or lies in one of its arrays, and is a multiple of 8. M needs no more of a
/// Machine than its pages.
template <class M>
MYR_FN u64 word(const M& m, u64 offset) {
  return read_once<u64>(m.locate(m.entry(m.guest_pages() + (offset >> kPageBits)), offset_in_page(offset)));
}
/// The words of the first kernel page, with one look at the page table for all of them.
template <class M>
class FirstWords {
 public:
  MYR_FN explicit FirstWords(const M& m) : m_(m), entry_(m.entry(m.guest_pages())) {}
  MYR_FN u64 operator[](u32 offset) const { return read_once<u64>(m_.locate(entry_, offset)); }

 private:
  const M& m_;
  const u32 entry_;
};
/// Must be called, and have returned true, before set_word() for words within these `size` bytes.
template <MemoryMachine M>
MYR_FN bool own_words(M& m, u64 offset, u64 size) {
  for (u64 page = offset >> kPageBits; page <= (offset + size - 1) >> kPageBits; page++) {
    if (!m.own_page(m.guest_pages() + page)) return false;
  }
  return true;
}
template <MemoryMachine M>
MYR_FN bool own_word(M& m, u64 offset) {
  return own_words(m, offset, 8);
}
template <MemoryMachine M>
MYR_FN void set_word(M& m, u64 offset, u64 value) {
  write_once<u64>(m.locate(m.entry(m.guest_pages() + (offset >> kPageBits)), offset_in_page(offset)), value);
}

/// Moves words within the process; the places may overlap. own_words() must have returned true for the target.
template <MemoryMachine M>
MYR_FN void move_words(M& m, u64 to, u64 from, u64 size) {
  if constexpr (M::kContiguous) {
    // As much at a time as lies in one page on both sides, from the end that is not overwritten.
    for (u64 done = 0; done < size;) {
      const u64 left = size - done;
      u64 part, at;
      if (to < from) {
        part = lesser(left, kPageSize - greater(offset_in_page(to + done), offset_in_page(from + done)));
        at = done;
      } else {
        const u32 to_end = offset_in_page(to + left), from_end = offset_in_page(from + left);
        part = lesser(left, lesser(to_end == 0 ? kPageSize : to_end, from_end == 0 ? kPageSize : from_end));
        at = left - part;
      }
      __builtin_memmove(m.locate(m.entry(m.guest_pages() + ((to + at) >> kPageBits)), offset_in_page(to + at)),
                        m.locate(m.entry(m.guest_pages() + ((from + at) >> kPageBits)), offset_in_page(from + at)),
                        part);
      done += part;
    }
  } else {
    for (u64 i = 0; i < size; i += 8) {
      const u64 at = to < from ? i : size - 8 - i;
      set_word(m, to + at, word(m, from + at));
    }
  }
}

/// How many of the `size` bytes from `address` on allow `permission` (a PageFlag), up to the first that does not.
template <MemoryMachine M>
MYR_FN u64 accessible(const M& m, u64 address, u64 size, u32 permission) {
  u64 done = 0;
  while (done < size) {
    const u64 at = address + done, page = m.page_of(at);
    if (at < address || page >= m.guest_pages() || !(m.entry(page) & permission)) break;
    done += kPageSize - offset_in_page(at);
  }
  return lesser(done, size);
}
template <MemoryMachine M>
MYR_FN bool readable(const M& m, u64 address, u64 size) {
  return accessible(m, address, size, kPageReadable) == size;
}

/// Makes the pages from one address to another the lane's own. A machine may want to know all of them at once. False: the call
/// is abandoned.
template <MemoryMachine M>
MYR_FN bool own_pages(M& m, u64 begin, u64 end) {
  if constexpr (requires { m.own_pages(begin, end); }) {
    return m.own_pages(m.page_of(begin), (end - begin) >> kPageBits);
  } else {
    for (u64 at = begin; at < end; at += kPageSize) {
      if (!m.own_page(m.page_of(at))) return false;
    }
    return true;
  }
}

/// What a store to guest memory may do.
enum class Storing : u8 { allowed, refused, again };
/// Makes the pages of these bytes the lane's own, if the guest may write all of them. Must come before store().
template <MemoryMachine M>
MYR_FN Storing prepare(M& m, u64 address, u64 size) {
  if (accessible(m, address, size, kPageWritable) != size) return Storing::refused;
  if (size == 0) return Storing::allowed;  // whatever the address
  return own_pages(m, page_down(address), page_up(address + size)) ? Storing::allowed : Storing::again;
}

namespace detail_of_memory {

// Accesses that are not aligned, or reach into a second page. They are rare, and the calls have many loads and stores.
template <MemoryMachine M>
MYR_COLD u64 load_bytes(const M& m, u64 address, u32 size) {
  u64 value = 0;
  for (u32 i = 0; i < size; i++) {
    const u64 at = address + i;
    value |= (u64)read_once<u8>(m.locate(m.entry(m.page_of(at)), offset_in_page(at))) << (8 * i);
  }
  return value;
}
template <MemoryMachine M>
MYR_COLD void store_bytes(M& m, u64 address, u64 value, u32 size) {
  for (u32 i = 0; i < size; i++) {
    const u64 at = address + i;
    write_once<u8>(m.locate(m.entry(m.page_of(at)), offset_in_page(at)), (u8)(value >> (8 * i)));
  }
  const u64 page = m.page_of(address);
  m.page_written(page);
  if (m.page_of(address + size - 1) != page) m.page_written(page + 1);
}

}  // namespace detail_of_memory

/// A little-endian T at any address; all of its bytes must be readable.
template <class T, Machine M>
MYR_FN T load(const M& m, u64 address) {
  const u32 offset = offset_in_page(address);
  if (M::kContiguous ? offset <= kPageSize - sizeof(T) : offset % sizeof(T) == 0) {
    return read_once<T>(m.locate(m.entry(m.page_of(address)), offset));
  }
  return (T)detail_of_memory::load_bytes(m, address, sizeof(T));
}
/// The same for a store; prepare() must have allowed it.
template <class T, Machine M>
MYR_FN void store(M& m, u64 address, T value) {
  const u32 offset = offset_in_page(address);
  if (M::kContiguous ? offset <= kPageSize - sizeof(T) : offset % sizeof(T) == 0) {
    const u64 page = m.page_of(address);
    write_once<T>(m.locate(m.entry(page), offset), value);
    m.page_written(page);
  } else {
    detail_of_memory::store_bytes(m, address, value, sizeof(T));
  }
}

/// Copies bytes to guest memory; prepare() must have allowed it.
template <MemoryMachine M>
MYR_FN void copy_in(M& m, u64 address, const u8* from, u64 size) {
  for (u64 done = 0; done < size;) {
    const u64 at = address + done, page = m.page_of(at);
    const u32 entry = m.entry(page), offset = offset_in_page(at);
    const u64 part = lesser(size - done, kPageSize - offset);
    if constexpr (M::kContiguous) {
      __builtin_memcpy(m.locate(entry, offset), from + done, part);
    } else {
      for (u64 i = 0; i < part;) {
        const u32 to = offset + (u32)i;
        if (to % 8 != 0 || part - i < 8) {
          write_once<u8>(m.locate(entry, to), from[done + i++]);
          continue;
        }
        u64 granule = 0;
        for (u32 byte = 0; byte < 8; byte++) granule |= (u64)from[done + i++] << byte * 8;
        write_once<u64>(m.locate(entry, to), granule);
      }
    }
    m.page_written(page);
    done += part;
  }
}
/// Copies bytes that are readable.
template <MemoryMachine M>
MYR_FN void copy_out(const M& m, u8* to, u64 address, u64 size) {
  for (u64 done = 0; done < size;) {
    const u64 at = address + done;
    const u32 entry = m.entry(m.page_of(at)), offset = offset_in_page(at);
    const u64 part = lesser(size - done, kPageSize - offset);
    if constexpr (M::kContiguous) {
      __builtin_memcpy(to + done, m.locate(entry, offset), part);
    } else {
      for (u64 i = 0; i < part; i++) to[done + i] = read_once<u8>(m.locate(entry, offset + (u32)i));
    }
    done += part;
  }
}

}  // namespace myriarm::kernel
