// SPDX-License-Identifier: Apache-2.0
// Reading and writing what a process has opened in its tree: files, folders, and a few devices.
#pragma once

#include "kernel/buffers.h"
#include "kernel/random_stream.h"
#include "kernel/structures.h"
#include "kernel/tree.h"

namespace myriarm::kernel {

/// Fills the buffers with zeros, or with the random bytes that getrandom() would give next.
template <Machine M>
MYR_OUTLINE Result read_device(M& m, const Buffers& buffers, DeviceKind device) {
  const bool random = device == DeviceKind::random;
  u64 ready = 0;  // bytes that have a place
  bool refused = false;
  for (u32 i = 0; i < buffers.count && !refused && ready < kMostBytes; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 wanted = lesser(buffer.size, kMostBytes - ready);
    const u64 size = accessible(m, buffer.address, wanted, kPageWritable);
    refused = size < wanted;
    if (prepare(m, buffer.address, size) == Storing::again) return again();
    ready += size;
    if (size != 0 && overlaps_records(buffers, buffer.address, size)) break;  // as in take_in()
  }
  if (ready == 0) return refused ? error(kEFAULT) : answer(0);
  if (random && !own_word(m, kRandomPosition)) return again();
  const u64 start = random ? random_start(m.facts().seed, m.input().number) : 0;
  const u64 position = word(m, kRandomPosition);
  u64 moved = 0;
  for (u32 i = 0; moved < ready; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 size = lesser(buffer.size, ready - moved);
    for (u64 at = 0; at < size; at++, moved++) {
      const u64 from = position + moved;
      store<u8>(m, buffer.address + at, random ? (u8)(random_word(start, from / 8) >> from % 8 * 8) : (u8)0);
    }
  }
  if (random) set_word(m, kRandomPosition, position + moved);
  return answer((i64)moved);
}

/// Reads from a position. `position_at`: the word that follows it, or 0.
template <Machine M>
MYR_OUTLINE Result read_tree(M& m, const Opened& opened, const Buffers& buffers, u64 position, u32 position_at) {
  if (!opened.readable()) return error(kEBADF);
  const FileStatus file = tree_status(m, opened.file);
  if (type_of(file) == kFolder) return error(kEISDIR);
  Bytes bytes = {nullptr, 0};
  switch (device_kind(file)) {
    case DeviceKind::null: return answer(0);
    case DeviceKind::zero:
    case DeviceKind::full:
    case DeviceKind::random: return read_device(m, buffers, device_kind(file));
    default:
      return tree_content(m, opened.file, bytes) ? take_in(m, buffers, bytes, position, position_at) : error(kEIO);
  }
}

/// Writes to a device: nothing else can be open for writing.
template <Machine M>
MYR_OUTLINE Result write_tree(M& m, const Opened& opened, const Buffers& buffers) {
  if (!opened.writable()) return error(kEBADF);
  const DeviceKind device = device_kind(tree_status(m, opened.file));
  u64 size = 0;
  for (u32 i = 0; i < buffers.count; i++) size += lesser(buffer_at(m, buffers, i).size, kMostBytes - size);
  return device == DeviceKind::full && size != 0 ? error(kENOSPC) : answer((i64)size);
}

/// Where the record behind that at `at` begins.
MYR_FN u64 next_record(const Bytes& records, u64 at) {
  constexpr u32 kLengthAt = 16;  // in a record: two bytes
  return at + records.data[at + kLengthAt] + ((u64)records.data[at + kLengthAt + 1] << 8);
}
/// As many records of a folder, from the position on, as there is room for.
template <Machine M>
MYR_OUTLINE Result getdents64(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const Opened opened = opened_in_tree(m, stream);
  if (!opened.in_tree) return error(kENOTDIR);
  if (!opened.readable()) return error(kEBADF);
  if (type_of(tree_status(m, opened.file)) != kFolder) return error(kENOTDIR);
  Bytes records = {nullptr, 0};
  if (!tree_content(m, opened.file, records)) return error(kEIO);
  const u64 address = m.argument(1), room = (u32)m.argument(2), position = word(m, position_word((u32)stream));
  // The guest may have set the position to a place within a record: then the next one is first.
  u64 first = 0, end = 0;
  while (first < records.size && first < position) first = next_record(records, first);
  for (end = first; end < records.size && next_record(records, end) - first <= room;) end = next_record(records, end);
  if (first >= records.size) return answer(0);
  if (end == first) return error(kEINVAL);
  const Storing storing = prepare(m, address, end - first);
  if (storing != Storing::allowed) return not_stored(storing);
  if (!own_word(m, position_word((u32)stream))) return again();
  copy_in(m, address, records.data + first, end - first);
  set_word(m, position_word((u32)stream), end);
  return answer((i64)(end - first));
}

/// Of what is open nothing is ever written, so that all of it is on the disk.
template <Machine M>
MYR_OUTLINE Result fsync(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_in_tree(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  return opened.in_tree ? answer(0) : error(kEINVAL);  // of a pipe
}
template <Machine M>
MYR_OUTLINE Result fadvise64(M& m) {
  constexpr u32 kAdvices = 6;
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0 || opened_in_tree(m, stream).path_only()) return error(kEBADF);
  if (stream < (i32)kFirstOpening) return error(kESPIPE);
  return (u32)m.argument(3) < kAdvices ? answer(0) : error(kEINVAL);
}

}  // namespace myriarm::kernel
