// SPDX-License-Identifier: Apache-2.0
// The links of /proc/self/fd: where they lead, and the texts that they show. Paths of files are put together from the
// end on.
#pragma once

#include "kernel/descriptor_calls.h"
#include "kernel/layer_folders.h"
#include "kernel/process_files.h"

namespace myriarm::kernel {

constexpr u64 kMostPathBytes = 4096;  // with the NUL

/// The bytes of the path of a folder, or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 folder_path_size(const M& m, u32 folder) {
  Listed listed;
  u64 size = folder == 0 ? 1 : 0;
  for (u32 at = folder; at != 0; at = parent_of(m, at), size += listed.name_size + 1) {
    if (!find_own_name(m, at, listed)) return -(i64)kENOENT;
    if (size > kMostPathBytes) return -(i64)kENAMETOOLONG;
  }
  return (i64)size;
}
/// Stores the last bytes of a path, which ends at `end` of a text at an address, with a slash before the name: as much
/// as lies within `room` bytes of the text. Returns where they begin.
template <MemoryMachine M>
MYR_OUTLINE u64 store_name(M& m, const Listed& listed, u64 address, u64 end, u64 room) {
  const u64 begin = end - listed.name_size;
  const u64 size = lesser(listed.name_size, room - lesser(room, begin));
  if (size != 0 && listed.tree_name != nullptr) copy_in(m, address + begin, listed.tree_name, size);
  else if (size != 0) copy_from_layer(m, address + begin, listed.name_at, size);
  if (begin - 1 < room) store<u8>(m, address + begin - 1, '/');
  return begin - 1;
}
/// Stores the path of a folder, which has `size` bytes.
template <MemoryMachine M>
MYR_OUTLINE void store_folder_path(M& m, u32 folder, u64 address, u64 size, u64 room) {
  Listed listed;
  if (folder == 0 && room != 0) store<u8>(m, address, '/');
  for (u32 at = folder; at != 0; at = parent_of(m, at)) {
    find_own_name(m, at, listed);
    size = store_name(m, listed, address, size, room);
  }
}

/// Where the link of a descriptor leads.
template <MemoryMachine M>
MYR_OUTLINE Jump descriptor_jump(const M& m, u32 link) {
  if constexpr (Machine<M>) {
    const i32 stream = stream_of(m, link & kDescriptorBits);
    const Opened opened = opened_at(m, stream);
    if (stream >= 0 && opened.in_tree) return {true, opened.file, folder_of_opening(m, (u32)stream - kFirstOpening)};
  }
  return {true, kDescriptorFile | (link & kDescriptorBits), kNoFolder};
}

/// The text of a link to what is no file.
template <Machine M, class Sink>
MYR_OUTLINE void put_descriptor(const M& m, i32 stream, Sink& sink) {
  using detail_of_texts::put_number, detail_of_texts::put_text;
  const Opened opened = opened_at(m, stream);
  if (u32 file; file_of(m, opened, file)) {
    put_text(sink, "/ (deleted)");  // it has no name any more, or never had one
    return;
  }
  switch (opened.kind) {
    case Kind::input: put_text(sink, "/input"); return;
    case Kind::counter: put_text(sink, "anon_inode:[eventfd]"); return;
    case Kind::timer: put_text(sink, "anon_inode:[timerfd]"); return;
    case Kind::signals: put_text(sink, "anon_inode:[signalfd]"); return;
    case Kind::epoll: put_text(sink, "anon_inode:[eventpoll]"); return;
    default:
      put_text(sink, opened.kind == Kind::socket ? "socket:[" : "pipe:[");
      put_number(sink, status_of(m, stream).number, 10);
      sink.byte(']');
  }
}
/// The path of a file that is open: the folder that it, or its name, is in, and the name.
struct OpenPath {
  u32 folder;
  bool has_name;
  Listed name;
  u64 size;  // 0: it has none
};
template <Machine M>
MYR_OUTLINE void find_open_path(const M& m, i32 stream, Listing& listing, OpenPath& path) {
  const Opened opened = opened_at(m, stream);
  path = {opened.file, false, {}, 0};
  u32 opened_file;
  if (!file_of(m, opened, opened_file) || is_of_descriptor(opened_file)) return;
  const FileStatus file = file_status(m, opened_file);
  if (type_of(file) != kFolder) {
    path.folder = folder_of_opening(m, (u32)stream - kFirstOpening);
    path.has_name = true;
    if (path.folder == kNoFolder || !is_there(m, path.folder)) return;
    if (!find_name(m, path.folder, file.number, listing, path.name)) return;
  } else if (file.links == 0) {
    return;
  }
  const i64 size = folder_path_size(m, path.folder);
  if (size < 0) return;
  path.size = (u64)size;
  if (path.has_name) path.size += path.name.name_size + (path.folder != 0);
}
/// Stores the text of the link of a descriptor, as readlinkat() does.
template <Machine M>
MYR_OUTLINE Result store_descriptor_link(M& m, u32 link, u64 address, u64 room) {
  const i32 stream = stream_of(m, link & kDescriptorBits);
  if (stream < 0) return error(kENOENT);
  Listing listing;
  OpenPath path;
  find_open_path(m, stream, listing, path);
  detail_of_texts::Count count;
  if (path.size == 0) put_descriptor(m, stream, count);
  const u64 whole = path.size != 0 ? path.size : count.size, size = lesser(whole, room);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  if (path.size == 0) {
    detail_of_texts::Window<M> window{m, 0, size, address};
    put_descriptor(m, stream, window);
    return answer((i64)size);
  }
  u64 end = whole;
  if (path.has_name) end = store_name(m, path.name, address, end, size);
  if (end != 0) store_folder_path(m, path.folder, address, end, size);
  return answer((i64)size);
}

}  // namespace myriarm::kernel
