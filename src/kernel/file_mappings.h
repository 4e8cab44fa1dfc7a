// SPDX-License-Identifier: Apache-2.0
// MAP_SHARED of files that a process may change: the pages of the mapping are those of the file in the layer, so that stores, read(),
// write() and other processes of the lane see one content. Pages behind the file's end allow no access; they become the file's when it
// has grown and the process makes a call, or comes to one of them. When nothing can open the file any more, its pages are left to what
// has mapped them. docs/design/writable-files.md.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/process_table.h"
#include "kernel/ranges.h"

namespace myriarm::kernel {

/// Where a process has mapped a file. Only addresses in ranges with kSharedFile are; two mappings never overlap.
struct Mapping {
  u64 begin, end;
  u32 file;    // if its inode still has the serial
  u32 first;   // page of the file
  u64 serial;  // kInodeMapped

  MYR_FN u64 page_at(u64 address) const { return first + ((address - begin) >> kPageBits); }
};
template <class M>
MYR_FN u32 mapping_count(const M& m) {
  if constexpr (SharesFiles<M>) return (u32)lesser(word(m, kMappingCount), kMostMappings);
  else return 0;
}
template <class M>
MYR_FN Mapping mapping_at(const M& m, u32 index) {
  const u64 at = kMappings + index * kMappingBytes, file = word(m, at + 16);
  return {word(m, at), word(m, at + 8), (u32)file, (u32)(file >> 32), word(m, at + 24)};
}
template <Machine M>
MYR_FN void set_mapping(M& m, u32 index, const Mapping& mapping) {
  const u64 at = kMappings + index * kMappingBytes;
  set_word(m, at, mapping.begin);
  set_word(m, at + 8, mapping.end);
  set_word(m, at + 16, mapping.file | (u64)mapping.first << 32);
  set_word(m, at + 24, mapping.serial);
}
/// The mapping that an address of a range with kSharedFile is in.
template <class M>
MYR_FN bool find_mapping(const M& m, u64 address, Mapping& mapping) {
  const u32 count = mapping_count(m);
  for (u32 i = 0; i < count; i++) {
    mapping = mapping_at(m, i);
    if (address >= mapping.begin && address < mapping.end) return true;
  }
  return false;
}
/// Whether the file is still the one that was mapped.
template <MemoryMachine M>
MYR_FN bool is_current(const M& m, const Mapping& mapping) {
  if (!is_there(m, mapping.file)) return false;
  const u64 inode = inode_of(m, mapping.file);
  return inode != 0 && word(m, inode + kInodeMapped) == mapping.serial;
}

// Changes of the list, after own_mappings().
template <Machine M>
MYR_FN bool own_mappings(M& m) {
  return own_word(m, kMappingCount) && own_words(m, kMappings, kMostMappings * kMappingBytes);
}
template <class M>
MYR_FN bool is_mapped_still(const M& m, const Mapping& mapping) {
  const u32 count = range_count(m);
  for (u32 i = first_after(m, mapping.begin); i < count && range_at(m, i).begin < mapping.end; i++) {
    if (range_at(m, i).flags & kSharedFile) return true;
  }
  return false;
}
/// Forgets mappings that are gone, and what lies in [begin, end) of the others.
template <Machine M>
MYR_OUTLINE void cut_mappings(M& m, u64 begin, u64 end) {
  const u32 count = mapping_count(m);
  Mapping behind = {0, 0, 0, 0, 0};  // of the one that the place splits
  u32 kept = 0;
  for (u32 i = 0; i < count; i++) {
    Mapping mapping = mapping_at(m, i);
    if (!is_mapped_still(m, mapping)) continue;
    if (mapping.begin < end && begin < mapping.end) {
      Mapping high = mapping;
      high.begin = lesser(end, mapping.end);
      high.first = (u32)mapping.page_at(high.begin);
      if (mapping.begin >= begin) mapping = high;
      else if (high.begin < high.end) behind = high;
      if (mapping.begin < begin) mapping.end = begin;
    }
    if (mapping.begin < mapping.end) set_mapping(m, kept++, mapping);
  }
  if (behind.begin < behind.end) set_mapping(m, kept++, behind);
  set_word(m, kMappingCount, kept);
}

// ---- pages

/// Addresses that are mapped, and what they become: pages of a file from one on.
struct FilePart {
  u64 begin, end;
  u32 file;
  u64 first;
  u32 permissions;

  /// Where the last page of a file of this size ends.
  MYR_FN u64 filled(u64 size) const {
    const u64 offset = first << kPageBits;
    return begin + lesser(end - begin, page_up(size - lesser(size, offset)));
  }
};
/// Plans the pages of the part that the file has not yet, and that all of them are own. `refused`: there is no room for them.
template <Machine M>
MYR_OUTLINE Storing secure_part(M& m, const FilePart& part) {
  Plan plan;
  const u64 size = part.filled(file_status(m, part.file).size) - part.begin;
  if (!plan_raise_file(m, plan, part.file)) return Storing::again;
  if (size != 0) {
    const i64 fits = plan_bytes(m, plan, part.file, part.first << kPageBits, size);
    if (fits < 0) return Storing::again;
    if ((u64)fits < size) return Storing::refused;
  }
  return secure(m, plan);
}
/// Makes the part the file's, after secure_part(). Returns the serial of the file.
template <Machine M>
MYR_OUTLINE u64 join_part(M& m, const FilePart& part) {
  const u64 inode = raise_file(m, part.file), filled = part.filled(word(m, inode + kInodeSize));
  if (word(m, inode + kInodeMapped) == 0) {
    set_layer_word(m, kFilesMapped, layer_word(m, kFilesMapped) + 1);
    set_word(m, inode + kInodeMapped, layer_word(m, kFilesMapped));
  }
  if (filled != part.begin) make_pages(m, inode, part.first << kPageBits, filled - part.begin);
  if constexpr (SharesFiles<M>) {
    const PageTree tree = tree_of(word(m, inode + kInodePages));
    u64 key = part.first;
    for (u64 at = part.begin; at < filled; at += kPageSize) {
      m.join_page(m.page_of(at), lane_page(m, find_page(m, tree, key++)), part.permissions);
    }
  }
  return word(m, inode + kInodeMapped);
}

/// Maps a part of a file in the place of what is there. `flags`: of the range, beside those of each such range.
template <Machine M>
MYR_OUTLINE Result map_part(M& m, const FilePart& part, u32 flags) {
  if constexpr (SharesFiles<M>) {
    if ((part.first + ((part.end - part.begin) >> kPageBits)) >> 32 != 0) return error(kEOVERFLOW);
    if (mapping_count(m) + 2 > kMostMappings) return error(kENOMEM);
    if (!own_mappings(m) || !own_ranges(m, part.begin) || !m.begin_joining()) return again();
    const Storing secured = secure_part(m, part);
    if (secured != Storing::allowed) return secured == Storing::again ? again() : error(kENOMEM);
    if (!m.change_pages({PageAction::map, 0, part.begin, part.end})) return again();
    const u64 serial = join_part(m, part);
    unmap_range(m, part.begin, part.end);
    cut_mappings(m, part.begin, part.end);
    map_range(m, part.begin, part.end, part.permissions | kSharedMemory | kSharedFile | flags);
    const u32 count = mapping_count(m);
    set_mapping(m, count, {part.begin, part.end, part.file, (u32)part.first, serial});
    set_word(m, kMappingCount, count + 1);
    return answer((i64)part.begin);
  } else {
    (void)m, (void)part, (void)flags;
    return error(kENODEV);
  }
}

/// visit(mapping, part) for all that is mapped of files. False as soon as that returns false.
template <Machine M, class Visit>
MYR_OUTLINE bool for_parts(M& m, Visit visit) {
  const u32 mappings = mapping_count(m), ranges = range_count(m);
  for (u32 i = 0; i < mappings; i++) {
    const Mapping mapping = mapping_at(m, i);
    for (u32 n = first_after(m, mapping.begin); n < ranges; n++) {
      const Range range = range_at(m, n);
      if (range.begin >= mapping.end) break;
      if (!(range.flags & kSharedFile)) continue;
      const u64 begin = greater(range.begin, mapping.begin), end = lesser(range.end, mapping.end);
      if (!visit(mapping, FilePart{begin, end, mapping.file, mapping.page_at(begin), range.permissions()}))
        return false;
    }
  }
  return true;
}
template <class M>
MYR_OUTLINE void hide_behind_end(M& m, u32 file, u64 size) {
  if constexpr (SharesFiles<M> && HasSpaces<M>) {
    const u64 serial = word(m, inode_of(m, file) + kInodeMapped);
    const u32 here = m.space(), slots = has_processes(m) ? process_slots(m) : 1;
    for (u32 slot = 0; slot < slots; slot++) {
      if (has_processes(m)) {
        if (!process_lives(m, slot)) continue;
        m.enter_space((u32)process_part(m, slot, kProcessSpace));
      }
      // The pages are mapped: nothing is in the way of another entry for them.
      (void)for_parts(m, [&](const Mapping& mapping, const FilePart& part) {
        const u64 filled = part.filled(size);
        if (mapping.file != file || mapping.serial != serial || filled == part.end) return true;
        return m.change_pages({PageAction::map, 0, filled, part.end});
      });
    }
    m.enter_space(here);
  } else {
    (void)m, (void)file, (void)size;
  }
}

/// Whether files that this process has mapped may have grown since it looked at them.
template <Machine M>
MYR_FN bool files_have_grown(const M& m) {
  return mapping_count(m) != 0 && layer_word(m, kGrowths) != word(m, kGrowthsSeen);
}
/// Maps what they have got. False: abandoned.
template <Machine M>
MYR_OUTLINE bool follow_files(M& m) {
  if (!own_word(m, kGrowthsSeen)) return false;
  const bool followed = for_parts(m, [&](const Mapping& mapping, const FilePart& part) {
    if (!is_current(m, mapping)) return true;
    // Where there is no room, the pages stay without access, as on Linux.
    const Storing secured = secure_part(m, part);
    if (secured == Storing::allowed) (void)join_part(m, part);
    return secured != Storing::again;
  });
  if (!followed) return false;
  set_word(m, kGrowthsSeen, layer_word(m, kGrowths));
  return true;
}

/// Whether an access that the range allows is one to a page behind the end of its file.
template <Machine M>
MYR_FN bool is_behind_file(const M& m, const Range& range, u64 address, bool is_store) {
  if (range.flags & kBehindFile) return true;
  const u32 wanted = is_store ? (u32)kPageWritable : (u32)kPageReadable;
  return (range.flags & kSharedFile) && (range.flags & wanted) && !(m.entry(m.page_of(address)) & kPagePermissions);
}

// ---- mprotect() and mremap()

/// Why the pages of [begin, end) cannot get a protection, or 0. Nothing is executed in a file that stores may change, as on a file system
/// that is mounted so: a store through one mapping would not be seen by what runs in another.
template <Machine M>
MYR_FN i64 protection_refused(const M& m, u64 begin, u64 end, u32 permissions) {
  const u32 count = range_count(m);
  for (u32 i = first_after(m, begin); i < count && range_at(m, i).begin < end; i++) {
    const u32 flags = range_at(m, i).flags;
    if ((flags & kSharedFile) && (permissions & kPageExecutable)) return -kEACCES;
    if ((flags & kReadOnlyFile) && (permissions & kPageWritable)) return -kEACCES;
  }
  return 0;
}
/// Changes the permissions of pages, but not of those behind the end of a file. False: abandoned.
template <Machine M>
MYR_OUTLINE bool protect_pages(M& m, u64 begin, u64 end, u32 permissions) {
  if (mapping_count(m) == 0) return m.change_pages({PageAction::protect, (u8)permissions, begin, end});
  const u32 count = range_count(m);
  for (u32 i = first_after(m, begin); i < count; i++) {
    const Range range = range_at(m, i);
    if (range.begin >= end) break;
    const u64 from = greater(range.begin, begin), to = lesser(range.end, end);
    if (!(range.flags & kSharedFile)) {
      if (!m.change_pages({PageAction::protect, (u8)permissions, from, to})) return false;
      continue;
    }
    u64 behind = to;
    Mapping mapping = {0, 0, 0, 0, 0};
    for (u64 at = from; at < to; at += kPageSize) {
      if (at >= mapping.end) {
        behind = to;
        if (find_mapping(m, at, mapping) && is_current(m, mapping)) {
          const FilePart part = {at, lesser(to, mapping.end), mapping.file, mapping.page_at(at), permissions};
          behind = part.filled(file_status(m, mapping.file).size);
        }
      }
      const bool has_access = (m.entry(m.page_of(at)) & kPagePermissions) != 0;
      if (at >= behind || !(has_access || range.permissions() == 0)) continue;
      if (!m.change_pages({PageAction::protect, (u8)permissions, at, at + kPageSize})) return false;
    }
  }
  return true;
}

}  // namespace myriarm::kernel
