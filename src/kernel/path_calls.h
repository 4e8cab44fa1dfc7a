// SPDX-License-Identifier: Apache-2.0
// Calls on paths: openat, faccessat, newfstatat, readlinkat. The root is the process's tree (tree_paths.h), if it has one,
// and has the lane's input file, if it has one. Without a tree there is nothing else, and the host reports the paths that
// lead elsewhere.
#pragma once

#include "kernel/tree_paths.h"

namespace myriarm::kernel {

/// Whether `size` bytes of the guest, all readable, are a text.
template <Machine M>
MYR_FN bool is_text(const M& m, u64 address, u64 size, const char* text, u32 text_size) {
  if (size != text_size) return false;
  for (u32 i = 0; i < text_size; i++) {
    if (load<u8>(m, address + i) != (u8)text[i]) return false;
  }
  return true;
}

/// What a path leads to. `tree`: find_file() says it. For the last two it is an error to follow the path: its descriptor is
/// not open, or no folder.
enum class PathEnd : u8 { root, input_file, tree, nowhere, not_open, not_folder };

/// `descriptor`: what a relative path begins at. The path is not empty.
template <Machine M>
MYR_OUTLINE PathEnd follow_path(const M& m, u64 descriptor, u64 path, u64 length) {
  const bool relative = load<u8>(m, path) != '/';
  const bool tree = has_tree(m);
  if (relative && (tree ? !begins_at_root(m, descriptor) : !begins_here(descriptor))) {
    if (tree) return PathEnd::tree;
    return stream_of(m, descriptor) < 0 ? PathEnd::not_open : PathEnd::not_folder;
  }
  // Without a tree nothing in the root is a folder, so that "." and ".." can only lead to the root.
  u64 first = 0;  // of the part under test
  while (first < length) {
    u64 dots = 0;
    while (first + dots < length && load<u8>(m, path + first + dots) == '.') dots++;
    const u64 end = first + dots;
    if (dots > 2 || (end < length && load<u8>(m, path + end) != '/')) break;
    first = end + 1;
  }
  if (first >= length) return tree ? PathEnd::tree : PathEnd::root;
  const bool input =
      m.input().has_file && is_text(m, path + first, length - first, kInputFileName, kInputFileNameBytes);
  return input ? PathEnd::input_file : tree ? PathEnd::tree : PathEnd::nowhere;
}
/// The result of a call on a path that cannot be followed.
MYR_FN Result not_followed(PathEnd end) { return error(end == PathEnd::not_open ? kEBADF : kENOTDIR); }
MYR_FN bool is_followed(PathEnd end) { return end <= PathEnd::nowhere; }

template <Machine M>
MYR_OUTLINE Result open_at(M& m, const OpenHow& how) {
  const i64 length = path_length(m, m.argument(1));
  if (length < 0) return answer(length);
  if (length == 0) return error(kENOENT);
  if (how.walk != 0) return has_tree(m) ? open_in_tree(m, (u64)length, how) : missing();
  const PathEnd end = follow_path(m, m.argument(0), m.argument(1), (u64)length);
  if (!is_followed(end)) return not_followed(end);
  if (end == PathEnd::tree) return open_in_tree(m, (u64)length, how);
  if (end != PathEnd::input_file) return missing();
  const u32 flags = how.flags;
  if ((flags & kOpenCreate) && (flags & kOpenExclusive)) return error(kEEXIST);
  if (flags & kOpenFolder) return error(kENOTDIR);
  if ((flags & kOpenAccess) != kOpenReadOnly || (flags & kOpenTruncate)) return error(kEACCES);
  return (flags & kOpenPathOnly) ? missing() : open_stream(m, kInputOpened, (flags & kOpenCloseOnExec) != 0);
}

template <Machine M>
MYR_FN Result openat(M& m) {
  return open_at(m, {(u32)m.argument(2), (u32)m.argument(3), 0});
}
template <Machine M>
MYR_OUTLINE Result openat2(M& m) {
  constexpr u32 kHowBytes = 24, kKnownFlags = 037777703;
  constexpr u32 kOfPath = kOpenPathOnly | kOpenFolder | kOpenNoFollow | kOpenCloseOnExec;
  enum Resolve : u64 { kNoOther = 1, kNoMagic = 2, kNoSymbolic = 4, kUnder = 8, kAsRoot = 16, kCached = 32 };
  const u64 address = m.argument(2), size = m.argument(3);
  if (size < kHowBytes) return error(kEINVAL);
  if (size > kPageSize) return error(kE2BIG);
  if (!readable(m, address, size)) return error(kEFAULT);
  for (u64 i = kHowBytes; i < size; i++) {
    if (load<u8>(m, address + i) != 0) return error(kE2BIG);
  }
  const u64 flags = load<u64>(m, address), mode = load<u64>(m, address + 8), resolve = load<u64>(m, address + 16);
  if ((flags & ~(u64)kKnownFlags) || (resolve & ~(u64)63)) return error(kEINVAL);
  if ((resolve & kUnder) && (resolve & kAsRoot)) return error(kEINVAL);
  const bool creates = (flags & (kOpenCreate | kOpenTemporary)) != 0;
  if (creates ? (mode & ~(u64)kModeBits) != 0 : mode != 0) return error(kEINVAL);
  if ((flags & kOpenPathOnly) && (flags & ~(u64)kOfPath)) return error(kEINVAL);
  // There is one file system, and all of it is cached.
  const u32 walk = ((resolve & kNoMagic) ? kNoJumps : 0) | ((resolve & kNoSymbolic) ? kNoLinks : 0) |
                   ((resolve & kUnder) ? kBeneath : 0) | ((resolve & kAsRoot) ? kInRoot : 0);
  return open_at(m, {(u32)flags, (u32)mode, walk});
}

/// faccessat and faccessat2, whose `flags` are 0 or those of the call.
template <Machine M>
MYR_OUTLINE Result check_access(M& m, u32 flags) {
  const i64 length = path_length(m, m.argument(1));
  const u32 mode = (u32)m.argument(2);
  if (length < 0) return answer(length);
  if (length == 0 && !(flags & kEmptyPath)) return error((mode & ~kMayAll) ? kEINVAL : kENOENT);
  if (mode & ~kMayAll) return error(kEINVAL);
  const PathEnd end = length == 0 ? PathEnd::tree : follow_path(m, m.argument(0), m.argument(1), (u64)length);
  switch (end) {
    case PathEnd::root: return (mode & ~(kMayRead | kMayExecute)) ? error(kEACCES) : answer(0);
    case PathEnd::input_file: return (mode & ~kMayRead) ? error(kEACCES) : answer(0);
    case PathEnd::tree: return check_access_in_tree(m, (u64)length, mode, flags);
    case PathEnd::nowhere: return missing();
    default: return not_followed(end);
  }
}
template <Machine M>
MYR_FN Result faccessat(M& m) {
  return check_access(m, 0);
}
template <Machine M>
MYR_OUTLINE Result faccessat2(M& m) {
  constexpr u32 kEffectiveIds = 0x200;
  const u32 flags = (u32)m.argument(3);
  if (flags & ~(kEffectiveIds | kNoFollow | kEmptyPath)) return error(kEINVAL);
  return check_access(m, flags);
}

/// Of what arguments 0 and 1 lead to, for newfstatat and statx. `status` is set if the call is answered with 0.
template <Machine M>
MYR_OUTLINE Result status_at(M& m, u32 flags, FileStatus& status) {
  const i64 length = path_length(m, m.argument(1));
  if (length < 0) return answer(length);
  if (length == 0) {
    if (!(flags & kEmptyPath)) return error(kENOENT);
    if (has_tree(m) && begins_here(m.argument(0))) {
      status = file_status(m, (u32)word(m, kWorkingFolder));
      return answer(0);
    }
    const i32 stream = stream_of(m, m.argument(0));
    if (stream < 0) return error(kEBADF);
    status = status_of(m, stream);
    return answer(0);
  }
  const PathEnd end = follow_path(m, m.argument(0), m.argument(1), (u64)length);
  switch (end) {
    case PathEnd::root: status = status_of_root(); return answer(0);
    case PathEnd::input_file: status = status_of_input(m); return answer(0);
    case PathEnd::tree: {
      const i64 file = find_file(m, m.argument(0), m.argument(1), (u64)length, (flags & kNoFollow) ? 0 : kFollowsLast);
      if (file < 0) return answer(file);
      status = file_status(m, (u32)file);
      return answer(0);
    }
    case PathEnd::nowhere: return missing();
    default: return not_followed(end);
  }
}

template <Machine M>
MYR_OUTLINE Result newfstatat(M& m) {
  const u32 flags = (u32)m.argument(3);
  // As on Linux, where the path is copied first if one must be.
  const i64 length = path_length(m, m.argument(1));
  if (length < 0) return answer(length);
  if (flags & ~(kNoFollow | kNoAutomount | kEmptyPath)) return error(kEINVAL);
  FileStatus status = {0, 0, 0, 0};
  const Result found = status_at(m, flags, status);
  return found.served != Served::answered || found.value < 0 ? found : store_status(m, status, m.argument(2));
}

template <Machine M>
MYR_OUTLINE Result statx(M& m) {
  constexpr u32 kSyncTypes = 0x6000, kReserved = 0x80000000;
  const u32 flags = (u32)m.argument(2);
  if ((flags & ~(kNoFollow | kNoAutomount | kEmptyPath | kSyncTypes)) || (flags & kSyncTypes) == kSyncTypes ||
      ((u32)m.argument(3) & kReserved)) {
    return error(kEINVAL);
  }
  FileStatus status = {0, 0, 0, 0};
  const Result found = status_at(m, flags, status);
  return found.served != Served::answered || found.value < 0 ? found : store_statx(m, status, m.argument(4));
}

// The link to the program's file, by both of its names.
MYR_TABLE char kOwnProgram[] = "/proc/self/exe";
MYR_TABLE char kOwnProgramByNumber[] = "/proc/1000/exe";
static_assert(kProcessId == 1000);
constexpr u32 kOwnProgramBytes = 14;  // of each name

template <Machine M>
MYR_OUTLINE Result readlinkat(M& m) {
  const u64 path = m.argument(1);
  const i64 found = path_length(m, path);
  if (found < 0) return answer(found);
  const u64 length = (u64)found;
  const i32 room = (i32)m.argument(3);
  if (room <= 0) return error(kEINVAL);
  if (length == 0) return has_tree(m) ? read_link(m, 0) : error(kENOENT);
  if (is_text(m, path, length, kOwnProgram, kOwnProgramBytes) ||
      is_text(m, path, length, kOwnProgramByNumber, kOwnProgramBytes)) {
    return store_program_link(m);
  }
  const PathEnd end = follow_path(m, m.argument(0), path, length);
  if (!is_followed(end)) return not_followed(end);
  if (end == PathEnd::tree) return read_link(m, length);
  return end == PathEnd::nowhere ? missing() : error(kEINVAL);  // the others are no links
}

}  // namespace myriarm::kernel
