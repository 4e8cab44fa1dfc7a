// SPDX-License-Identifier: Apache-2.0
// Trees of pages of the layer, by number: a file's pages, which may be far apart, and tables. A node is a page of 1,024
// numbers of pages. A tree that has one page, of number 0, has no node.
#pragma once

#include "kernel/layer.h"

namespace myriarm::kernel {

constexpr u32 kNodeBits = 10, kNodeEntries = 1 << kNodeBits, kMostHeight = 6;
constexpr u64 kNoPage = ~(u64)0;

/// What the word of a tree says: its first node or page, 0 for none, and how many nodes are above a page.
struct PageTree {
  u32 page, height;
};
MYR_FN PageTree tree_of(u64 value) { return {(u32)value, (u32)(value >> 32)}; }
MYR_FN u64 word_of(PageTree tree) { return tree.page | (u64)tree.height << 32; }
MYR_FN u64 entry_at(u32 node, u64 key, u32 level) {
  return layer_at(node) + (key >> (level - 1) * kNodeBits & (kNodeEntries - 1)) * 4;
}
/// The height that a tree with this number in it has at least; more than any has, if the number is too large.
MYR_FN u32 height_for(u64 key) {
  u32 height = 0;
  for (; height <= kMostHeight && key >> height * kNodeBits != 0; height++) {
  }
  return height;
}

/// The page with this number; 0 if there is none.
template <MemoryMachine M>
MYR_FN u32 find_page(const M& m, PageTree tree, u64 key) {
  if (tree.height < height_for(key)) return 0;
  u32 page = tree.page;
  for (u32 level = tree.height; level != 0 && page != 0; level--) page = half_word(m, entry_at(page, key, level));
  return page;
}
/// The lowest number from `key` on that has a page; kNoPage if none has.
template <MemoryMachine M>
MYR_OUTLINE u64 next_key(const M& m, PageTree tree, u64 key) {
  while (tree.page != 0 && tree.height >= height_for(key)) {
    u32 page = tree.page, level = tree.height;
    for (; level != 0; level--) {
      page = half_word(m, entry_at(page, key, level));
      if (page == 0) break;
    }
    if (page != 0) return key;
    const u32 bits = (level - 1) * kNodeBits;
    key = ((key >> bits) + 1) << bits;
  }
  return kNoPage;
}

/// Makes the nodes on the way to a number own, and with `page_too` its page. False: the call is abandoned.
template <MemoryMachine M>
MYR_FN bool own_way(M& m, PageTree tree, u64 key, bool page_too) {
  if (tree.height < height_for(key)) return true;
  u32 page = tree.page;
  for (u32 level = tree.height; page != 0 && (level != 0 || page_too); level--) {
    if (!own_word(m, layer_at(page))) return false;
    if (level == 0) break;
    page = half_word(m, entry_at(page, key, level));
  }
  return true;
}
/// At least as many pages as `missing` new ones take with their nodes, if their numbers lie from `first` to `last`.
MYR_FN u64 pages_for(PageTree tree, u64 first, u64 last, u64 missing) {
  if (missing == 0) return 0;
  const u32 height = height_for(last);
  u64 nodes = tree.page != 0 && height > tree.height ? height - tree.height : 0;
  const u32 most = height > tree.height ? height : tree.height;
  for (u32 level = 1; level <= most; level++) {
    const u64 span = (last >> level * kNodeBits) - (first >> level * kNodeBits) + 1;
    nodes += lesser(span, missing);
  }
  return missing + nodes;
}

/// Puts a page into the tree whose word is at `tree_at`. pages_for() must have been secured, and the way be own.
template <MemoryMachine M>
MYR_OUTLINE void put_page(M& m, u64 tree_at, u64 key, u32 new_page) {
  PageTree tree = tree_of(word(m, tree_at));
  const u32 height = height_for(key);
  if (tree.page == 0 && tree.height < height) tree.height = height;
  while (tree.height < height) {
    const u32 node = take_page(m);
    set_half_word(m, layer_at(node), tree.page);
    tree = {node, tree.height + 1};
  }
  if (tree.height == 0) tree.page = new_page;
  else if (tree.page == 0) tree.page = take_page(m);
  set_word(m, tree_at, word_of(tree));
  u32 page = tree.page;
  for (u32 level = tree.height; level != 0; level--) {
    const u64 entry = entry_at(page, key, level);
    page = half_word(m, entry);
    if (level == 1) set_half_word(m, entry, new_page);
    else if (page == 0) set_half_word(m, entry, page = take_page(m));
  }
}
/// Gives the page of a number back, which is there. Its nodes stay.
template <MemoryMachine M>
MYR_FN void drop_page(M& m, u64 tree_at, u64 key) {
  PageTree tree = tree_of(word(m, tree_at));
  u32 page = tree.page;
  u64 entry = tree_at;
  for (u32 level = tree.height; level != 0; level--) {
    entry = entry_at(page, key, level);
    page = half_word(m, entry);
  }
  give_back_page(m, page);
  if (tree.height != 0) set_half_word(m, entry, 0);
  else set_word(m, tree_at, 0);
}
/// Gives all pages and nodes back. Nothing but the words that say which pages are taken changes.
template <MemoryMachine M>
MYR_OUTLINE void drop_tree(M& m, PageTree tree) {
  u32 pages[kMostHeight + 1], at[kMostHeight + 1], depth = 0;
  if (tree.page == 0) return;
  pages[0] = tree.page;
  at[0] = 0;
  for (;;) {
    u32 below = 0;
    if (depth < tree.height) {
      while (at[depth] < kNodeEntries && below == 0) below = half_word(m, layer_at(pages[depth]) + at[depth]++ * 4);
    }
    if (below != 0) {
      pages[++depth] = below;
      at[depth] = 0;
      continue;
    }
    give_back_page(m, pages[depth]);
    if (depth-- == 0) return;
  }
}

}  // namespace myriarm::kernel
