// SPDX-License-Identifier: Apache-2.0
// A file in memory with the predecoded words of programs, from which lanes get copies on write: a lane in which one
// page of code was patched pays for one page.
#pragma once

#include <functional>
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

  /// Undoes in a copy of a page, at `copy`, what may have changed at from + offset.
  using Undo = std::function<void(u64 offset, u8* copy)>;
  /// Maps a private copy of the `bytes` at `from` to `to`; both are multiples of the host's page size. As long as this
  /// exists, `from` must not change except for what `undo` undoes. False: the host refuses, and the bytes at `to` are
  /// lost. Any thread may call it.
  bool map_copy(const u8* from, u64 bytes, u8* to, const Undo& undo);

 private:
  bool add(const u8* from, u64 bytes, u64& offset, const Undo& undo);

  std::mutex mutex_;
  int descriptor_ = -1;
  u64 size_ = 0;
  std::map<const u8*, u64> offsets_;
};

}  // namespace myriarm::cpu
