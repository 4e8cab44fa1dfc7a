// SPDX-License-Identifier: Apache-2.0
// The read-only file system that is the root of a process, if the host has given it one: what a call may ask of it, and
// what the process has opened in it. Only machines whose calls the host's processor serves can have a tree; for others all
// of this is nothing.
#pragma once

#include "kernel/descriptors.h"

namespace myriarm::kernel {

/// What a call tells of a file: see stat(2).
struct FileStatus {
  u64 number;
  u32 mode, links;
  u64 size;
  u32 user = kUserId, group = kUserId;
  u64 device = 0;   // st_rdev
  i64 seconds = 0;  // when it was modified; a file of the tree has one time
  u32 nanoseconds = 0;
  u64 blocks = 0;  // of 512 bytes
  i64 access_seconds = 0, change_seconds = 0;
  u32 access_nanoseconds = 0, change_nanoseconds = 0;
};

/// The functions of FileTree, as a machine offers them. A file of the tree is a number; the root is 0.
template <class M>
concept HasTree = MemoryMachine<M> && requires(const M& machine, u32 file, const u8* name, Bytes& bytes) {
  { machine.has_tree() } -> detail::Is<bool>;
  /// The file of a name in a folder, or an error, negative; and the folder in which a folder is.
  { machine.tree_look_up(file, name, file) } -> detail::Is<i64>;
  { machine.tree_parent(file) } -> detail::Is<u32>;
  { machine.tree_status(file) } -> detail::Is<FileStatus>;
  { machine.tree_content(file, bytes) } -> detail::Is<bool>;
  { machine.is_program_link(file) } -> detail::Is<bool>;
};
template <MemoryMachine M>
MYR_FN bool has_tree(const M& m) {
  if constexpr (HasTree<M>) return m.has_tree();
  else return false;
}
// To be called if has_tree() alone.
template <MemoryMachine M>
MYR_FN i64 tree_look_up(const M& m, u32 folder, const u8* name, u32 size) {
  if constexpr (HasTree<M>) return m.tree_look_up(folder, name, size);
  else return -kENOENT;
}
template <MemoryMachine M>
MYR_FN u32 tree_parent(const M& m, u32 folder) {
  if constexpr (HasTree<M>) return m.tree_parent(folder);
  else return 0;
}
template <MemoryMachine M>
MYR_FN FileStatus tree_status(const M& m, u32 file) {
  constexpr u64 kBlockBytes = 512;
  FileStatus status = {0, 0, 0, 0};
  if constexpr (HasTree<M>) status = m.tree_status(file);
  status.access_seconds = status.change_seconds = status.seconds;
  status.access_nanoseconds = status.change_nanoseconds = status.nanoseconds;
  status.blocks = (status.size + kBlockBytes - 1) / kBlockBytes;
  return status;
}
template <MemoryMachine M>
MYR_FN bool tree_content(const M& m, u32 file, Bytes& bytes) {
  if constexpr (HasTree<M>) return m.tree_content(file, bytes);
  else return false;
}
template <MemoryMachine M>
MYR_FN bool is_program_link(const M& m, u32 file) {
  if constexpr (HasTree<M>) return m.is_program_link(file);
  else return false;
}

/// A machine whose lanes can have pages of a file in common: `bytes`, which stay as they are, become the content of the
/// pages from an address on, with zeros behind them. False: it does not share these pages, and nothing has changed.
template <class M>
concept SharesPages = Machine<M> && requires(M& machine, u64 address, u32 permissions, Bytes bytes) {
  { machine.share_pages(address, permissions, bytes) } -> detail::Is<bool>;
};

// Types of files, and the devices that can be opened.
constexpr u32 kTypeMask = 0170000, kFolder = 0040000, kRegular = 0100000, kLink = 0120000, kCharacterDevice = 0020000;
MYR_FN u32 type_of(const FileStatus& file) { return file.mode & kTypeMask; }
/// Whether the file can only be written on a file system that can.
MYR_FN bool is_stored(const FileStatus& file) {
  return type_of(file) == kFolder || type_of(file) == kRegular || type_of(file) == kLink;
}
constexpr u32 kMayExecute = 1, kMayWrite = 2, kMayRead = 4, kMayAll = 7;

enum class DeviceKind : u8 { none, null, zero, full, random };
MYR_FN DeviceKind device_kind(const FileStatus& file) {
  // As dev_t has them: the major number of memory devices is 1.
  constexpr u64 kNull = 0x103, kZero = 0x105, kFull = 0x107, kRandom = 0x108, kUrandom = 0x109;
  if (type_of(file) != kCharacterDevice) return DeviceKind::none;
  switch (file.device) {
    case kNull: return DeviceKind::null;
    case kZero: return DeviceKind::zero;
    case kFull: return DeviceKind::full;
    case kRandom:
    case kUrandom: return DeviceKind::random;
    default: return DeviceKind::none;
  }
}

// clang-format off
enum OpenFlag : u32 { kOpenAccess = 3, kOpenReadOnly = 0, kOpenWriteOnly = 1, kOpenCreate = 0100, kOpenExclusive = 0200,
                      kOpenTruncate = 01000, kOpenAppend = 02000, kOpenNonBlocking = 04000, kOpenFolder = 040000, kOpenNoFollow = 0100000, kOpenLarge = 0400000,
                      kOpenPathOnly = 010000000, kOpenTemporary = 020000000 };
// clang-format on

/// An opening of a file of the tree.
struct Opened {
  bool in_tree;  // false: the stream is no such opening
  u32 file, flags;
  MYR_FN bool path_only() const { return (flags & kOpenPathOnly) != 0; }
  MYR_FN bool readable() const { return !path_only() && (flags & kOpenAccess) != kOpenWriteOnly; }
  MYR_FN bool writable() const { return !path_only() && (flags & kOpenAccess) != kOpenReadOnly; }
};
MYR_FN u32 opened_word(u32 stream) { return kOpened + (stream - kFirstOpening) * 8; }
MYR_FN u64 opened_value(u32 file, u32 flags) { return ((u64)file + 1) | (u64)flags << 32; }
template <MemoryMachine M>
MYR_FN Opened opened_in_tree(const M& m, i32 stream) {
  if (!has_tree(m) || stream < (i32)kFirstOpening) return {false, 0, 0};
  const u64 value = word(m, opened_word((u32)stream));
  return {value != kInputOpened, (u32)value - 1, (u32)(value >> 32)};
}

/// The descriptor and the place of an opening that is about to be made; or an error, negative.
struct NewOpening {
  i64 error;
  u32 fd, index;
};
template <MemoryMachine M>
MYR_OUTLINE NewOpening find_opening(const M& m) {
  const u32 count = opening_count(m), fd = free_file(m, 0);
  u32 index = 0;
  while (index < count && word(m, kOpenings + index * 8) != kClosed) index++;
  return {fd == kMostFiles || index == kMostFiles ? -(i64)kEMFILE : 0, fd, index};
}
/// To be called, and to have returned true, before finish_opening(). `changes`: the word of what was opened there changes.
template <MemoryMachine M>
MYR_FN bool own_new_opening(M& m, const NewOpening& made, bool changes) {
  const u32 stream = kFirstOpening + made.index;
  return own_files(m) && own_word(m, position_word(stream)) && (!changes || own_word(m, opened_word(stream)));
}
template <MemoryMachine M>
MYR_FN Result finish_opening(M& m, const NewOpening& made, u64 opened) {
  const u32 stream = kFirstOpening + made.index;
  set_file(m, made.fd, (i32)stream);
  set_word(m, position_word(stream), 0);
  if (word(m, opened_word(stream)) != opened) set_word(m, opened_word(stream), opened);
  if (made.index == opening_count(m)) set_word(m, kOpeningCount, made.index + 1);
  return answer(made.fd);
}
/// Opens the input file (kInputOpened) or a file of the tree (opened_value()).
template <MemoryMachine M>
MYR_OUTLINE Result open_stream(M& m, u64 opened) {
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  // A process that opens nothing but its input never has the page of this word of its own.
  if (!own_new_opening(m, made, word(m, opened_word(kFirstOpening + made.index)) != opened)) return again();
  return finish_opening(m, made, opened);
}

}  // namespace myriarm::kernel
