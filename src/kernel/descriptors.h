// SPDX-License-Identifier: Apache-2.0
// The descriptors of a process. Each refers to a stream: one of the three standard streams, which the guest sees as pipes, or
// an opening (openings.h).
#pragma once

#include "kernel/errno.h"
#include "kernel/guest_memory.h"

namespace myriarm::kernel {

constexpr u32 kFilesInWord = 4;
constexpr u32 kCloseOnExec = 0x8000;  // of the 16 bits of a descriptor

template <MemoryMachine M>
MYR_FN u32 file_bits(const M& m, u32 fd) {
  return (u32)(word(m, kFiles + fd / kFilesInWord * 8) >> fd % kFilesInWord * 16) & 0xFFFF;
}
template <MemoryMachine M>
MYR_FN u32 file_at(const M& m, u32 fd) {
  return file_bits(m, fd) & ~kCloseOnExec;
}
template <MemoryMachine M>
MYR_FN bool closes_on_exec(const M& m, u32 fd) {
  return (file_bits(m, fd) & kCloseOnExec) != 0;
}
/// RLIMIT_NOFILE: no descriptor from here on is made.
template <MemoryMachine M>
MYR_FN u32 file_limit(const M& m) {
  constexpr u32 kOpenFiles = 7;
  const u64 limit = word(m, kLimitWords + kOpenFiles * 16);
  return limit == 0 ? kMostFiles : (u32)lesser(limit - 1, kMostFiles);
}
/// The stream behind a descriptor; -1 if it is not open. Linux reads 32 bits of the register.
template <Machine M>
MYR_FN i32 stream_of(const M& m, u64 descriptor) {
  const u32 fd = (u32)descriptor;
  const u32 file = fd < kMostFiles ? file_at(m, fd) : 0;
  return file <= kFirstOpening + kMostOpenings ? (i32)file - 1 : -1;
}
/// To be called, and to have returned true, before the next functions that change descriptors.
template <Machine M>
MYR_FN bool own_files(M& m) {
  return own_words(m, kFiles, kMostFiles * 2) && own_word(m, kOpeningCount);
}
/// Makes a descriptor refer to a stream, or with -1 to nothing. The opening does not count it.
template <Machine M>
MYR_FN void set_file(M& m, u32 fd, i32 stream, bool closes_on_exec = false) {
  const u32 at = kFiles + fd / kFilesInWord * 8, shift = fd % kFilesInWord * 16;
  const u64 bits = (u32)(stream + 1) | (closes_on_exec ? kCloseOnExec : 0u);
  set_word(m, at, (word(m, at) & ~((u64)0xFFFF << shift)) | bits << shift);
}
/// The lowest descriptor from `lowest` on that is not open; file_limit() if there is none.
template <Machine M>
MYR_FN u32 free_file(const M& m, u64 lowest) {
  const u32 limit = file_limit(m);
  u32 fd = (u32)lesser(lowest, limit);
  while (fd < limit && file_at(m, fd) != 0) fd++;
  return fd;
}

}  // namespace myriarm::kernel
