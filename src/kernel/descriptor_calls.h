// SPDX-License-Identifier: Apache-2.0
// Calls on descriptors that do not move data: close, close_range, dup, dup3, fcntl, lseek, ioctl, fstat.
#pragma once

#include "kernel/file_locks.h"
#include "kernel/object_files.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

/// To be called, and to have returned true, before hold().
template <Machine M>
MYR_FN bool own_holders(M& m, i32 stream) {
  return stream < (i32)kFirstOpening || own_word(m, opened_word((u32)stream));
}
/// The same before let_go().
template <Machine M>
MYR_FN bool own_opening(M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return true;
  const Opened opened = opened_at(m, stream);
  if (!own_holders(m, stream) || !own_locks_to_leave(m)) return false;
  if (opened.is_object()) return own_leaving_object(m, opened);
  return !opened.in_tree || plan_leave(m, opened.file);
}
/// One more descriptor refers to a stream.
template <Machine M>
MYR_FN void hold(M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return;
  const u32 holders = opening_word((u32)stream - kFirstOpening, kOpeningHolders);
  set_word(m, holders, word(m, holders) + 1);
}
/// One descriptor less refers to a stream: with the last one, its opening ends.
template <Machine M>
MYR_FN void let_go(M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return;
  const u32 at = opening_word((u32)stream - kFirstOpening, kOpeningHolders);
  const u64 value = word(m, at), holders = (u32)value;
  if (word(m, kFileLocks) != 0) leave_locks(m, (u32)stream, holders <= 1);
  set_word(m, at, value - (holders != 0));
  if (holders > 1) return;
  const Opened opened = opened_at(m, stream);
  if (opened.is_object()) leave_object(m, opened);
  if (opened.in_tree) drop_file(m, opened.file);
}

/// To be called, and to have returned true, before close_all().
template <Machine M>
MYR_OUTLINE bool own_all_files(M& m, bool only_on_exec) {
  if (!own_files(m)) return false;
  for (u32 fd = 0; fd < kMostFiles; fd++) {
    const bool closes = file_at(m, fd) != 0 && (!only_on_exec || closes_on_exec(m, fd));
    if (closes && !own_opening(m, stream_of(m, fd))) return false;
  }
  return true;
}
/// Closes all descriptors, or those that execve() closes.
template <Machine M>
MYR_OUTLINE void close_all(M& m, bool only_on_exec) {
  for (u32 fd = 0; fd < kMostFiles; fd++) {
    const i32 stream = stream_of(m, fd);
    if (stream < 0 || (only_on_exec && !closes_on_exec(m, fd))) continue;
    set_file(m, fd, -1);
    let_go(m, stream);
  }
}

template <Machine M>
MYR_OUTLINE Result close(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  if (!own_files(m) || !own_opening(m, stream)) return again();
  set_file(m, (u32)m.argument(0), -1);
  let_go(m, stream);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result close_range(M& m) {
  constexpr u32 kUnshare = 2, kOnlyOnExec = 4;
  const u32 first = (u32)m.argument(0), last = (u32)m.argument(1), flags = (u32)m.argument(2);
  if ((flags & ~(kUnshare | kOnlyOnExec)) || first > last) return error(kEINVAL);
  const u32 end = last < kMostFiles ? last + 1 : kMostFiles;
  if (!own_files(m)) return again();
  for (u32 fd = first; fd < end && !(flags & kOnlyOnExec); fd++) {
    if (!own_opening(m, stream_of(m, fd))) return again();
  }
  for (u32 fd = first; fd < end; fd++) {
    const i32 stream = stream_of(m, fd);
    if (stream < 0) continue;
    set_file(m, fd, (flags & kOnlyOnExec) ? stream : -1, true);
    if (!(flags & kOnlyOnExec)) let_go(m, stream);
  }
  return answer(0);
}

/// Makes the lowest free descriptor from `lowest` on refer to a stream.
template <Machine M>
MYR_FN Result duplicate(M& m, i32 stream, u32 lowest, bool closes_on_exec) {
  const u32 fd = free_file(m, lowest);
  if (fd == file_limit(m)) return error(kEMFILE);
  if (!own_files(m) || !own_holders(m, stream)) return again();
  set_file(m, fd, stream, closes_on_exec);
  hold(m, stream);
  return answer(fd);
}

template <Machine M>
MYR_OUTLINE Result dup(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  return stream < 0 ? error(kEBADF) : duplicate(m, stream, 0, false);
}

template <Machine M>
MYR_OUTLINE Result dup3(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const u32 from = (u32)m.argument(0), to = (u32)m.argument(1), flags = (u32)m.argument(2);
  if ((flags & ~kOpenCloseOnExec) || from == to) return error(kEINVAL);
  if (to >= file_limit(m) || stream < 0) return error(kEBADF);
  const i32 replaced = stream_of(m, to);
  if (!own_files(m) || !own_opening(m, replaced) || !own_holders(m, stream)) return again();
  set_file(m, to, stream, flags != 0);
  hold(m, stream);
  let_go(m, replaced);
  return answer(to);
}

/// The flags of an opening that F_SETFL changes, here to `flags`.
template <Machine M>
MYR_FN Result change_flags(M& m, i32 stream, u32 change, u32 flags) {
  if (stream < (i32)kFirstOpening) return answer(0);
  const u32 at = opened_word((u32)stream);
  if (!own_word(m, at)) return again();
  set_word(m, at, (word(m, at) & ~((u64)change << 32)) | (u64)(flags & change) << 32);
  return answer(0);
}
/// F_SETFL. The standard streams and the input file have no flags that could change anything.
template <Machine M>
MYR_FN Result set_flags(M& m, i32 stream) {
  const Opened opened = opened_at(m, stream);
  if (opened.kind <= Kind::input) return answer(0);
  if (opened.path_only()) return error(kEBADF);
  const u32 flags = (u32)m.argument(2);
  if ((flags & kOpenDirect) && opened.kind != Kind::pipe && !opened.in_tree) return error(kEINVAL);
  return change_flags(m, stream, kOpenAppend | kOpenNonBlocking | (opened.kind == Kind::pipe ? kOpenDirect : 0u),
                      flags);
}
template <Machine M>
MYR_FN Result set_descriptor_flags(M& m, bool closes_on_exec) {
  if (!own_files(m)) return again();
  set_file(m, (u32)m.argument(0), stream_of(m, m.argument(0)), closes_on_exec);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result fcntl(M& m) {
  // clang-format off
  enum Command : u32 { kDuplicate = 0, kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kGetFlags = 3, kSetFlags = 4,
                       kGetLock = 5, kSetLock = 6, kWaitForLock = 7, kSetOwner = 8, kGetOwner = 9, kSetSignal = 10, kGetSignal = 11,
                       kGetOwnLock = 36, kSetOwnLock = 37,
                       kWaitForOwnLock = 38, kDuplicateCloseOnExec = 1030, kSetPipeSize = 1031, kGetPipeSize = 1032,
                       kAddSeals = 1033, kGetSeals = 1034 };
  // clang-format on
  constexpr i64 kReadOnly = 0, kWriteOnly = 1, kLargeFile = 0400000;
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const u32 lowest = (u32)m.argument(2), command = (u32)m.argument(1);
  const Opened opened = opened_at(m, stream);
  // As on Linux, what is open as a path alone has no more than a descriptor.
  const bool on_path = command <= kGetFlags || command == kDuplicateCloseOnExec;
  if (opened.path_only() && !on_path) return error(kEBADF);
  switch (command) {
    case kDuplicate:
    case kDuplicateCloseOnExec:
      if (lowest >= file_limit(m)) return error(kEINVAL);
      return duplicate(m, stream, lowest, command == kDuplicateCloseOnExec);
    case kGetDescriptorFlags: return answer(closes_on_exec(m, (u32)m.argument(0)));
    case kSetDescriptorFlags: return set_descriptor_flags(m, (m.argument(2) & 1) != 0);
    case kSetFlags: return set_flags(m, stream);
    case kGetLock:
    case kSetLock:
    case kWaitForLock: return lock_record(m, stream, LockKind::of_process, (LockCall)(command - kGetLock));
    case kGetOwnLock:
    case kSetOwnLock:
    case kWaitForOwnLock: return lock_record(m, stream, LockKind::of_opening, (LockCall)(command - kGetOwnLock));
    case kGetFlags:
      if (opened.kind >= Kind::tree) return answer(opened.flags);
      return answer(opened.kind == Kind::input      ? kReadOnly | kLargeFile
                    : stream == (i32)kStandardInput ? kReadOnly
                                                    : kWriteOnly);
    case kSetPipeSize:
    case kGetPipeSize: return pipe_size(m, opened, command == kSetPipeSize, m.argument(2));
    default: {
      constexpr u32 kBasicCommands = 18, kMoreCommands = 1024,
                    kCommandsEnd = 1056;  // those that Linux has, or may have soon
      const bool is_known = command < kBasicCommands || (command >= kMoreCommands && command < kCommandsEnd);
      return is_known ? missing() : error(kEINVAL);
    }
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
  const Kind kind = opened_at(m, stream).kind;
  if (kind == Kind::standard || kind == Kind::pipe || kind == Kind::socket) return error(kESPIPE);
  if (kind > Kind::tree) return answer(0);  // it has no position, and as on Linux that is no error
  const u32 position = position_word((u32)stream);
  u64 size = m.input().file.size;
  const u64 offset = m.argument(1);
  if (const Opened opened = opened_at(m, stream); opened.in_tree) {
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

/// FIONREAD: the bytes that can be read at once.
template <Machine M>
MYR_OUTLINE Result bytes_ready(M& m, i32 stream, const Opened& opened) {
  const u64 position =
      stream == (i32)kStandardInput || stream >= (i32)kFirstOpening ? word(m, position_word((u32)stream)) : 0;
  u64 size = 0;
  switch (opened.kind) {
    case Kind::standard:
      size = stream == (i32)kStandardInput ? bytes_behind(m.input().standard_input, position) : 0;
      break;
    case Kind::input: size = bytes_behind(m.input().file, position); break;
    case Kind::tree: {
      const FileStatus file = file_status(m, opened.file);
      if (type_of(file) != kRegular) return error(kENOTTY);
      size = file.size - lesser(position, file.size);
      break;
    }
    case Kind::pipe: size = word(m, object_at(opened.file) + kPipeBytes); break;
    case Kind::socket: {
      const PipeUse use = receives(m, opened, 0);
      size = use.ends ? word(m, use.pipe + kPipeBytes) : pipe_content(m, use.pipe).size;
      break;
    }
    default: return error(kENOTTY);
  }
  const Storing storing = prepare(m, m.argument(2), 4);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u32>(m, m.argument(2), (u32)size);
  return answer(0);
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
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  switch (request) {
    case kNotOnExec:
    case kCloseOnExec: return set_descriptor_flags(m, request == kCloseOnExec);
    case kClone:
    case kCloneRange: return error(kEOPNOTSUPP);  // as file systems do that cannot share blocks
    case kBytesReady: return bytes_ready(m, stream, opened);
    case kNonBlocking:
      if (!readable(m, m.argument(2), 4)) return error(kEFAULT);
      if (opened.kind <= Kind::input) return answer(0);
      return change_flags(m, stream, kOpenNonBlocking, load<u32>(m, m.argument(2)) != 0 ? (u32)kOpenNonBlocking : 0u);
    case kAsynchronous: return missing();
    default: return request >> 8 == kTerminal ? error(kENOTTY) : missing();
  }
}

/// socket: no kind of address is known.
template <Machine M>
MYR_FN Result socket(M&) {
  return error(kEAFNOSUPPORT);
}
/// Calls that a socket without a name refuses: bind, listen, connect, accept; setsockopt, whose options have no effect.
template <Machine M>
MYR_FN Result socket_call(M& m) {
  constexpr u32 kSetsockopt = 208, kConnect = 203;
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  if (m.number() == kSetsockopt) {
    constexpr u32 kOfSockets = 1, kOptionsEnd = 84;
    if ((u32)m.argument(1) != kOfSockets) return error(kEOPNOTSUPP);
    if ((i32)m.argument(4) < 4) return error(kEINVAL);
    if (!readable(m, m.argument(3), 4)) return error(kEFAULT);
    return (u32)m.argument(2) < kOptionsEnd ? answer(0) : error(kENOPROTOOPT);
  }
  return error(m.number() == kConnect ? kEISCONN : kEINVAL);
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
  const Opened opened = opened_at(m, stream);
  if (opened.in_tree) return status_of_opened(m, opened.file);
  if (opened.is_object()) return status_of_object(m, opened);
  if (opened.kind == Kind::input) return status_of_input(m);
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
  store<u64>(m, address + 32, shown_device(file));                                   // st_rdev
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
