// SPDX-License-Identifier: Apache-2.0
// Calls on paths in the tree of a process: what path_calls.h does with a path that leads there, the working folder, and the
// calls that would change the file system, which is read-only. Errors come in the order in which Linux finds them.
#pragma once

#include "kernel/descriptor_calls.h"

namespace myriarm::kernel {

constexpr u64 kMostPathBytes = 4096;                                         // with the NUL
constexpr u32 kNoFollow = 0x100, kNoAutomount = 0x800, kEmptyPath = 0x1000;  // AT_SYMLINK_NOFOLLOW and its relatives

/// How long the path at an address is, without the NUL; or an error, negative.
template <Machine M>
MYR_OUTLINE i64 path_length(const M& m, u64 address) {
  const u64 size = accessible(m, address, kMostPathBytes, kPageReadable);
  for (u64 i = 0; i < size; i++) {
    if (load<u8>(m, address + i) == 0) return (i64)i;
  }
  return size == kMostPathBytes ? -kENAMETOOLONG : -kEFAULT;
}

/// Whether relative paths begin at the working folder with this descriptor.
MYR_FN bool begins_here(u64 descriptor) {
  constexpr u32 kHere = (u32)-100;  // AT_FDCWD
  return (u32)descriptor == kHere;
}
template <Machine M>
MYR_FN bool begins_at_root(const M& m, u64 descriptor) {
  return begins_here(descriptor) && word(m, kWorkingFolder) == 0;
}

/// The file of the tree that a path leads to, or an error, negative. A path that is empty leads to the descriptor's file.
template <Machine M>
MYR_OUTLINE i64 find_file(const M& m, u64 descriptor, u64 path, u64 length, u32 flags) {
  u32 from = (u32)word(m, kWorkingFolder);
  if (!begins_here(descriptor) && (length == 0 || load<u8>(m, path) != '/')) {
    const i32 stream = stream_of(m, descriptor);
    if (stream < 0) return -kEBADF;
    const Opened opened = opened_in_tree(m, stream);
    if (!opened.in_tree) return -kENOTDIR;
    from = opened.file;
  }
  return length == 0 ? (i64)from : find_in_tree(m, from, path, length, flags);
}

/// openat() of a path that leads into the tree.
template <Machine M>
MYR_OUTLINE Result open_in_tree(M& m, u64 length) {
  u32 flags = (u32)m.argument(2);
  if ((flags & kOpenTemporary) == kOpenTemporary) flags &= ~(u32)kOpenCreate;
  const bool path_only = (flags & kOpenPathOnly) != 0;
  if (path_only) flags &= kOpenPathOnly | kOpenFolder | kOpenNoFollow;
  const bool creates = (flags & kOpenCreate) != 0, excludes = creates && (flags & kOpenExclusive);
  const u32 follows = (flags & kOpenNoFollow) || excludes ? 0u : kFollowsLast;
  const i64 found = find_file(m, m.argument(0), m.argument(1), length, follows | (creates ? kFindsToCreate : 0));
  if (found < 0) return answer(found);
  const FileStatus file = tree_status(m, (u32)found);
  const u32 type = type_of(file);
  if (excludes) return error(kEEXIST);
  if (creates && type == kFolder) return error(kEISDIR);
  if ((flags & kOpenFolder) && type != kFolder) return error(kENOTDIR);
  if (path_only) return open_stream(m, opened_value((u32)found, flags));
  if (type == kLink) return error(kELOOP);
  if ((flags & kOpenTemporary) && type == kFolder) return error(kEROFS);
  const u32 access = flags & kOpenAccess;
  const bool writes = access != kOpenReadOnly || (flags & kOpenTruncate);
  if (writes && type == kFolder) return error(kEISDIR);
  if (writes && is_stored(file)) return error(kEROFS);
  if (!permits(file, (access != kOpenWriteOnly ? kMayRead : 0) | (writes ? kMayWrite : 0))) return error(kEACCES);
  // A device that is not here, a socket, a pipe whose other end nobody opens.
  if (!is_stored(file) && device_kind(file) == DeviceKind::none) return error(kENXIO);
  constexpr u32 kNotKept = kOpenCreate | kOpenExclusive | kOpenTruncate | 0400 | 02000000;  // O_NOCTTY, O_CLOEXEC
  return open_stream(m, opened_value((u32)found, (flags & ~kNotKept) | kOpenLarge));
}

/// As access(2) tells it.
template <Machine M>
MYR_OUTLINE Result check_access_in_tree(M& m, u64 length, u32 mode, u32 flags) {
  const i64 found = find_file(m, m.argument(0), m.argument(1), length, (flags & kNoFollow) ? 0 : kFollowsLast);
  if (found < 0) return answer(found);
  const FileStatus file = tree_status(m, (u32)found);
  if ((mode & kMayWrite) && is_stored(file)) return error(kEROFS);
  return permits(file, mode) ? answer(0) : error(kEACCES);
}

/// Stores a path that is in a link, as readlinkat() does: without a NUL, and cut to the room there is.
template <Machine M>
MYR_OUTLINE Result store_link(M& m, const Bytes& target) {
  const u64 size = lesser((u64)(u32)m.argument(3), target.size), address = m.argument(2);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  copy_in(m, address, target.data, size);
  return answer((i64)size);
}
template <Machine M>
MYR_OUTLINE Result read_link(M& m, u64 length) {
  const i64 found = find_file(m, m.argument(0), m.argument(1), length, 0);
  if (found < 0) return answer(length == 0 && found == -kENOTDIR ? -kENOENT : found);
  Bytes target;
  if (type_of(tree_status(m, (u32)found)) != kLink) return error(length == 0 ? kENOENT : kEINVAL);
  if (is_program_link(m, (u32)found)) return store_link(m, {(const u8*)m.facts().path, m.facts().path_bytes});
  return tree_content(m, (u32)found, target) ? store_link(m, target) : error(kEIO);
}

MYR_FN u64 major_number(u64 device) { return device >> 8 & 0xfff; }
MYR_FN u64 minor_number(u64 device) { return (device & 0xff) | (device >> 12 & 0xfff00); }

/// Stores a struct statx at an address. Returns the call's result.
template <Machine M>
MYR_OUTLINE Result store_statx(M& m, const FileStatus& file, u64 address) {
  constexpr u32 kWords = 32, kBasic = 0x7ff;  // STATX_BASIC_STATS
  constexpr u64 kBlockBytes = 512, kDevice = 12;
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store<u64>(m, address, kBasic | (u64)kPageSize << 32);                     // stx_mask, stx_blksize
  store<u64>(m, address + 16, file.links | (u64)file.user << 32);            // stx_nlink, stx_uid
  store<u64>(m, address + 24, file.group | (u64)file.mode << 32);            // stx_gid, stx_mode
  store_words(m, address + 32, file.number, file.size);                      // stx_ino, stx_size
  store<u64>(m, address + 48, (file.size + kBlockBytes - 1) / kBlockBytes);  // stx_blocks
  store_words(m, address + 64, (u64)file.seconds, file.nanoseconds);         // stx_atime; there is no stx_btime
  store_words(m, address + 96, (u64)file.seconds, file.nanoseconds);         // stx_ctime
  store_words(m, address + 112, (u64)file.seconds, file.nanoseconds);        // stx_mtime
  store<u64>(m, address + 128, major_number(file.device) | minor_number(file.device) << 32);
  store<u64>(m, address + 136, major_number(kDevice) | minor_number(kDevice) << 32);
  return answer(0);
}

/// Stores a struct statfs of the tree at an address: it is full, and has no room that anybody could ask for.
template <Machine M>
MYR_OUTLINE Result store_statfs(M& m, u64 address) {
  constexpr u32 kWords = 15;
  constexpr u64 kType = 0xef53, kLongestName = 255, kReadOnly = 0x21;  // ext4; ST_RDONLY and ST_VALID
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store_words(m, address, kType, kPageSize);              // f_type, f_bsize
  store_words(m, address + 64, kLongestName, kPageSize);  // f_namelen, f_frsize
  store<u64>(m, address + 80, kReadOnly);                 // f_flags
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result statfs(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_in_tree(m, (u32)word(m, kWorkingFolder), m.argument(0), (u64)length, kFollowsLast);
  return found < 0 ? answer(found) : store_statfs(m, m.argument(1));
}
template <Machine M>
MYR_OUTLINE Result fstatfs(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  return opened_in_tree(m, stream).in_tree ? store_statfs(m, m.argument(1)) : missing();
}

// ---- the working folder

template <Machine M>
MYR_OUTLINE Result enter_folder(M& m, i64 found) {
  if (found < 0) return answer(found);
  const FileStatus file = tree_status(m, (u32)found);
  if (type_of(file) != kFolder) return error(kENOTDIR);
  if (!permits(file, kMayExecute)) return error(kEACCES);
  if (!own_word(m, kWorkingFolder)) return again();
  set_word(m, kWorkingFolder, (u64)found);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result chdir(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  return enter_folder(m, find_in_tree(m, (u32)word(m, kWorkingFolder), m.argument(0), (u64)length, kFollowsLast));
}
template <Machine M>
MYR_OUTLINE Result fchdir(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const Opened opened = opened_in_tree(m, stream);
  return opened.in_tree ? enter_folder(m, opened.file) : error(kENOTDIR);
}

template <Machine M>
MYR_OUTLINE Result getcwd(M& m) {
  constexpr u8 kRoot[] = {'/'};
  Bytes path = {kRoot, sizeof kRoot};
  if (has_tree(m)) path = tree_path(m, (u32)word(m, kWorkingFolder));
  if (m.argument(1) < path.size + 1) return error(kERANGE);
  const Storing storing = prepare(m, m.argument(0), path.size + 1);
  if (storing != Storing::allowed) return not_stored(storing);
  copy_in(m, m.argument(0), path.data, path.size);
  store<u8>(m, m.argument(0) + path.size, 0);
  return answer((i64)path.size + 1);
}

// ---- calls that would change the tree

/// The error of a call on the path in argument `path_at`, whose descriptor is in the argument before it. `flags`: as for find_file().
template <Machine M>
MYR_OUTLINE i64 find_for_change(const M& m, u32 path_at, u32 flags) {
  const u64 path = m.argument(path_at);
  const i64 length = path_length(m, path);
  if (length <= 0) return length < 0 ? length : -kENOENT;
  return find_file(m, m.argument(path_at - 1), path, (u64)length, flags);
}
MYR_FN Result refused(i64 found) { return found < 0 ? answer(found) : error(kEROFS); }

/// mkdirat, mknodat: a new name.
template <Machine M>
MYR_OUTLINE Result make_file(M& m) {
  constexpr u32 kMkdirat = 34;
  const i64 found = find_for_change(m, 1, m.number() == kMkdirat ? kFindsNewFolder : kFindsNew);
  return found < 0 ? answer(found) : error(kEEXIST);
}
template <Machine M>
MYR_OUTLINE Result symlinkat(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_for_change(m, 2, kFindsNew);
  return found < 0 ? answer(found) : error(kEEXIST);
}
template <Machine M>
MYR_OUTLINE Result linkat(M& m) {
  constexpr u32 kFollow = 0x400;  // AT_SYMLINK_FOLLOW
  const i64 old = find_for_change(m, 1, ((u32)m.argument(4) & kFollow) ? kFollowsLast : 0);
  if (old < 0) return answer(old);
  const i64 found = find_for_change(m, 3, kFindsNew);
  return found < 0 ? answer(found) : error(kEEXIST);
}
/// unlinkat.
template <Machine M>
MYR_OUTLINE Result remove_file(M& m) {
  return refused(find_for_change(m, 1, kFindsParent));
}
/// renameat and renameat2.
template <Machine M>
MYR_OUTLINE Result move_file(M& m) {
  const i64 old = find_for_change(m, 1, kFindsParent);
  return old < 0 ? answer(old) : refused(find_for_change(m, 3, kFindsParent));
}
/// fchmodat, fchownat: attributes of a path's file. The last argument of fchownat says whether it follows a link.
template <Machine M>
MYR_OUTLINE Result change_file(M& m) {
  constexpr u32 kFchownat = 54;
  const bool follows = m.number() != kFchownat || !((u32)m.argument(4) & kNoFollow);
  return refused(find_for_change(m, 1, follows ? kFollowsLast : 0));
}
/// fchmod, fchown: those of an open file. The standard streams belong to the host.
template <Machine M>
MYR_OUTLINE Result change_open_file(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_in_tree(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  return opened.in_tree ? error(kEROFS) : missing();
}
template <Machine M>
MYR_OUTLINE Result utimensat(M& m) {
  if (m.argument(1) == 0) return change_open_file(m);
  return refused(find_for_change(m, 1, ((u32)m.argument(3) & kNoFollow) ? 0 : kFollowsLast));
}
template <Machine M>
MYR_OUTLINE Result truncate(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if ((i64)m.argument(1) < 0) return error(kEINVAL);
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_in_tree(m, (u32)word(m, kWorkingFolder), m.argument(0), (u64)length, kFollowsLast);
  if (found < 0) return answer(found);
  const FileStatus file = tree_status(m, (u32)found);
  if (type_of(file) == kFolder) return error(kEISDIR);
  return error(type_of(file) == kRegular ? kEROFS : kEINVAL);
}
template <Machine M>
MYR_OUTLINE Result ftruncate(M& m) {
  if ((i64)m.argument(1) < 0) return error(kEINVAL);
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0 || opened_in_tree(m, stream).path_only()) return error(kEBADF);
  return error(kEINVAL);  // no regular file is open for writing
}

}  // namespace myriarm::kernel
