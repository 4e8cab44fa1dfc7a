// SPDX-License-Identifier: Apache-2.0
// copy_file_range: bytes from one file of the tree to another, page by page.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

/// Copies bytes of a file to pages of another that are there and own. Both may be the same file, if the bytes do not overlap.
template <Machine M>
MYR_OUTLINE void copy_file_bytes(M& m, const Content& from, u64 position, u64 inode, u64 to, u64 size) {
  const PageTree tree = tree_of(word(m, inode + kInodePages));
  for (u64 done = 0; done < size;) {
    const u64 at = to + done, source = position + done;
    const u64 part = lesser(size - done, kPageSize - greater(offset_in_page(at), offset_in_page(source)));
    const u64 place = layer_at(find_page(m, tree, at >> kPageBits)) + offset_in_page(at);
    const u32 page = find_page(m, from.tree, source >> kPageBits),
              own = m.entry(m.guest_pages() + (place >> kPageBits));
    if (page == 0) {
      const u64 below = lesser(part, from.below.size - lesser(source, from.below.size));
      if (below != 0) fill_layer(m, place, from.below.data + source, below);
      if (below != part) fill_layer(m, place + below, nullptr, part - below);
    } else {
      const u64 bytes = layer_at(page) + offset_in_page(source);
      for (u64 i = 0; i < part; i++) {
        write_once<u8>(m.locate(own, offset_in_page(place + i)), layer_byte(m, bytes + i));
      }
    }
    done += part;
  }
}

/// An opening from or to which a call copies: where the position is, and its word or the guest's.
struct CopyEnd {
  Opened opened;
  u32 position_at;
  u64 address, position;
};
/// 0 or an error, negative.
template <Machine M>
MYR_FN i64 find_copy_end(const M& m, u32 argument, CopyEnd& end) {
  const i32 stream = stream_of(m, m.argument(argument));
  if (stream < 0) return -(i64)kEBADF;
  end.opened = opened_at(m, stream);
  end.position_at = position_word((u32)stream);
  end.address = m.argument(argument + 1);
  if (end.address != 0 && accessible(m, end.address, 8, kPageWritable) != 8) return -(i64)kEFAULT;
  end.position = end.address != 0              ? load<u64>(m, end.address)
                 : stream < (i32)kFirstOpening ? 0
                                               : word(m, end.position_at);
  return 0;
}
template <Machine M>
MYR_FN bool own_copy_end(M& m, const CopyEnd& end) {
  return end.address != 0 ? prepare(m, end.address, 8) == Storing::allowed : own_word(m, end.position_at);
}
template <Machine M>
MYR_FN void move_copy_end(M& m, const CopyEnd& end, u64 size) {
  if (end.address != 0) store<u64>(m, end.address, end.position + size);
  else set_word(m, end.position_at, end.position + size);
}

template <Machine M>
MYR_OUTLINE Result copy_file_range(M& m) {
  CopyEnd from, to;
  i64 found = find_copy_end(m, 0, from);
  if (found == 0) found = find_copy_end(m, 2, to);
  if (found < 0) return answer(found);
  if ((u32)m.argument(5) != 0) return error(kEINVAL);
  if (!from.opened.in_tree || !to.opened.in_tree) return error(kEINVAL);
  const FileStatus source = file_status(m, from.opened.file), target = file_status(m, to.opened.file);
  if (type_of(source) == kFolder || type_of(target) == kFolder) return error(kEISDIR);
  if (type_of(source) != kRegular || type_of(target) != kRegular) return error(kEINVAL);
  if (!from.opened.readable() || !to.opened.writable() || (to.opened.flags & kOpenAppend)) return error(kEBADF);
  if ((i64)from.position < 0 || (i64)to.position < 0) return error(kEINVAL);
  u64 size = lesser(m.argument(4), source.size - lesser(from.position, source.size));
  size = lesser(size, kMostBytes);
  if (size > kMostFileBytes - to.position) return error(kEFBIG);
  const bool overlaps = from.position < to.position + size && to.position < from.position + size;
  if (from.opened.file == to.opened.file && overlaps) return error(kEINVAL);
  if (size == 0) return answer(0);
  Content content;
  Plan plan;
  if (!content_of(m, from.opened.file, content)) return error(kEIO);
  if (Content other; !content_of(m, to.opened.file, other)) return error(kEIO);
  if (!plan_raise_file(m, plan, to.opened.file)) return again();
  const i64 fits = plan_bytes(m, plan, to.opened.file, to.position, size);
  if (fits < 0 || !own_copy_end(m, from) || !own_copy_end(m, to)) return again();
  if (fits == 0) return error(kENOSPC);
  size = (u64)fits;
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return secured == Storing::again ? again() : error(kENOSPC);
  const u64 inode = raise_file(m, to.opened.file);
  make_pages(m, inode, to.position, size);
  content_of(m, from.opened.file, content);  // it may be the same file
  copy_file_bytes(m, content, from.position, inode, to.position, size);
  if (to.position + size > word(m, inode + kInodeSize)) set_word(m, inode + kInodeSize, to.position + size);
  note_modification(m, inode);
  move_copy_end(m, from, size);
  move_copy_end(m, to, size);
  return answer((i64)size);
}

}  // namespace myriarm::kernel
