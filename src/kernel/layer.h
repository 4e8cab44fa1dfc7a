// SPDX-License-Identifier: Apache-2.0
// The pages in which a process keeps the files that it has written, its layer over the tree, and what is in its pipes. They lie
// behind its kernel pages, and a page is mapped when it is first needed, so that a process without such files has none. Page 0 holds
// the words of the layer; those after it say by a bit for each page which are taken; the others are files, inodes, names, and
// the nodes of trees that lead to them (layer_pages.h), and buffers (pipes.h). See docs/design/writable-files.md.
#pragma once

#include "kernel/guest_memory.h"

namespace myriarm::kernel {

/// Words of the layer's page 0, from its beginning on.
enum LayerWord : u64 {
  kTakenPages = 0,
  kFirstFree = 8,        // all pages before it are taken
  kInodeTree = 16,       // pages of inodes, by their number divided by kInodesInPage; none of inodes that are all free
  kFirstFreeInode = 24,  // no inode before it is free; 0 is as 1
  kRaisedTree = 32,      // inodes of files of the tree, by their number: pages of kRaisedInPage
  kBuffersTaken = 40,    // of kTakenPages those that are buffers
  kGrowths = 48,         // how often a file that is mapped has got more pages
  kFilesMapped = 56,     // that ever were: they number them
};
constexpr u64 kPagesInBitmapPage = kPageSize * 8;
constexpr u64 kPagesMappedAtOnce = 16;

/// Where a page of the layer begins, as word() takes it.
MYR_FN constexpr u64 layer_at(u64 page) { return (kKernelPages + page) << kPageBits; }
/// How many pages there may be: those of files, and buffers.
template <MemoryMachine M>
MYR_FN u64 area_pages(const M& m) {
  return m.facts().layer_pages + kBufferPages;
}
template <MemoryMachine M>
MYR_FN u64 bitmap_pages(const M& m) {
  return (area_pages(m) + kPagesInBitmapPage - 1) / kPagesInBitmapPage;
}
/// Whether anything has been written.
template <MemoryMachine M>
MYR_FN bool has_layer(const M& m) {
  return word(m, kLayerPages) != 0;
}
/// A LayerWord.
template <MemoryMachine M>
MYR_FN u64 layer_word(const M& m, u64 at) {
  return has_layer(m) ? word(m, layer_at(0) + at) : 0;
}
/// secure() must have returned `allowed` before these.
template <MemoryMachine M>
MYR_FN void set_layer_word(M& m, u64 at, u64 value) {
  set_word(m, layer_at(0) + at, value);
}

// A half of a word: entries of nodes are numbers of pages.
template <MemoryMachine M>
MYR_FN u32 half_word(const M& m, u64 offset) {
  return (u32)(word(m, offset & ~(u64)7) >> (offset & 4) * 8);
}
template <MemoryMachine M>
MYR_FN void set_half_word(M& m, u64 offset, u32 value) {
  const u64 at = offset & ~(u64)7, shift = (offset & 4) * 8;
  set_word(m, at, (word(m, at) & ~((u64)0xFFFFFFFF << shift)) | (u64)value << shift);
}

template <MemoryMachine M>
MYR_FN u64 bitmap_word_at(u64 page) {
  return layer_at(1) + page / 64 * 8;
}
/// The lowest page from `page` on that is not taken.
template <MemoryMachine M>
MYR_FN u64 free_page_from(const M& m, u64 page) {
  for (;;) {
    const u64 free = ~word(m, bitmap_word_at<M>(page)) >> page % 64 << page % 64;
    if (free != 0) return page / 64 * 64 + 63 - count_leading_zeros64(free & (~free + 1));
    page = (page / 64 + 1) * 64;
  }
}

/// How many pages are free for files.
template <MemoryMachine M>
MYR_FN u64 free_pages(const M& m) {
  const u64 taken = has_layer(m) ? layer_word(m, kTakenPages) - layer_word(m, kBuffersTaken) : 1 + bitmap_pages(m);
  return m.facts().layer_pages - lesser(m.facts().layer_pages, taken);
}

/// Makes sure that so many pages can be taken, and that pages can be given back. Whatever else can fail must come before it,
/// and all pages that are given back must be so after those that are taken. False: the call is abandoned. For pages that
/// somebody has kept: secure() for files, reserve() for buffers.
template <MemoryMachine M>
MYR_OUTLINE bool secure_any(M& m, u64 pages) {
  const u64 mapped = word(m, kLayerPages), fixed = 1 + bitmap_pages(m);
  const u64 needed = (mapped == 0 ? fixed : layer_word(m, kTakenPages)) + pages;
  const u64 rounded = (needed + kPagesMappedAtOnce - 1) / kPagesMappedAtOnce * kPagesMappedAtOnce;
  const u64 end = lesser(area_pages(m), rounded);
  if (needed > mapped) {
    const u64 begin = m.facts().window_end + layer_at(mapped), behind = m.facts().window_end + layer_at(end);
    if (!own_word(m, kLayerPages)) return false;
    if (!m.change_pages({PageAction::map, 0, begin, behind})) return false;
    if (mapped == 0) {
      for (u64 page = 0; page < fixed + pages; page++) {
        if (!own_word(m, layer_at(page))) return false;
      }
      set_word(m, kLayerPages, end);
      for (u64 page = 0; page < fixed; page += 64) {
        set_word(m, bitmap_word_at<M>(page), fixed - page < 64 ? ((u64)1 << (fixed - page)) - 1 : ~(u64)0);
      }
      set_layer_word(m, kTakenPages, fixed);
      set_layer_word(m, kFirstFree, fixed);
      return true;
    }
  }
  for (u64 page = 0; page < fixed; page++) {
    if (!own_word(m, layer_at(page))) return false;
  }
  u64 page = layer_word(m, kFirstFree);
  for (u64 i = 0; i < pages; i++, page++) {
    page = free_page_from(m, page);
    if (!own_word(m, layer_at(page))) return false;
  }
  if (needed > mapped) set_word(m, kLayerPages, end);
  return true;
}

template <MemoryMachine M>
MYR_FN Storing secure(M& m, u64 pages) {
  if (pages > free_pages(m)) return Storing::refused;
  return secure_any(m, pages) ? Storing::allowed : Storing::again;
}

/// A page that secure() has made sure of, all zeros.
template <MemoryMachine M>
MYR_OUTLINE u32 take_page(M& m) {
  const u64 page = free_page_from(m, layer_word(m, kFirstFree)), at = bitmap_word_at<M>(page);
  set_word(m, at, word(m, at) | (u64)1 << page % 64);
  set_layer_word(m, kFirstFree, page + 1);
  set_layer_word(m, kTakenPages, layer_word(m, kTakenPages) + 1);
  for (u64 i = 0; i < kPageSize; i += 8) set_word(m, layer_at(page) + i, 0);
  return (u32)page;
}
template <MemoryMachine M>
MYR_FN void give_back_page(M& m, u32 page) {
  const u64 at = bitmap_word_at<M>(page);
  set_word(m, at, word(m, at) & ~((u64)1 << page % 64));
  set_layer_word(m, kFirstFree, lesser(layer_word(m, kFirstFree), page));
  set_layer_word(m, kTakenPages, layer_word(m, kTakenPages) - 1);
}

/// The same for buffers, after secure_any().
template <MemoryMachine M>
MYR_FN u32 take_buffer(M& m) {
  const u32 page = take_page(m);
  set_layer_word(m, kBuffersTaken, layer_word(m, kBuffersTaken) + 1);
  return page;
}
template <MemoryMachine M>
MYR_FN void give_back_buffer(M& m, u32 page) {
  give_back_page(m, page);
  set_layer_word(m, kBuffersTaken, layer_word(m, kBuffersTaken) - 1);
}

}  // namespace myriarm::kernel
