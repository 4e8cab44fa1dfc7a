// SPDX-License-Identifier: Apache-2.0
// The descriptors of a process. There are the three standard streams, which the guest sees as pipes, the input file, if
// the lane has one, and the files of the tree (tree.h). A descriptor refers to a stream; copies of it share the stream and its position.
#pragma once

#include "kernel/errno.h"
#include "kernel/guest_memory.h"

namespace myriarm::kernel {

constexpr u32 kFilesInWord = 4;

template <Machine M>
MYR_FN u32 file_at(const M& m, u32 fd) {
  return (u32)(word(m, kFiles + fd / kFilesInWord * 8) >> fd % kFilesInWord * 16) & 0xFFFF;
}
/// The stream behind a descriptor; -1 if it is not open. Linux reads 32 bits of the register.
template <Machine M>
MYR_FN i32 stream_of(const M& m, u64 descriptor) {
  const u32 fd = (u32)descriptor;
  const u32 file = fd < kMostFiles ? file_at(m, fd) : 0;
  return file <= kFirstOpening + kMostFiles ? (i32)file - 1 : -1;
}
/// To be called, and to have returned true, before the next functions that change descriptors.
template <Machine M>
MYR_FN bool own_files(M& m) {
  return own_words(m, kFiles, kMostFiles * 2) && own_word(m, kOpeningCount);
}
/// Makes a descriptor refer to a stream, or with -1 to nothing.
template <Machine M>
MYR_FN void set_file(M& m, u32 fd, i32 stream) {
  const u32 at = kFiles + fd / kFilesInWord * 8, shift = fd % kFilesInWord * 16;
  set_word(m, at, (word(m, at) & ~((u64)0xFFFF << shift)) | (u64)(u32)(stream + 1) << shift);
}
/// The lowest descriptor from `lowest` on that is not open; kMostFiles if there is none.
template <Machine M>
MYR_FN u32 free_file(const M& m, u64 lowest) {
  u32 fd = (u32)lesser(lowest, kMostFiles);
  while (fd < kMostFiles && file_at(m, fd) != 0) fd++;
  return fd;
}

// The openings of files: stream kFirstOpening + n is opening n.
template <Machine M>
MYR_FN u32 opening_count(const M& m) {
  return (u32)lesser(word(m, kOpeningCount), kMostFiles);
}
/// Where the position of a stream that is an opening, or standard input, lies.
MYR_FN u32 position_word(u32 stream) {
  return stream >= kFirstOpening ? kOpenings + (stream - kFirstOpening) * 8 : (u32)kInputPosition;
}

}  // namespace myriarm::kernel
