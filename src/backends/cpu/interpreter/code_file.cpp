// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/code_file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/memory.h"

namespace myriarm::cpu {
namespace {

bool is_zero(const u8* at, u64 bytes) {
  return std::all_of(at, at + bytes, [](u8 byte) { return byte == 0; });
}

bool write_all(int descriptor, const u8* from, u64 bytes, u64 offset) {
  while (bytes != 0) {
    const ssize_t n = pwrite(descriptor, from, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, offset += static_cast<u64>(n), bytes -= static_cast<u64>(n);
  }
  return true;
}

/// A file that grows beyond this limit (`ulimit -f`) ends the process with SIGXFSZ.
u64 file_size_limit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

CodeFile::~CodeFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool CodeFile::add(const u8* from, u64 bytes, u64& offset, const Undo& undo) {
  if (auto known = offsets_.find(from); known != offsets_.end()) {
    offset = known->second;
    return true;
  }
  if (size_ + bytes > file_size_limit()) return false;
  if (descriptor_ < 0) descriptor_ = memfd_create("myriarm-code", MFD_CLOEXEC);
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(size_ + bytes)) != 0) return false;
  for (u64 at = 0; at < bytes; at += kPageSize) {
    // What was never written stays a hole.
    if (is_zero(from + at, kPageSize)) continue;
    alignas(Operands) u8 page[kPageSize];
    std::memcpy(page, from + at, kPageSize);
    undo(at, page);
    if (!write_all(descriptor_, page, kPageSize, size_ + at)) return false;
  }
  offset = size_;
  offsets_.emplace(from, offset);
  size_ += bytes;
  return true;
}

bool CodeFile::map_copy(const u8* from, u64 bytes, u8* to, const Undo& undo) {
  u64 offset = 0;
  {
    std::lock_guard lock(mutex_);
    if (!add(from, bytes, offset, undo)) return false;
  }
  return mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

}  // namespace myriarm::cpu
