// SPDX-License-Identifier: Apache-2.0
// The bytes of files: those of the tree, with the pages over them that a process has written. Writing takes whole pages; a
// page that was never written takes nothing, and is that of the tree or zeros.
#pragma once

#include "kernel/buffers.h"
#include "kernel/layer_files.h"

namespace myriarm::kernel {

/// What a regular file, or a link, contains.
struct Content {
  u64 size;
  Bytes below;    // of the tree, at most `size` bytes
  PageTree tree;  // pages over it
};
/// False: its bytes in the tree cannot be read.
template <MemoryMachine M>
MYR_OUTLINE bool content_of(const M& m, u32 file, Content& content) {
  const u64 inode = inode_of(m, file);
  content = {0, {nullptr, 0}, {0, 0}};
  if (inode == 0) {
    if (!tree_content(m, file, content.below)) return false;
    content.size = content.below.size;
    return true;
  }
  const u64 below = word(m, inode + kInodeBelow), below_size = word(m, inode + kInodeBelowSize);
  if (below != 0 && below_size != 0 && !tree_content(m, (u32)below - 1, content.below)) return false;
  content.below.size = lesser(content.below.size, below_size);
  content.size = word(m, inode + kInodeSize);
  content.tree = tree_of(word(m, inode + kInodePages));
  return true;
}

/// Copies bytes of a page of the layer to guest memory; prepare() must have allowed it.
template <MemoryMachine M>
MYR_FN void copy_from_layer(M& m, u64 address, u64 at, u64 size) {
  const u8* from = m.locate(m.entry(m.guest_pages() + (at >> kPageBits)), offset_in_page(at));
  if constexpr (M::kContiguous) {
    copy_in(m, address, from, size);
  } else {
    const u32 entry = m.entry(m.guest_pages() + (at >> kPageBits));
    for (u64 i = 0; i < size; i++) store<u8>(m, address + i, read_once<u8>(m.locate(entry, offset_in_page(at + i))));
  }
}
/// The other way; the page must be own, and the bytes of the guest readable.
template <MemoryMachine M>
MYR_FN void copy_to_layer(M& m, u64 at, u64 address, u64 size) {
  const u32 entry = m.entry(m.guest_pages() + (at >> kPageBits));
  if constexpr (M::kContiguous) {
    copy_out(m, m.locate(entry, offset_in_page(at)), address, size);
  } else {
    for (u64 i = 0; i < size; i++) write_once<u8>(m.locate(entry, offset_in_page(at + i)), load<u8>(m, address + i));
  }
}
/// Bytes of the device's memory, or with null zeros, to an own page of the layer.
template <MemoryMachine M>
MYR_FN void fill_layer(M& m, u64 at, const u8* bytes, u64 size) {
  const u32 entry = m.entry(m.guest_pages() + (at >> kPageBits));
  if constexpr (M::kContiguous) {
    if (bytes != nullptr) __builtin_memcpy(m.locate(entry, offset_in_page(at)), bytes, size);
    else __builtin_memset(m.locate(entry, offset_in_page(at)), 0, size);
  } else {
    for (u64 i = 0; i < size; i++) {
      write_once<u8>(m.locate(entry, offset_in_page(at + i)), bytes != nullptr ? bytes[i] : (u8)0);
    }
  }
}
/// From one page of the layer to another, which is own.
template <MemoryMachine M>
MYR_FN void copy_within_layer(M& m, u64 to, u64 from, u64 size) {
  const u32 target = m.entry(m.guest_pages() + (to >> kPageBits)),
            source = m.entry(m.guest_pages() + (from >> kPageBits));
  if constexpr (M::kContiguous) {
    __builtin_memcpy(m.locate(target, offset_in_page(to)), m.locate(source, offset_in_page(from)), size);
  } else {
    for (u64 i = 0; i < size; i++) {
      write_once<u8>(m.locate(target, offset_in_page(to + i)),
                     read_once<u8>(m.locate(source, offset_in_page(from + i))));
    }
  }
}
template <MemoryMachine M>
MYR_FN u8 layer_byte(const M& m, u64 at) {
  return read_once<u8>(m.locate(m.entry(m.guest_pages() + (at >> kPageBits)), offset_in_page(at)));
}

MYR_FN u64 bytes_behind(const Content& source, u64 position) { return source.size - lesser(position, source.size); }
/// Copies bytes of a file to guest memory, as copy_in().
template <MemoryMachine M>
MYR_OUTLINE void copy_source(M& m, const Content& content, u64 position, u64 address, u64 size) {
  if (content.tree.page == 0 && position + size <= content.below.size) {
    return copy_in(m, address, content.below.data + position, size);
  }
  for (u64 done = 0; done < size;) {
    const u64 at = position + done, part = lesser(size - done, kPageSize - offset_in_page(at));
    const u32 page = find_page(m, content.tree, at >> kPageBits);
    if (page != 0) {
      copy_from_layer(m, address + done, layer_at(page) + offset_in_page(at), part);
    } else {
      const u64 below = lesser(part, content.below.size - lesser(at, content.below.size));
      if (below != 0) copy_in(m, address + done, content.below.data + at, below);
      for (u64 i = below; i < part; i++) store<u8>(m, address + done + i, 0);
    }
    done += part;
  }
}
/// One byte of a file.
template <MemoryMachine M>
MYR_FN u8 content_byte(const M& m, const Content& content, u64 at) {
  const u32 page = find_page(m, content.tree, at >> kPageBits);
  if (page != 0) return layer_byte(m, layer_at(page) + offset_in_page(at));
  return at < content.below.size ? content.below.data[at] : (u8)0;
}

// ---- writing

/// How many bytes from a position on can be written with the pages that are free, at most `size`. Plans them, and that the
/// pages which are there become own. -1: the call is abandoned.
template <MemoryMachine M>
MYR_OUTLINE i64 plan_bytes(M& m, Plan& plan, u32 file, u64 position, u64 size) {
  const u64 inode = inode_of(m, file);
  const PageTree tree = inode != 0 ? tree_of(word(m, inode + kInodePages)) : PageTree{0, 0};
  const u64 first = position >> kPageBits, last = (position + size - 1) >> kPageBits, free = free_pages(m);
  // Inodes and tables take a few of the free pages.
  const u64 reserve = plan.pages + plan.inodes * 4 + 2 * kMostHeight + 1;
  u64 missing = 0, key = first;
  for (; key <= last; key++) {
    if (find_page(m, tree, key) == 0) {
      if (pages_for(tree, first, key, missing + 1) + reserve > free) break;
      missing++;
    }
    if (!own_way(m, tree, key, true)) return -1;
  }
  plan.pages += pages_for(tree, first, key == first ? first : key - 1, missing);
  if (key > last) return (i64)size;
  return key == first ? 0 : (i64)((key << kPageBits) - position);
}
/// Makes the planned pages of a file with this inode. What lies below is copied to them.
template <MemoryMachine M>
MYR_OUTLINE void make_pages(M& m, u64 inode, u64 position, u64 size) {
  const u64 below = word(m, inode + kInodeBelow), below_size = word(m, inode + kInodeBelowSize);
  Bytes bytes = {nullptr, 0};
  if (below != 0 && below_size != 0) tree_content(m, (u32)below - 1, bytes);
  bytes.size = lesser(bytes.size, below_size);
  for (u64 key = position >> kPageBits; key <= (position + size - 1) >> kPageBits; key++) {
    if (find_page(m, tree_of(word(m, inode + kInodePages)), key) != 0) continue;
    const u32 page = take_page(m);
    put_page(m, inode + kInodePages, key, page);
    set_word(m, inode + kInodePageCount, word(m, inode + kInodePageCount) + 1);
    const u64 at = key << kPageBits, part = lesser(kPageSize, bytes.size - lesser(at, bytes.size));
    if (part != 0) fill_layer(m, layer_at(page), bytes.data + at, part);
  }
}
// A source of bytes for places of the layer: take_from(m, source, at, size) copies its next ones, which go to one page that is own.

/// The bytes of buffers of the guest, one after the other.
struct GuestSource {
  const Buffers& buffers;
  u32 index;
  u64 offset;  // in buffer `index`
};
/// With kSkipped for the place they are passed over.
constexpr u64 kSkipped = 0;
template <MemoryMachine M>
MYR_OUTLINE void take_from(M& m, GuestSource& source, u64 at, u64 size) {
  for (u64 done = 0; done < size;) {
    const Buffer buffer = buffer_at(m, source.buffers, source.index);
    const u64 part = lesser(size - done, buffer.size - source.offset);
    if (part != 0 && at != kSkipped) copy_to_layer(m, at + done, buffer.address + source.offset, part);
    done += part;
    source.offset += part;
    if (source.offset != buffer.size) continue;
    source.index++;
    source.offset = 0;
  }
}
/// The bytes of a file that can be read, from a position on. It may be the file that changes.
struct FileSource {
  u32 file;
  u64 position;
};
template <MemoryMachine M>
MYR_OUTLINE void take_from(M& m, FileSource& source, u64 at, u64 size) {
  Content content;
  if (!content_of(m, source.file, content)) content.size = 0;  // it was asked before
  for (u64 done = 0; done < size;) {
    const u64 from = source.position + done, part = lesser(size - done, kPageSize - offset_in_page(from));
    const u32 page = find_page(m, content.tree, from >> kPageBits);
    if (page != 0) {
      copy_within_layer(m, at + done, layer_at(page) + offset_in_page(from), part);
    } else {
      const u64 below = lesser(part, content.below.size - lesser(from, content.below.size));
      if (below != 0) fill_layer(m, at + done, content.below.data + from, below);
      if (below != part) fill_layer(m, at + done + below, nullptr, part - below);
    }
    done += part;
  }
  source.position += size;
}

/// Writes bytes of a source to a regular file at a position, as many as there is room for. What else the call changes must be own.
template <MemoryMachine M, class Source>
MYR_OUTLINE Result write_from(M& m, u32 file, u64 position, u64 size, Source& source) {
  Content content;
  if (!content_of(m, file, content)) return error(kEIO);
  Plan plan;
  if (!plan_raise_file(m, plan, file)) return again();
  const i64 fits = plan_bytes(m, plan, file, position, size);
  if (fits < 0) return again();
  if (fits == 0) return error(kENOSPC);
  size = (u64)fits;
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return secured == Storing::again ? again() : error(kENOSPC);
  const u64 inode = raise_file(m, file);
  make_pages(m, inode, position, size);
  for (u64 done = 0; done < size;) {
    const u64 at = position + done, part = lesser(size - done, kPageSize - offset_in_page(at));
    const u32 page = find_page(m, tree_of(word(m, inode + kInodePages)), at >> kPageBits);
    take_from(m, source, layer_at(page) + offset_in_page(at), part);
    done += part;
  }
  if (position + size > word(m, inode + kInodeSize)) set_size(m, inode, position + size);
  constexpr u64 kSetUser = 04000, kSetGroup = 02000, kGroupExecute = 010;
  const u64 mode = word(m, inode + kInodeMode);
  set_word(m, inode + kInodeMode, mode & ~(kSetUser | ((mode & kGroupExecute) ? kSetGroup : 0)));
  note_modification(m, inode);
  return answer((i64)size);
}
/// Writes to a regular file at a position, or at its end. `position_at`: the word that follows the position, or 0.
template <MemoryMachine M>
MYR_OUTLINE Result write_file(M& m, u32 file, const Buffers& buffers, u64 position, bool appends, u32 position_at) {
  if (appends) position = file_status(m, file).size;
  u64 size = 0;
  bool refused = false;
  for (u32 i = 0; i < buffers.count && !refused && size < kMostBytes; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 wanted = lesser(buffer.size, kMostBytes - size);
    const u64 readable = accessible(m, buffer.address, wanted, kPageReadable);
    refused = readable < wanted;
    size += readable;
  }
  if (size == 0) return refused ? error(kEFAULT) : answer(0);
  if (size > kMostFileBytes - position) return error(kEINVAL);
  if (position_at != 0 && !own_word(m, position_at)) return again();
  GuestSource source = {buffers, 0, 0};
  const Result result = write_from(m, file, position, size, source);
  if (position_at != 0 && result.served == Served::answered && result.value > 0) {
    set_word(m, position_at, position + (u64)result.value);
  }
  return result;
}

// ---- length

/// Plans that a file gets this size. False: the call is abandoned.
template <MemoryMachine M>
MYR_OUTLINE bool plan_size(M& m, Plan& plan, u32 file, u64 size) {
  if (!plan_raise_file(m, plan, file)) return false;
  const u64 inode = inode_of(m, file);
  if (inode == 0) return true;
  const PageTree tree = tree_of(word(m, inode + kInodePages));
  for (u64 key = next_key(m, tree, size >> kPageBits); key != kNoPage; key = next_key(m, tree, key + 1)) {
    if (!own_way(m, tree, key, key == size >> kPageBits)) return false;
  }
  return true;
}
template <MemoryMachine M>
MYR_OUTLINE void change_size(M& m, u32 file, u64 size) {
  const u64 inode = raise_file(m, file), tree_at = inode + kInodePages;
  const u64 behind = (size + kPageSize - 1) >> kPageBits;
  const u32 last = find_page(m, tree_of(word(m, tree_at)), size >> kPageBits);
  if (offset_in_page(size) != 0 && last != 0) {
    fill_layer(m, layer_at(last) + offset_in_page(size), nullptr, kPageSize - offset_in_page(size));
  }
  u64 dropped = 0;
  if (word(m, inode + kInodeMapped) != 0 && size < word(m, inode + kInodeSize)) {
    part_pages(m, tree_of(word(m, tree_at)), behind);
    hide_behind_end(m, file, size);
  }
  if (size == 0) {
    drop_tree(m, tree_of(word(m, tree_at)));
    set_word(m, tree_at, 0);
    dropped = word(m, inode + kInodePageCount);
  } else {
    for (u64 key = next_key(m, tree_of(word(m, tree_at)), behind); key != kNoPage;
         key = next_key(m, tree_of(word(m, tree_at)), key + 1), dropped++) {
      drop_page(m, tree_at, key);
    }
  }
  set_word(m, inode + kInodePageCount, word(m, inode + kInodePageCount) - dropped);
  set_word(m, inode + kInodeBelowSize, lesser(word(m, inode + kInodeBelowSize), size));
  set_size(m, inode, size);
  note_modification(m, inode);
}
/// ftruncate(), truncate().
template <MemoryMachine M>
MYR_OUTLINE Result resize_file(M& m, u32 file, u64 size) {
  if (size > kMostFileBytes) return error(kEFBIG);
  Plan plan;
  if (!plan_size(m, plan, file, size)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return secured == Storing::again ? again() : error(kENOSPC);
  change_size(m, file, size);
  return answer(0);
}

}  // namespace myriarm::kernel
