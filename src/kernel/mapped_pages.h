// SPDX-License-Identifier: Apache-2.0
// Pages of the layer that are pages of the guest too: a file that is mapped so that stores change it. Both entries of the page table
// name one frame. What changes the layer says here what becomes of such pages; file_mappings.h maps them.
#pragma once

#include "kernel/layer_pages.h"

namespace myriarm::kernel {

/// A machine in which a page of the guest, in each of the lane's address spaces, may be a page of the layer.
template <class M>
concept SharesFiles = MemoryMachine<M> && requires(M& machine, const M& seen, u64 page, u32 permissions) {
  /// False: for this lane the others are not to be called.
  { seen.shares_files() } -> detail::Is<bool>;
  /// To be called, and to have returned true, before join_page(). False: the call is abandoned.
  { machine.begin_joining() } -> detail::Is<bool>;
  /// A mapped page of the space that runs becomes this page of the layer, which is own.
  machine.join_page(page, page, permissions);
  /// The page of the layer becomes another one. Those of the guest stay.
  machine.part_page(page);
};
template <MemoryMachine M>
MYR_FN bool shares_files(const M& m) {
  if constexpr (SharesFiles<M>) return m.shares_files();
  else return false;
}
/// A page of the layer as a page of the lane.
template <MemoryMachine M>
MYR_FN u64 lane_page(const M& m, u32 page) {
  return m.guest_pages() + kKernelPages + page;
}

/// To be called before the pages of a mapped file from a number on are given back: what has mapped them has them alone then.
template <MemoryMachine M>
MYR_OUTLINE void part_pages(M& m, PageTree tree, u64 first) {
  if constexpr (SharesFiles<M>) {
    if (!m.shares_files()) return;
    for (u64 key = next_key(m, tree, first); key != kNoPage; key = next_key(m, tree, key + 1)) {
      m.part_page(lane_page(m, find_page(m, tree, key)));
    }
  } else {
    (void)m, (void)tree, (void)first;
  }
}
/// Pages of mappings behind the end of a mapped file, which has become shorter, allow no access any more: file_mappings.h.
template <class M>
MYR_OUTLINE void hide_behind_end(M& m, u32 file, u64 size);
/// A mapped file gets another size, after secure(): mappings see more of it the next time that they are looked at.
template <MemoryMachine M>
MYR_FN void note_growth(M& m, u64 size, u64 new_size) {
  const auto pages = [](u64 bytes) { return (bytes + kPageSize - 1) >> kPageBits; };
  if (pages(new_size) > pages(size)) set_layer_word(m, kGrowths, layer_word(m, kGrowths) + 1);
}

}  // namespace myriarm::kernel
