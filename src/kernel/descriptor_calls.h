// SPDX-License-Identifier: Apache-2.0
// Calls on descriptors that do not move data: close, dup, dup3, fcntl, lseek, ioctl, fstat.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

/// Whether a descriptor refers to the stream.
template <Machine M>
MYR_FN bool has_descriptor(const M& m, u32 stream) {
  for (u32 fd = 0; fd < kMostFiles; fd++) {
    if (file_at(m, fd) == stream + 1) return true;
  }
  return false;
}
/// To be called, and to have returned true, before forget_opening().
template <Machine M>
MYR_FN bool own_opening(M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return true;
  const Opened opened = opened_in_tree(m, stream);
  return own_word(m, position_word((u32)stream)) && (!opened.in_tree || plan_leave(m, opened.file));
}
/// Makes the place of an opening free if no descriptor refers to it any more.
template <Machine M>
MYR_FN void forget_opening(M& m, i32 stream) {
  if (stream < (i32)kFirstOpening || has_descriptor(m, (u32)stream)) return;
  const Opened opened = opened_in_tree(m, stream);
  set_word(m, position_word((u32)stream), kClosed);
  if (opened.in_tree) drop_file(m, opened.file);
}

template <Machine M>
MYR_OUTLINE Result close(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  if (!own_files(m) || !own_opening(m, stream)) return again();
  set_file(m, (u32)m.argument(0), -1);
  forget_opening(m, stream);
  return answer(0);
}

/// Makes the lowest free descriptor from `lowest` on refer to a stream.
template <Machine M>
MYR_FN Result duplicate(M& m, i32 stream, u32 lowest) {
  const u32 fd = free_file(m, lowest);
  if (fd == kMostFiles) return error(kEMFILE);
  if (!own_files(m)) return again();
  set_file(m, fd, stream);
  return answer(fd);
}

template <Machine M>
MYR_OUTLINE Result dup(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return stream < 0 ? error(kEBADF) : duplicate(m, stream, 0);
}

template <Machine M>
MYR_OUTLINE Result dup3(M& m) {
  constexpr u32 kCloseOnExec = 02000000;
  const i32 stream = stream_of(m, m.argument(0));
  const u32 from = (u32)m.argument(0), to = (u32)m.argument(1);
  if (((u32)m.argument(2) & ~kCloseOnExec) || from == to) return error(kEINVAL);
  if (stream < 0 || to >= kMostFiles) return error(kEBADF);
  const i32 replaced = stream_of(m, to);
  if (!own_files(m) || !own_opening(m, replaced)) return again();
  set_file(m, to, stream);
  forget_opening(m, replaced);
  return answer(to);
}

/// F_SETFL: O_APPEND; O_NONBLOCK has no effect, since no call blocks.
template <Machine M>
MYR_FN Result set_flags(M& m, i32 stream) {
  const Opened opened = opened_in_tree(m, stream);
  constexpr u32 kChange = kOpenAppend | kOpenNonBlocking;
  if (!opened.in_tree) return answer(0);
  if (opened.path_only()) return error(kEBADF);
  const u64 at = opened_word((u32)stream);
  if (!own_word(m, at)) return again();
  set_word(m, at, opened_value(opened.file, (opened.flags & ~kChange) | ((u32)m.argument(2) & kChange)));
  return answer(0);
}
/// Locks of parts of a file: there is nobody else who could hold one.
template <Machine M>
MYR_OUTLINE Result lock_file(M& m, i32 stream, bool asks) {
  constexpr u32 kLockBytes = 32;  // struct flock: type and origin, 16 bits each; begin, length, process
  enum LockType : u32 { kReadLock = 0, kWriteLock = 1, kUnlock = 2 };
  const u64 address = m.argument(2);
  const Opened opened = opened_in_tree(m, stream);
  if (!opened.in_tree) return missing();
  if (!readable(m, address, kLockBytes)) return error(kEFAULT);
  const u32 type = load<u16>(m, address), origin = load<u16>(m, address + 2);
  if (type > kUnlock || origin > 2 || (asks && type == kUnlock)) return error(kEINVAL);
  if (!asks && ((type == kReadLock && !opened.readable()) || (type == kWriteLock && !opened.writable()))) {
    return error(kEBADF);
  }
  if (!asks) return answer(0);
  const Storing storing = prepare(m, address, kLockBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u16>(m, address, kUnlock);
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result fcntl(M& m) {
  // clang-format off
  enum Command : u32 { kDuplicate = 0, kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kGetFlags = 3, kSetFlags = 4,
                       kGetLock = 5, kSetLock = 6, kWaitForLock = 7, kGetOwnLock = 36, kSetOwnLock = 37,
                       kWaitForOwnLock = 38, kDuplicateCloseOnExec = 1030 };
  // clang-format on
  constexpr i64 kReadOnly = 0, kWriteOnly = 1, kLargeFile = 0400000;
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const u32 lowest = (u32)m.argument(2);
  switch ((u32)m.argument(1)) {
    case kDuplicate:
    case kDuplicateCloseOnExec: return lowest >= kMostFiles ? error(kEINVAL) : duplicate(m, stream, lowest);
    case kGetDescriptorFlags:  // there is no exec, so close-on-exec has no effect
    case kSetDescriptorFlags: return answer(0);
    case kSetFlags: return set_flags(m, stream);
    case kGetLock:
    case kSetLock:
    case kWaitForLock:
    case kGetOwnLock:
    case kSetOwnLock:
    case kWaitForOwnLock:
      return lock_file(m, stream, (u32)m.argument(1) == kGetLock || (u32)m.argument(1) == kGetOwnLock);
    case kGetFlags:
      if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) return answer(opened.flags);
      if (stream >= (i32)kFirstOpening) return answer(kReadOnly | kLargeFile);
      return answer(stream == (i32)kStandardInput ? kReadOnly : kWriteOnly);
    default: return missing();
  }
}

/// SEEK_DATA and SEEK_HOLE: pages that were never written are holes.
template <Machine M>
MYR_OUTLINE Result seek_data(M& m, u32 file, u32 position, u64 offset, bool hole) {
  const u64 inode = inode_of(m, file);
  u64 target = offset;
  if (inode == 0) {
    if (hole) target = file_status(m, file).size;
  } else {
    const PageTree tree = tree_of(word(m, inode + kInodePages));
    const u64 below = word(m, inode + kInodeBelowSize), size = word(m, inode + kInodeSize);
    u64 key = offset >> kPageBits;
    if (hole) {
      while (key << kPageBits < size && ((key << kPageBits) < below || find_page(m, tree, key) != 0)) key++;
    } else if (offset >= below) {
      key = next_key(m, tree, key);
      if (key == kNoPage || key << kPageBits >= size) return error(kENXIO);
    }
    target = lesser(greater(offset, key << kPageBits), size);
  }
  if (!own_word(m, position)) return again();
  set_word(m, position, target);
  return answer((i64)target);
}

template <Machine M>
MYR_OUTLINE Result lseek(M& m) {
  enum Origin : u32 { kSet, kCurrent, kEnd, kData, kHole };
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  if ((u32)m.argument(2) > kHole) return error(kEINVAL);
  if (stream < (i32)kFirstOpening) return error(kESPIPE);
  const u32 position = position_word((u32)stream);
  u64 size = m.input().file.size;
  const u64 offset = m.argument(1);
  if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) {
    if (opened.path_only()) return error(kEBADF);
    const FileStatus status = file_status(m, opened.file);
    if (type_of(status) == kCharacterDevice) return answer(0);  // it has no position
    size = status.size;
    if ((u32)m.argument(2) >= kData && type_of(status) == kRegular && offset < size) {
      return seek_data(m, opened.file, position, offset, (u32)m.argument(2) == kHole);
    }
  }
  u64 target = offset;  // positions are below 2^63, so that a sum wraps at most into the negative numbers
  switch ((u32)m.argument(2)) {
    case kSet: break;
    case kCurrent: target += word(m, position); break;
    case kEnd: target += size; break;
    case kData:
    case kHole:
      if (offset >= size) return error(kENXIO);
      if ((u32)m.argument(2) == kHole) target = size;
  }
  if ((i64)target < 0) return error(kEINVAL);
  if (!own_word(m, position)) return again();
  set_word(m, position, target);
  return answer((i64)target);
}

template <Machine M>
MYR_OUTLINE Result ioctl(M& m) {
  // No descriptor is a terminal. A few of the numbers of terminals are requests for all kinds of files.
  enum Request : u32 {
    kBytesReady = 0x541b,
    kNonBlocking = 0x5421,
    kNotOnExec = 0x5450,
    kCloseOnExec = 0x5451,
    kAsynchronous = 0x5452,
    kClone = 0x40049409,
    kCloneRange = 0x4020940d
  };
  constexpr u32 kTerminal = 0x54;  // bits 15:8 of the request
  const u32 request = (u32)m.argument(1);
  if (stream_of(m, m.argument(0)) < 0) return error(kEBADF);
  switch (request) {
    case kNotOnExec:
    case kCloseOnExec: return answer(0);  // there is no exec
    case kClone:
    case kCloneRange: return error(kEOPNOTSUPP);  // as file systems do that cannot share blocks
    case kBytesReady:
    case kNonBlocking:
    case kAsynchronous: return missing();
    default: return request >> 8 == kTerminal ? error(kENOTTY) : missing();
  }
}

/// socket and socketpair: no kind of address is known.
template <Machine M>
MYR_FN Result socket(M&) {
  return error(kEAFNOSUPPORT);
}
/// Calls on a socket: no descriptor is one.
template <Machine M>
MYR_FN Result socket_call(M& m) {
  return error(stream_of(m, m.argument(0)) < 0 ? kEBADF : kENOTSOCK);
}

MYR_FN FileStatus status_of_root() { return {5, 0040555, 2, 0}; }
template <Machine M>
MYR_FN FileStatus status_of_input(const M& m) {
  constexpr u32 kReadableFile = 0100444;
  constexpr u64 kBlockBytes = 512;
  FileStatus status = {4, kReadableFile, 1, m.input().file.size};
  status.blocks = (status.size + kBlockBytes - 1) / kBlockBytes;
  return status;
}
/// Of what is behind an open descriptor.
template <Machine M>
MYR_FN FileStatus status_of(const M& m, i32 stream) {
  constexpr u32 kPipeForUser = 0010600;
  if (const Opened opened = opened_in_tree(m, stream); opened.in_tree) return file_status(m, opened.file);
  if (stream >= (i32)kFirstOpening) return status_of_input(m);
  return {(u32)stream + 1, kPipeForUser, 1, 0};
}

/// Stores a struct stat, in the generic layout, at an address. Returns the call's result.
template <Machine M>
MYR_OUTLINE Result store_status(M& m, const FileStatus& file, u64 address) {
  constexpr u32 kWords = 16;
  constexpr u64 kDevice = 12;  // an arbitrary one
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store<u64>(m, address, kDevice);                                                   // st_dev
  store<u64>(m, address + 8, file.number);                                           // st_ino
  store<u64>(m, address + 16, file.mode | (u64)file.links << 32);                    // st_mode, st_nlink
  store<u64>(m, address + 24, file.user | (u64)file.group << 32);                    // st_uid, st_gid
  store<u64>(m, address + 32, file.device);                                          // st_rdev
  store<u64>(m, address + 48, file.size);                                            // st_size
  store<u64>(m, address + 56, kPageSize);                                            // st_blksize
  store<u64>(m, address + 64, file.blocks);                                          // st_blocks
  store_words(m, address + 72, (u64)file.access_seconds, file.access_nanoseconds);   // st_atim
  store_words(m, address + 88, (u64)file.seconds, file.nanoseconds);                 // st_mtim
  store_words(m, address + 104, (u64)file.change_seconds, file.change_nanoseconds);  // st_ctim
  return answer(0);
}

template <Machine M>
MYR_OUTLINE Result fstat(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return stream < 0 ? error(kEBADF) : store_status(m, status_of(m, stream), m.argument(1));
}

}  // namespace myriarm::kernel
