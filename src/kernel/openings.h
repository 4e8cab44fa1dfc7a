// SPDX-License-Identifier: Apache-2.0
// Open file descriptions: of the input file, if the lane has one, of files of the tree (tree.h), of pipes and other objects
// (objects.h). An opening counts the descriptors that refer to it; they share its position and flags.
#pragma once

#include "kernel/descriptors.h"
#include "kernel/tree.h"

namespace myriarm::kernel {

/// Stream kFirstOpening + n is opening n. Words of an opening: its position, or what else an object keeps for it; what
/// is opened (opened_value()); the descriptors that refer to it, 0 if it is free, and above it 1 and the folder in
/// which a file has its name; and its number among all that were made.
enum OpeningWord : u32 {
  kOpeningPosition = 0,
  kOpeningWhat = 8,
  kOpeningHolders = 16,
  kOpeningSerial = 24,
  kOpeningBytes = 32
};
MYR_FN u32 opening_word(u32 index, OpeningWord part) { return kOpenings + index * kOpeningBytes + part; }
template <MemoryMachine M>
MYR_FN u32 opening_count(const M& m) {
  return (u32)lesser(word(m, kOpeningCount), kMostOpenings);
}
template <MemoryMachine M>
MYR_FN bool is_open(const M& m, u32 index) {
  return (u32)word(m, opening_word(index, kOpeningHolders)) != 0;
}
constexpr u32 kNoFolder = ~(u32)0;
MYR_FN u64 folder_above(u32 folder) { return (u64)(folder + 1) << 32; }
/// The folder in which the file had its name when it was opened, or was moved; kNoFolder.
template <MemoryMachine M>
MYR_FN u32 folder_of_opening(const M& m, u32 index) {
  return (u32)(word(m, opening_word(index, kOpeningHolders)) >> 32) - 1;
}
/// Where the position of a stream that is an opening, or standard input, lies.
MYR_FN u32 position_word(u32 stream) {
  return stream >= kFirstOpening ? opening_word(stream - kFirstOpening, kOpeningPosition) : (u32)kInputPosition;
}
MYR_FN u32 opened_word(u32 stream) { return opening_word(stream - kFirstOpening, kOpeningWhat); }

// clang-format off
enum OpenFlag : u32 { kOpenAccess = 3, kOpenReadOnly = 0, kOpenWriteOnly = 1, kOpenReadWrite = 2, kOpenCreate = 0100, kOpenExclusive = 0200,
                      kOpenTruncate = 01000, kOpenAppend = 02000, kOpenNonBlocking = 04000, kOpenFolder = 040000, kOpenNoFollow = 0100000,
                      kOpenDirect = 0200000, kOpenLarge = 0400000, kOpenCloseOnExec = 02000000,
                      kOpenPathOnly = 010000000, kOpenTemporary = 020000000 };
// clang-format on

/// What is behind a stream.
enum class Kind : u8 {
  standard,
  input,  // the input file
  tree,   // a file of the tree
  // Objects:
  pipe,
  counter,  // eventfd()
  timer,    // timerfd_create()
  signals,  // signalfd()
  epoll,
  socket,
};
/// An opening. `file`: of the tree, or of an object its number.
struct Opened {
  Kind kind;
  bool in_tree;
  u32 file, flags;
  MYR_FN bool is_object() const { return kind > Kind::tree; }
  MYR_FN bool path_only() const { return (flags & kOpenPathOnly) != 0; }
  MYR_FN bool readable() const { return !path_only() && (flags & kOpenAccess) != kOpenWriteOnly; }
  MYR_FN bool writable() const { return !path_only() && (flags & kOpenAccess) != kOpenReadOnly; }
  MYR_FN bool non_blocking() const { return (flags & kOpenNonBlocking) != 0; }
};
constexpr u64 kInputOpened = 0;   // the word of an opening of the input file
constexpr u32 kKindInFlags = 28;  // where the kind of an object is in the upper half of the word
MYR_FN u64 opened_value(u32 file, u32 flags) { return ((u64)file + 1) | (u64)flags << 32; }
MYR_FN u64 opened_object(Kind kind, u32 object, u32 flags) {
  return opened_value(object, flags | (u32)kind << kKindInFlags);
}
template <MemoryMachine M>
MYR_FN Opened opened_at(const M& m, i32 stream) {
  if (stream < (i32)kFirstOpening) return {Kind::standard, false, 0, 0};
  const u64 value = word(m, opened_word((u32)stream));
  const u32 flags = (u32)(value >> 32), kind = flags >> kKindInFlags;
  if (kind > (u32)Kind::tree && kind <= (u32)Kind::socket && (u32)value - 1 < kMostObjects)
    return {(Kind)kind, false, (u32)value - 1, flags & (((u32)1 << kKindInFlags) - 1)};
  const bool in_tree = has_tree(m) && value != kInputOpened;
  return {in_tree ? Kind::tree : Kind::input, in_tree, (u32)value - 1, flags};
}

/// The descriptor and the place of an opening that is about to be made; or an error, negative.
struct NewOpening {
  i64 error;
  u32 fd, index;
};
/// From these on: a call may make two.
template <MemoryMachine M>
MYR_OUTLINE NewOpening find_opening(const M& m, u32 lowest_fd = 0, u32 lowest_index = 0) {
  const u32 count = opening_count(m), fd = free_file(m, lowest_fd);
  u32 index = lowest_index;
  while (index < count && is_open(m, index)) index++;
  return {fd == file_limit(m) ? -(i64)kEMFILE : index == kMostOpenings ? -(i64)kENFILE : 0, fd, index};
}
/// To be called, and to have returned true, before finish_opening().
template <MemoryMachine M>
MYR_FN bool own_new_opening(M& m, const NewOpening& made) {
  return own_files(m) && own_word(m, opening_word(made.index, kOpeningPosition));
}
template <MemoryMachine M>
MYR_FN Result finish_opening(M& m, const NewOpening& made, u64 opened, bool closes_on_exec, u64 position = 0,
                             u32 folder = kNoFolder) {
  const u64 serial = word(m, kOpeningsMade) + 1;
  set_file(m, made.fd, (i32)(kFirstOpening + made.index), closes_on_exec);
  set_word(m, opening_word(made.index, kOpeningPosition), position);
  set_word(m, opening_word(made.index, kOpeningWhat), opened);
  set_word(m, opening_word(made.index, kOpeningHolders), 1 | folder_above(folder));
  set_word(m, opening_word(made.index, kOpeningSerial), serial);
  set_word(m, kOpeningsMade, serial);
  if (made.index >= opening_count(m)) set_word(m, kOpeningCount, made.index + 1);
  return answer(made.fd);
}
/// Opens the input file (kInputOpened), or what opened_value() and opened_object() say.
template <MemoryMachine M>
MYR_OUTLINE Result open_stream(M& m, u64 opened, bool closes_on_exec, u64 position = 0, u32 folder = kNoFolder) {
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  if (!own_new_opening(m, made)) return again();
  return finish_opening(m, made, opened, closes_on_exec, position, folder);
}

}  // namespace myriarm::kernel
