// SPDX-License-Identifier: Apache-2.0
// brk, mmap, munmap, mprotect, mremap and madvise, by the rules of their pages in section 2 of the Linux manual. A
// mapping of the input file is a copy of it; pages of a file of the tree are common to all lanes until one writes to them, and those of
// a file that the process may change are the file's (file_mappings.h).
// A mapping goes to the hint if that is free, else to the highest free place between the break and the gap below the
// stack, so freed places are used again. The break grows upwards until it meets a mapping. All of this lies in the
// lane's window.
#pragma once

#include "kernel/file_mappings.h"

namespace myriarm::kernel {

// clang-format off
enum Protection : u32 { kProtRead = 1, kProtWrite = 2, kProtExecute = 4, kProtSem = 8,
                        kProtGrowsDown = 0x01000000, kProtGrowsUp = 0x02000000 };
enum MapFlag : u32 { kMapShared = 1, kMapPrivate = 2, kMapTypes = 15, kMapFixed = 0x10, kMapAnonymous = 0x20,
                     kMapHugePages = 0x40000, kMapFixedNoReplace = 0x100000 };
enum RemapFlag : u64 { kRemapMayMove = 1, kRemapFixed = 2, kRemapAll = 3 };
enum Advice : u32 { kAdviseNormal = 0, kAdviseWillNeed = 3, kAdviseDontNeed = 4, kAdviseFree = 8,
                    kAdviseDontFork = 10, kAdviseDoDump = 17 };
// clang-format on

constexpr u32 kReadWrite = kPageReadable | kPageWritable;
constexpr u64 kAddressLimit = (u64)1 << 48;
/// Like vm.mmap_min_addr of Linux: a mapping lies below this address only if the guest asks for it.
constexpr u64 kLowestPlace = 0x10000;

/// As on Linux for AArch64, writable memory is readable.
MYR_FN u32 permissions_of(u64 protection) {
  return ((protection & (kProtRead | kProtWrite)) ? (u32)kPageReadable : 0u) |
         ((protection & kProtWrite) ? (u32)kPageWritable : 0u) |
         ((protection & kProtExecute) ? (u32)kPageExecutable : 0u);
}
MYR_FN bool is_page_aligned(u64 address) { return offset_in_page(address) == 0; }

/// Changes the pages alone. False: abandoned.
template <Machine M>
MYR_FN bool map_pages(M& m, u64 begin, u64 end, u32 permissions) {
  return begin == end || m.change_pages({PageAction::map, (u8)permissions, begin, end});
}
/// Unmaps the pages of [begin, end) that are mapped. False: abandoned.
template <Machine M>
MYR_FN bool unmap_pages(M& m, u64 begin, u64 end) {
  const u32 count = range_count(m);
  for (u32 i = first_after(m, begin); i < count; i++) {
    const Range range = range_at(m, i);
    if (range.begin >= end) break;
    if (!m.change_pages({PageAction::unmap, 0, greater(range.begin, begin), lesser(range.end, end)})) return false;
  }
  return true;
}

template <Machine M>
MYR_OUTLINE Result brk(M& m) {
  const u64 old = word(m, kBreakEnd), wanted = m.argument(0);
  const u64 before = page_up(old), after = page_up(wanted);
  // Linux reports failure by returning the old break.
  const Result refused = answer((i64)old);
  if (wanted < word(m, kBreakStart) || wanted > word(m, kHeapLimit)) return refused;
  if (after > before && (is_full(m) || !is_free(m, before, after))) return refused;
  if (!own_word(m, kBreakEnd) || !own_ranges(m, lesser(before, after))) return again();
  if (after > before) {
    if (!map_pages(m, before, after, kReadWrite)) return again();
    map_range(m, before, after, kReadWrite | kAnonymous);
  } else if (after < before) {
    if (!unmap_pages(m, after, before)) return again();
    unmap_range(m, after, before);
  }
  set_word(m, kBreakEnd, wanted);
  return answer((i64)wanted);
}

/// Where mmap() places its pages, or an error, negative. `replaces`: what is mapped there goes.
template <Machine M>
MYR_FN i64 find_mapping(const M& m, u64 size, bool& replaces) {
  const ProcessFacts& facts = m.facts();
  const u64 heap_limit = word(m, kHeapLimit);
  const u64 address = m.argument(0), flags = m.argument(3);
  replaces = false;
  if (m.argument(1) == 0 || (flags & kMapHugePages)) return -kEINVAL;
  if (size == 0 || size > facts.window_end - facts.window_begin || is_full(m)) return -kENOMEM;
  if (flags & (kMapFixed | kMapFixedNoReplace)) {
    if (!is_page_aligned(address)) return -kEINVAL;
    if (address < facts.window_begin || address > facts.window_end - size) return -kENOMEM;
    replaces = !is_free(m, address, address + size);
    if ((flags & kMapFixedNoReplace) && replaces) return -kEEXIST;
    return (i64)address;
  }
  const u64 hint = page_down(address);
  if (hint != 0 && hint >= facts.window_begin && hint <= heap_limit && size <= heap_limit - hint &&
      is_free(m, hint, hint + size)) {
    return (i64)hint;
  }
  u64 place = find_place(m, size, page_up(word(m, kBreakEnd)), heap_limit);
  if (place == 0) place = find_place(m, size, greater(facts.window_begin, kLowestPlace), heap_limit);
  return place != 0 ? (i64)place : -kENOMEM;
}

/// Makes the pages of `content` from an address on those of all lanes, if the machine can do that.
template <Machine M>
MYR_FN bool share_pages(M& m, u64 address, u32 permissions, const Bytes& content) {
  if constexpr (SharesPages<M>) return m.share_pages(address, permissions, content);
  else return false;
}
/// Whether share_pages() maps these pages too. Where lanes share a page table, a page that is one of zeros in some of them and one of the
/// file in others could not be the same for all.
template <Machine M>
MYR_FN bool maps_shared(const M& m, const Bytes& content) {
  if constexpr (requires { m.maps_shared(content); }) return m.maps_shared(content);
  else return false;
}

/// mmap() of a file: pages behind its end are in use and cannot be accessed.
template <Machine M>
MYR_OUTLINE Result map_file(M& m, const Content& file, bool in_tree, u32 flags, u64 place, u64 size, bool replaces) {
  const u64 end = place + size, offset = m.argument(5), in_file = file.size - lesser(file.size, offset);
  const u64 filled = place + lesser(size, page_up(in_file)), bytes = lesser(size, in_file);
  const u32 permissions = permissions_of(m.argument(2));
  if (!own_ranges(m, place)) return again();
  if (replaces && !unmap_pages(m, place, end)) return again();
  const Bytes content = {file.below.data + (bytes != 0 ? offset : 0), bytes};
  // Pages that the process has written are its own; those of a file that it has not are shared with others.
  const bool shared = in_tree && file.tree.page == 0 && offset + bytes <= file.below.size;
  const bool at_once = shared && maps_shared(m, content);
  if (at_once ? !share_pages(m, place, permissions, content) : !map_pages(m, place, filled, permissions))
    return again();
  if (!map_pages(m, filled, end, 0)) return again();
  if (!at_once && (!shared || !share_pages(m, place, permissions, content))) {
    if (!own_pages(m, place, filled)) return again();
    copy_source(m, file, offset, place, bytes);
  }
  unmap_range(m, place, end);
  map_range(m, place, filled, permissions | flags);
  map_range(m, filled, end, kBehindFile | flags);
  return answer((i64)place);
}

/// Why a stream cannot be mapped in this way, or 0. The input file is read-only, so that no store can reach it; the others
/// are pipes, of which one can only be read and the others only be written, and which hold no programs.
MYR_FN i64 mapping_refused(i32 stream, const Opened& opened, u64 type, u64 protection) {
  if (opened.is_object()) return opened.readable() ? -kENODEV : -kEACCES;
  const bool writable = stream == (i32)kStandardOutput || stream == (i32)kStandardError;
  if (writable || (type == kMapShared && (protection & kProtWrite))) return -kEACCES;
  if (stream >= (i32)kFirstOpening) return 0;
  return (protection & kProtExecute) ? -kEPERM : -kENODEV;
}

/// The same for what is opened in the tree. On a machine that cannot share its pages, a file cannot be mapped so that stores change
/// it, as on file systems without a page cache. `content` gets that of a file that can be mapped.
template <Machine M>
MYR_FN i64 tree_mapping_refused(const M& m, const Opened& opened, u64 type, u64 protection, Content& content) {
  if (!opened.readable()) return -kEACCES;
  const bool writes_file = type == kMapShared && (protection & kProtWrite);
  if (writes_file && !opened.writable()) return -kEACCES;
  const FileStatus file = file_status(m, opened.file);
  if (type_of(file) != kRegular || made_file(file) != MadeFile::none) return -kENODEV;
  if (writes_file && !shares_files(m)) return -kENODEV;
  return content_of(m, opened.file, content) ? 0 : -kEIO;
}

/// Whether a mapping with MAP_SHARED has the pages of the file. One that nobody has changed and that is open for reading alone is as
/// a copy.
template <Machine M>
MYR_FN bool maps_pages_of_file(const M& m, const Opened& opened, u64 type) {
  return shares_files(m) && opened.in_tree && type == kMapShared &&
         (opened.writable() || inode_of(m, opened.file) != 0);
}

/// As Linux, in whose order the arguments are tested.
template <Machine M>
MYR_OUTLINE Result mmap(M& m) {
  const u64 type = m.argument(3) & kMapTypes;
  const bool anonymous = (m.argument(3) & kMapAnonymous) != 0;
  const i32 stream = anonymous ? -1 : stream_of(m, m.argument(4));
  if (!is_page_aligned(m.argument(5))) return error(kEINVAL);
  if (!anonymous && (stream < 0 || opened_at(m, stream).path_only())) return error(kEBADF);
  const u64 size = page_up(m.argument(1));
  bool replaces;
  const i64 found = find_mapping(m, size, replaces);
  if (found < 0) return answer(found);
  if (type != kMapShared && type != kMapPrivate) return error(kEINVAL);
  const Opened opened = opened_at(m, stream);
  const Bytes input = m.input().file;
  Content file = {input.size, input, {0, 0}};
  const i64 refused = anonymous        ? 0
                      : opened.in_tree ? tree_mapping_refused(m, opened, type, m.argument(2), file)
                                       : mapping_refused(stream, opened, type, m.argument(2));
  constexpr u64 kFileEnd = ~(u64)0 >> 1;
  if (!anonymous && m.argument(5) > (opened.in_tree ? kFileEnd : ~(u64)0) - size) return error(kEOVERFLOW);
  if (refused < 0) return answer(refused);
  const u64 place = (u64)found;
  const u32 flags = !anonymous && type == kMapShared && !opened.writable() ? (u32)kReadOnlyFile : 0u;
  if (maps_pages_of_file(m, opened, type)) {
    if (m.argument(2) & kProtExecute) return error(kEPERM);
    const u32 permissions = permissions_of(m.argument(2));
    return map_part(m, {place, place + size, opened.file, m.argument(5) >> kPageBits, permissions}, flags);
  }
  if (!anonymous) return map_file(m, file, opened.in_tree, flags, place, size, replaces);
  const u32 permissions = permissions_of(m.argument(2));
  if (!own_ranges(m, place)) return again();
  if (!map_pages(m, place, place + size, permissions)) return again();
  map_range(m, place, place + size, permissions | kAnonymous | (type == kMapShared ? (u32)kSharedMemory : 0u));
  return answer(found);
}

template <Machine M>
MYR_OUTLINE Result munmap(M& m) {
  const u64 address = m.argument(0), length = m.argument(1);
  if (!is_page_aligned(address) || length == 0 || length > kAddressLimit || address > kAddressLimit - length) {
    return error(kEINVAL);
  }
  const u64 end = page_up(address + length);
  if (is_full(m) && splits(m, address, end)) return error(kENOMEM);
  if (mapping_count(m) != 0 && !own_mappings(m)) return again();
  if (!own_ranges(m, address) || !unmap_pages(m, address, end)) return again();
  unmap_range(m, address, end);
  if (mapping_count(m) != 0) cut_mappings(m, address, address);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result mprotect(M& m) {
  const u64 address = m.argument(0), size = page_up(m.argument(1)), protection = m.argument(2), end = address + size;
  if (!is_page_aligned(address)) return error(kEINVAL);
  if (m.argument(1) == 0) return answer(0);
  if (size == 0 || end <= address) return error(kENOMEM);
  if (protection & (kProtGrowsDown | kProtGrowsUp)) return error(kEINVAL);  // no mapping grows by itself
  if (protection & ~(u64)(kProtRead | kProtWrite | kProtExecute | kProtSem)) return error(kEINVAL);
  // As on Linux, the memory before a gap is changed even though the call fails.
  const u64 until = mapped_until(m, address, end);
  if (until > address) {
    if (is_full(m) && splits(m, address, until)) return error(kENOMEM);
    const u32 permissions = permissions_of(protection);
    if (const i64 refused = protection_refused(m, address, until, permissions); refused < 0) return answer(refused);
    if (!own_ranges(m, address)) return again();
    if (!protect_pages(m, address, until, permissions)) return again();
    protect_range(m, address, until, permissions);
  }
  return until == end ? answer(0) : error(kENOMEM);
}

/// Copies mapped pages, whatever their permissions, to pages of zeros. False: abandoned.
template <Machine M>
MYR_FN bool copy_pages(M& m, u64 from, u64 to, u64 size) {
  for (u64 at = 0; at < size; at += kPageSize) {
    const u32 entry = m.entry(m.page_of(from + at));
    if (entry == 0) continue;
    u64 any = 0;
    for (u32 i = 0; i < kPageSize && any == 0; i += 8) any = read_once<u64>(m.locate(entry, i));
    if (any == 0) continue;  // the new pages are zero already
    const u64 page = m.page_of(to + at);
    if (!m.own_page(page)) return false;
    const u32 own = m.entry(page);
    for (u32 i = 0; i < kPageSize; i += 8) write_once<u64>(m.locate(own, i), read_once<u64>(m.locate(entry, i)));
    m.page_written(page);
  }
  return true;
}

/// mremap() of pages of a file to another size or to `place`; 0: where there is room, if `moves`.
template <Machine M>
MYR_OUTLINE Result remap_file(M& m, const Range& range, u64 address, u64 old_size, u64 size, u64 place, bool moves) {
  const u64 old_end = address + old_size, heap_limit = word(m, kHeapLimit);
  Mapping mapping;
  // What nothing can open any more has no further pages.
  if (!find_mapping(m, address, mapping) || !is_current(m, mapping)) return error(kENOMEM);
  if (place == 0 && range.end == old_end && size <= m.facts().window_end - address &&
      (address >= heap_limit || address + size <= heap_limit) && is_free(m, old_end, address + size)) {
    place = address;
  }
  if (place == 0 && moves) place = find_place(m, size, page_up(word(m, kBreakEnd)), heap_limit);
  if (place == 0) return error(kENOMEM);
  if (!own_ranges(m, lesser(address, place))) return again();
  const FilePart part = {place, place + size, mapping.file, mapping.page_at(address), range.permissions()};
  const Result result = map_part(m, part, range.flags & kReadOnlyFile);
  if (result.served != Served::answered || result.value < 0 || place == address) return result;
  if (!unmap_pages(m, address, old_end)) return again();
  unmap_range(m, address, old_end);
  cut_mappings(m, address, address);
  return result;
}

template <Machine M>
MYR_OUTLINE Result mremap(M& m) {
  const ProcessFacts& facts = m.facts();
  const u64 heap_limit = word(m, kHeapLimit);
  const u64 address = m.argument(0), old_length = m.argument(1), new_length = m.argument(2), flags = m.argument(3);
  const u64 old_size = page_up(old_length), size = page_up(new_length);
  u64 place = m.argument(4);
  if ((flags & ~(u64)kRemapAll) || ((flags & kRemapFixed) && !(flags & kRemapMayMove))) return error(kEINVAL);
  if (!is_page_aligned(address) || new_length == 0 || old_length == 0) return error(kEINVAL);
  if (size == 0 || size > facts.window_end - facts.window_begin) return error(kENOMEM);
  Range range;
  if (!find_range(m, address, range)) return error(kEFAULT);
  if (is_full(m)) return error(kENOMEM);
  if (old_size == 0 || old_size > kAddressLimit) return error(kEINVAL);
  const u64 old_end = address + old_size, kept = address + lesser(old_size, size);
  if (flags & kRemapFixed) {
    if (!is_page_aligned(place) || place < facts.window_begin || place > facts.window_end - size) return error(kEINVAL);
    if (place < old_end && address < place + size) return error(kEINVAL);
  } else if (size <= old_size) {
    if (size == old_size) return answer((i64)address);
    if (!own_ranges(m, kept) || !unmap_pages(m, kept, old_end)) return again();
    unmap_range(m, kept, old_end);
    return answer((i64)address);
  }
  if (old_size > range.end - address) return error(kEFAULT);
  if (range.flags & kSharedFile) {
    return remap_file(m, range, address, old_size, size, (flags & kRemapFixed) ? place : 0,
                      (flags & kRemapMayMove) != 0);
  }
  if (!(flags & kRemapFixed) && range.end == old_end && size <= facts.window_end - address &&
      (address >= heap_limit || address + size <= heap_limit) && is_free(m, range.end, address + size)) {
    if (!own_ranges(m, range.end) || !map_pages(m, range.end, address + size, range.permissions())) return again();
    map_range(m, range.end, address + size, range.permissions() | kAnonymous | range.kept_flags());
    return answer((i64)address);
  }
  if (!(flags & kRemapMayMove)) return error(kENOMEM);
  if (!(flags & kRemapFixed)) {
    place = find_place(m, size, page_up(word(m, kBreakEnd)), heap_limit);
    if (place == 0) return error(kENOMEM);
  }
  if (!own_ranges(m, lesser(address, place))) return again();
  if (!map_pages(m, place, place + size, range.permissions())) return again();
  if (!copy_pages(m, address, place, kept - address)) return again();
  if (!unmap_pages(m, address, old_end)) return again();
  map_range(m, place, place + size, range.permissions() | kAnonymous | range.kept_flags());
  unmap_range(m, address, old_end);
  return answer((i64)place);
}

/// All that is mapped is in memory.
template <Machine M>
MYR_OUTLINE Result mincore(M& m) {
  const u64 address = m.argument(0), size = page_up(m.argument(1)), pages = size >> kPageBits;
  if (!is_page_aligned(address)) return error(kEINVAL);
  if ((size == 0 && m.argument(1) != 0) || size > kAddressLimit || address > kAddressLimit - size)
    return error(kENOMEM);
  const u64 allowed = accessible(m, m.argument(2), pages, kPageWritable);
  if (allowed < pages) return error(kEFAULT);
  if (mapped_until(m, address, address + size) != address + size) return error(kENOMEM);
  if (prepare(m, m.argument(2), pages) == Storing::again) return again();
  for (u64 i = 0; i < pages; i++) store<u8>(m, m.argument(2) + i, 1);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result madvise(M& m) {
  const u64 address = m.argument(0), size = page_up(m.argument(1)), end = address + size;
  const u32 advice = (u32)m.argument(2);
  const bool known =
      advice <= kAdviseDontNeed || advice == kAdviseFree || (advice >= kAdviseDontFork && advice <= kAdviseDoDump);
  if (!known || !is_page_aligned(address) || end < address || (size == 0 && m.argument(1) != 0)) return error(kEINVAL);
  // As on Linux, memory before and behind a gap gets the advice even though the call fails.
  const Result result = mapped_until(m, address, end) == end ? answer(0) : error(kENOMEM);
  if (advice != kAdviseDontNeed) return result;  // the other kinds of advice do not change the contents
  const u32 count = range_count(m);
  for (u32 i = first_after(m, address); i < count; i++) {
    const Range range = range_at(m, i);
    if (range.begin >= end) break;
    // The original contents cannot be read from the program's file again. What lies before them is dropped nevertheless.
    if (range.flags & kSharedMemory) continue;  // others have it too
    if (!(range.flags & kAnonymous)) return error(kEINVAL);
    if (!map_pages(m, greater(range.begin, address), lesser(range.end, end), range.permissions())) return again();
  }
  return result;
}

}  // namespace myriarm::kernel
