// SPDX-License-Identifier: Apache-2.0
// Calls on paths: openat, faccessat, newfstatat, readlinkat. The root has the lane's input file, if it has one, and
// nothing else; the host reports the paths that lead elsewhere.
#pragma once

#include "kernel/descriptor_calls.h"

namespace myriarm::kernel {

constexpr u64 kMostPathBytes = 4096;  // with the NUL

/// How long the path at an address is, without the NUL; or an error, negative.
template <Machine M>
MYR_OUTLINE i64 path_length(const M& m, u64 address) {
  const u64 size = accessible(m, address, kMostPathBytes, kPageReadable);
  for (u64 i = 0; i < size; i++) {
    if (load<u8>(m, address + i) == 0) return (i64)i;
  }
  return size == kMostPathBytes ? -kENAMETOOLONG : -kEFAULT;
}

/// Whether `size` bytes of the guest, all readable, are a text.
template <Machine M>
MYR_FN bool is_text(const M& m, u64 address, u64 size, const char* text, u32 text_size) {
  if (size != text_size) return false;
  for (u32 i = 0; i < text_size; i++) {
    if (load<u8>(m, address + i) != (u8)text[i]) return false;
  }
  return true;
}

/// What a path leads to. For the last two it is an error to follow the path: its descriptor is not open, or no folder.
enum class PathEnd : u8 { root, input_file, nowhere, not_open, not_folder };

/// `descriptor`: what a relative path begins at. The path is not empty.
template <Machine M>
MYR_OUTLINE PathEnd follow_path(const M& m, u64 descriptor, u64 path, u64 length) {
  constexpr u32 kHere = (u32)-100;  // AT_FDCWD; the working directory is the root
  if (load<u8>(m, path) != '/' && (u32)descriptor != kHere) {
    return stream_of(m, descriptor) < 0 ? PathEnd::not_open : PathEnd::not_folder;
  }
  // Nothing in the root is a folder, so that "." and ".." can only lead to the root.
  u64 first = 0;  // of the part under test
  while (first < length) {
    u64 dots = 0;
    while (first + dots < length && load<u8>(m, path + first + dots) == '.') dots++;
    const u64 end = first + dots;
    if (dots > 2 || (end < length && load<u8>(m, path + end) != '/')) break;
    first = end + 1;
  }
  if (first >= length) return PathEnd::root;
  const bool input =
      m.input().has_file && is_text(m, path + first, length - first, kInputFileName, kInputFileNameBytes);
  return input ? PathEnd::input_file : PathEnd::nowhere;
}
/// The result of a call on a path that cannot be followed.
MYR_FN Result not_followed(PathEnd end) { return error(end == PathEnd::not_open ? kEBADF : kENOTDIR); }
MYR_FN bool is_followed(PathEnd end) { return end <= PathEnd::nowhere; }

/// Opens the input file.
template <Machine M>
MYR_FN Result open_input(M& m) {
  const u32 count = opening_count(m), fd = free_file(m, 0);
  u32 index = 0;
  while (index < count && word(m, kOpenings + index * 8) != kClosed) index++;
  if (fd == kMostFiles || index == kMostFiles) return error(kEMFILE);
  const u32 stream = kFirstOpening + index;
  if (!own_files(m) || !own_word(m, position_word(stream))) return again();
  set_file(m, fd, (i32)stream);
  set_word(m, position_word(stream), 0);
  if (index == count) set_word(m, kOpeningCount, count + 1);
  return answer(fd);
}

template <Machine M>
MYR_OUTLINE Result openat(M& m) {
  constexpr u32 kAccess = 3, kCreate = 0100, kExclusive = 0200, kTruncate = 01000, kDirectory = 040000,
                kPathOnly = 010000000;
  const i64 length = path_length(m, m.argument(1));
  if (length < 0) return answer(length);
  if (length == 0) return error(kENOENT);
  const PathEnd end = follow_path(m, m.argument(0), m.argument(1), (u64)length);
  if (!is_followed(end)) return not_followed(end);
  if (end != PathEnd::input_file) return missing();
  const u32 flags = (u32)m.argument(2);
  if ((flags & (kCreate | kExclusive)) == (kCreate | kExclusive)) return error(kEEXIST);
  if (flags & kDirectory) return error(kENOTDIR);
  if ((flags & kAccess) != 0 || (flags & kTruncate)) return error(kEACCES);
  return (flags & kPathOnly) ? missing() : open_input(m);
}

template <Machine M>
MYR_OUTLINE Result faccessat(M& m) {
  constexpr u32 kMayExecute = 1, kMayRead = 4, kMayAll = 7;
  const i64 length = path_length(m, m.argument(1));
  const u32 mode = (u32)m.argument(2);
  if (length < 0) return answer(length);
  if (length == 0) return error((mode & ~kMayAll) ? kEINVAL : kENOENT);
  const PathEnd end = follow_path(m, m.argument(0), m.argument(1), (u64)length);
  if (mode & ~kMayAll) return error(kEINVAL);
  switch (end) {
    case PathEnd::root: return (mode & ~(kMayRead | kMayExecute)) ? error(kEACCES) : answer(0);
    case PathEnd::input_file: return (mode & ~kMayRead) ? error(kEACCES) : answer(0);
    case PathEnd::nowhere: return missing();
    default: return not_followed(end);
  }
}

template <Machine M>
MYR_OUTLINE Result newfstatat(M& m) {
  constexpr u32 kNoFollow = 0x100, kNoAutomount = 0x800, kEmptyPath = 0x1000;
  const i64 length = path_length(m, m.argument(1));
  if (length < 0) return answer(length);
  const u64 address = m.argument(2);
  const u32 flags = (u32)m.argument(3);
  if (flags & ~(kNoFollow | kNoAutomount | kEmptyPath)) return error(kEINVAL);
  if (length == 0) {
    if (!(flags & kEmptyPath)) return error(kENOENT);
    const i32 stream = stream_of(m, m.argument(0));
    return stream < 0 ? error(kEBADF) : store_status(m, status_of(m, stream), address);
  }
  const PathEnd end = follow_path(m, m.argument(0), m.argument(1), (u64)length);
  switch (end) {
    case PathEnd::root: return store_status(m, status_of_root(), address);
    case PathEnd::input_file: return store_status(m, status_of_input(m), address);
    case PathEnd::nowhere: return missing();
    default: return not_followed(end);
  }
}

// The link to the program's file, by both of its names.
MYR_TABLE char kOwnProgram[] = "/proc/self/exe";
MYR_TABLE char kOwnProgramByNumber[] = "/proc/1000/exe";
static_assert(kProcessId == 1000);
constexpr u32 kOwnProgramBytes = 14;  // of each name

template <Machine M>
MYR_OUTLINE Result readlinkat(M& m) {
  const u64 path = m.argument(1), address = m.argument(2);
  const i64 found = path_length(m, path);
  if (found < 0) return answer(found);
  const u64 length = (u64)found;
  const i32 room = (i32)m.argument(3);
  if (room <= 0) return error(kEINVAL);
  if (length == 0) return error(kENOENT);
  if (is_text(m, path, length, kOwnProgram, kOwnProgramBytes) ||
      is_text(m, path, length, kOwnProgramByNumber, kOwnProgramBytes)) {
    const u64 size = lesser((u64)room, m.facts().path_bytes);
    const Storing storing = prepare(m, address, size);
    if (storing != Storing::allowed) return not_stored(storing);
    copy_in(m, address, (const u8*)m.facts().path, size);
    return answer((i64)size);
  }
  const PathEnd end = follow_path(m, m.argument(0), path, length);
  if (!is_followed(end)) return not_followed(end);
  return end == PathEnd::nowhere ? missing() : error(kEINVAL);  // the others are no links
}

}  // namespace myriarm::kernel
