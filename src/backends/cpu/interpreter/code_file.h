// SPDX-License-Identifier: Apache-2.0
// A file in memory with the predecoded words of programs, from which lanes get copies on write: a lane in which one
// page of code was patched pays for one page.
#pragma once

#include <map>
#include <mutex>

#include "core/operands.h"

namespace myriarm::cpu {

class CodeFile {
 public:
  CodeFile() = default;
  ~CodeFile();
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  /// Maps a private copy of the `bytes` at `from` to `to`; both are multiples of the host's page size, and `from` must
  /// not change as long as this exists. False: the host refuses, and the bytes at `to` are lost. Any thread may call it.
  bool map_copy(const u8* from, u64 bytes, u8* to);

 private:
  bool add(const u8* from, u64 bytes, u64& offset);

  std::mutex mutex_;
  int descriptor_ = -1;
  u64 size_ = 0;
  std::map<const u8*, u64> offsets_;
};

}  // namespace myriarm::cpu
