// SPDX-License-Identifier: Apache-2.0
// copy_file_range: bytes from one file of the tree to another, or to another part of it.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

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
  const u64 wanted = m.argument(4);
  if (from.position + wanted < wanted || to.position + wanted < wanted) return error(kEOVERFLOW);
  const bool has_place = (i64)to.position >= 0;
  if (has_place && to.position >= kMostFileBytes) return error(kEFBIG);
  u64 size = (i64)from.position < 0 ? 0 : lesser(wanted, source.size - lesser(from.position, source.size));
  if (has_place) size = lesser(size, kMostFileBytes - to.position);
  const bool overlaps = from.position < to.position + size && to.position < from.position + size;
  if (from.opened.file == to.opened.file && overlaps) return error(kEINVAL);
  if ((i64)from.position < 0 || !has_place) return error(kEINVAL);
  if (size == 0) return answer(0);
  size = lesser(size, kMostBytes);
  if (Content content; !content_of(m, from.opened.file, content)) return error(kEIO);
  if (!own_copy_end(m, from) || !own_copy_end(m, to)) return again();
  FileSource bytes = {from.opened.file, from.position};
  const Result result = write_from(m, to.opened.file, to.position, size, bytes);
  if (result.served != Served::answered || result.value <= 0) return result;
  move_copy_end(m, from, (u64)result.value);
  move_copy_end(m, to, (u64)result.value);
  return result;
}

}  // namespace myriarm::kernel
