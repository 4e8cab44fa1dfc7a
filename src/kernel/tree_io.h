// SPDX-License-Identifier: Apache-2.0
// Reading and writing what a process has opened in its tree: files, folders, and a few devices.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/layer_folders.h"
#include "kernel/process_files.h"
#include "kernel/random_stream.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

/// The bytes of a device, without an end: zeros, or those that getrandom() would give next. A source of take_in().
struct DeviceBytes {
  bool random;
  u64 start;  // of its stream
};
template <MemoryMachine M>
MYR_FN DeviceBytes device_bytes(const M& m, DeviceKind device) {
  const bool random = device == DeviceKind::random;
  return {random, random ? random_start(m.facts().seed, m.input().number) : 0};
}
MYR_FN u64 bytes_behind(const DeviceBytes&, u64) { return kMostBytes; }
MYR_FN u8 device_byte(const DeviceBytes& source, u64 position) {
  return source.random ? (u8)(random_word(source.start, position / 8) >> position % 8 * 8) : (u8)0;
}
template <MemoryMachine M>
MYR_OUTLINE void copy_source(M& m, const DeviceBytes& source, u64 position, u64 address, u64 size) {
  for (u64 i = 0; i < size; i++) store<u8>(m, address + i, device_byte(source, position + i));
}
template <MemoryMachine M>
MYR_OUTLINE Result read_device(M& m, const Buffers& buffers, DeviceKind device) {
  const DeviceBytes bytes = device_bytes(m, device);
  if (bytes.random && !own_word(m, kRandomPosition)) return again();
  const u64 position = word(m, kRandomPosition);
  const Result result = take_in(m, buffers, bytes, position, 0);
  if (bytes.random && result.served == Served::answered && result.value > 0) {
    set_word(m, kRandomPosition, position + (u64)result.value);
  }
  return result;
}

/// Reads from a position. `position_at`: the word that follows it, or 0.
template <MemoryMachine M>
MYR_OUTLINE Result read_tree(M& m, const Opened& opened, const Buffers& buffers, u64 position, u32 position_at) {
  if (!opened.readable()) return error(kEBADF);
  const FileStatus file = file_status(m, opened.file);
  if (type_of(file) == kFolder) return error(kEISDIR);
  if constexpr (HasTree<M>) {
    if (const MadeFile made = made_file(file); made != MadeFile::none) {
      return take_in(m, buffers, made_text(m, made), position, position_at);
    }
  }
  Content content;
  switch (device_kind(file)) {
    case DeviceKind::null: return answer(0);
    case DeviceKind::zero:
    case DeviceKind::full:
    case DeviceKind::random: return read_device(m, buffers, device_kind(file));
    default:
      if (!content_of(m, opened.file, content)) return error(kEIO);
      return take_in(m, buffers, content, position, position_at);
  }
}

/// Writes at a position. `position_at`: the word that follows it, or 0.
template <MemoryMachine M>
MYR_OUTLINE Result write_tree(M& m, const Opened& opened, const Buffers& buffers, u64 position, u32 position_at) {
  if (!opened.writable()) return error(kEBADF);
  const DeviceKind device = device_kind(file_status(m, opened.file));
  if (device == DeviceKind::none) {
    return write_file(m, opened.file, buffers, position, (opened.flags & kOpenAppend) != 0, position_at);
  }
  u64 size = 0;
  for (u32 i = 0; i < buffers.count; i++) size += lesser(buffer_at(m, buffers, i).size, kMostBytes - size);
  return device == DeviceKind::full && size != 0 ? error(kENOSPC) : answer((i64)size);
}

/// As many names of a folder, from the position on, as there is room for, as struct linux_dirent64.
template <MemoryMachine M>
MYR_OUTLINE Result getdents64(M& m) {
  constexpr u32 kFixed = 19, kUnit = 8;  // bytes in front of the name; records are aligned
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const Opened opened = opened_at(m, stream);
  if (!opened.in_tree) return error(kENOTDIR);
  if (!opened.readable()) return error(kEBADF);
  const FileStatus folder = file_status(m, opened.file);
  if (type_of(folder) != kFolder) return error(kENOTDIR);
  if (folder.links == 0) return error(kENOENT);
  const u64 address = m.argument(1), room = (u32)m.argument(2), position = word(m, position_word((u32)stream));
  Listing listing;
  Listed listed;
  if (!begin_listing(m, opened.file, position, listing)) return error(kEIO);
  u64 size = 0;
  bool any = false;
  while (next_listed(m, listing, listed)) {
    const u64 length = (kFixed + listed.name_size + kUnit) / kUnit * kUnit;
    any = true;
    if (length > room - size) break;
    size += length;
  }
  if (size == 0) return any ? error(kEINVAL) : answer(0);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  if (!own_word(m, position_word((u32)stream))) return again();
  begin_listing(m, opened.file, position, listing);
  for (u64 done = 0; done < size;) {
    next_listed(m, listing, listed);
    const u64 length = (kFixed + listed.name_size + kUnit) / kUnit * kUnit, at = address + done;
    store_words(m, at, listed.number, listed.next);
    store<u16>(m, at + 16, (u16)length);
    store<u8>(m, at + 18, (u8)listed.type);
    if (listed.tree_name != nullptr) copy_in(m, at + kFixed, listed.tree_name, listed.name_size);
    else copy_from_layer(m, at + kFixed, listed.name_at, listed.name_size);
    for (u64 i = kFixed + listed.name_size; i < length; i++) store<u8>(m, at + i, 0);
    done += length;
  }
  set_word(m, position_word((u32)stream), listed.next);
  return answer((i64)size);
}

/// There is no disk: what was written is where it stays.
template <MemoryMachine M>
MYR_OUTLINE Result fsync(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  return opened.in_tree || opened.kind == Kind::input ? answer(0) : error(kEINVAL);
}
template <MemoryMachine M>
MYR_OUTLINE Result sync_file_range(M& m) {
  constexpr u32 kFlags = 7;
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  const i64 offset = (i64)m.argument(1), size = (i64)m.argument(2);
  if (((u32)m.argument(3) & ~kFlags) || offset < 0 || size < 0 || (i64)((u64)offset + (u64)size) < 0)
    return error(kEINVAL);
  const u32 type = opened.in_tree ? type_of(file_status(m, opened.file)) : 0;
  return type == kRegular || type == kFolder || opened.kind == Kind::input ? answer(0) : error(kESPIPE);
}
template <MemoryMachine M>
MYR_OUTLINE Result readahead(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const Opened opened = opened_at(m, stream);
  if (opened.kind == Kind::standard) return error(stream == (i32)kStandardInput ? kEINVAL : kEBADF);
  if (opened.kind != Kind::input && !opened.readable()) return error(kEBADF);
  const bool is_file =
      opened.kind == Kind::input || (opened.in_tree && type_of(file_status(m, opened.file)) == kRegular);
  return is_file && (i64)m.argument(2) >= 0 ? answer(0) : error(kEINVAL);
}
template <MemoryMachine M>
MYR_OUTLINE Result fadvise64(M& m) {
  constexpr u32 kAdvices = 6;
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0 || opened_at(m, stream).path_only()) return error(kEBADF);
  if (stream < (i32)kFirstOpening || opened_at(m, stream).is_object()) return error(kESPIPE);
  return (u32)m.argument(3) < kAdvices && (i64)m.argument(2) >= 0 ? answer(0) : error(kEINVAL);
}

}  // namespace myriarm::kernel
