// SPDX-License-Identifier: Apache-2.0
// The read-only file system that is the root of a process, if the host has given it one: what a call may ask of it. For
// machines that cannot have a tree all of this is nothing.
#pragma once

#include "kernel/guest_memory.h"

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

/// Files that are in no tree: the link of a descriptor in /proc/self/fd, and what is behind a descriptor that is no
/// file of the tree; with the number of the descriptor. An opening may be of such a link, with O_PATH, and never of the
/// other.
constexpr u32 kDescriptorLink = 0x40000000, kDescriptorFile = 0x60000000, kDescriptorBits = 0xFFFF;
MYR_FN bool is_descriptor_link(u32 file) { return (file & ~kDescriptorBits) == kDescriptorLink; }
MYR_FN bool is_descriptor_file(u32 file) { return (file & ~kDescriptorBits) == kDescriptorFile; }
MYR_FN bool is_of_descriptor(u32 file) { return is_descriptor_link(file) || is_descriptor_file(file); }

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
  if constexpr (HasTree<M>) {
    if (!is_of_descriptor(file)) status = m.tree_status(file);
  }
  status.access_seconds = status.change_seconds = status.seconds;
  status.access_nanoseconds = status.change_nanoseconds = status.nanoseconds;
  status.blocks = (status.size + kBlockBytes - 1) / kBlockBytes;
  return status;
}
template <MemoryMachine M>
MYR_FN bool tree_content(const M& m, u32 file, Bytes& bytes) {
  if constexpr (HasTree<M>) return !is_of_descriptor(file) && m.tree_content(file, bytes);
  else return false;
}
/// Whether the call has asked for what a regular file contains, and that is not where the lane runs: what the call has found
/// is worth nothing, and it is abandoned until somebody has brought it. So a call asks for all of it before it changes anything.
template <MemoryMachine M>
MYR_FN bool awaits_content(const M& m) {
  if constexpr (requires { m.awaits_content(); }) return m.awaits_content();
  else return false;
}
template <MemoryMachine M>
MYR_FN bool is_program_link(const M& m, u32 file) {
  if constexpr (HasTree<M>) return !is_of_descriptor(file) && m.is_program_link(file);
  else return false;
}

/// A machine whose lanes can have pages of a file in common: `bytes`, which stay as they are, become the content of the
/// pages from an address on, with zeros behind them. False: it does not share these pages, and nothing has changed; or it must first
/// have it done, and then it refuses own_pages() too, so that the call is made again.
template <class M>
concept SharesPages = Machine<M> && requires(M& machine, u64 address, u32 permissions, Bytes bytes) {
  { machine.share_pages(address, permissions, bytes) } -> detail::Is<bool>;
};

// Types of files, and the devices that can be opened.
constexpr u32 kTypeMask = 0170000, kFolder = 0040000, kRegular = 0100000, kLink = 0120000, kCharacterDevice = 0020000,
              kFifo = 0010000;
MYR_FN u32 type_of(const FileStatus& file) { return file.mode & kTypeMask; }
/// Whether the file can only be written on a file system that can.
MYR_FN bool is_stored(const FileStatus& file) {
  return type_of(file) == kFolder || type_of(file) == kRegular || type_of(file) == kLink;
}
constexpr u32 kMayExecute = 1, kMayWrite = 2, kMayRead = 4, kMayAll = 7;

/// Which of the files that process_files.h makes a regular file of the tree is.
MYR_FN MadeFile made_file(const FileStatus& file) {
  const bool is_one = type_of(file) == kRegular && file.device <= (u64)MadeFile::auxiliary;
  return is_one ? (MadeFile)file.device : MadeFile::none;
}
/// Which of the folders that have further names a folder of the tree is; or the link `self`.
MYR_FN MadeFile made_names(const FileStatus& file) {
  const bool is_one = (type_of(file) == kFolder || type_of(file) == kLink) && file.device <= (u64)MadeFile::self;
  return is_one ? (MadeFile)file.device : MadeFile::none;
}
/// st_rdev.
MYR_FN u64 shown_device(const FileStatus& file) { return type_of(file) == kCharacterDevice ? file.device : 0; }

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

}  // namespace myriarm::kernel
