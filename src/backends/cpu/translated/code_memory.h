// SPDX-License-Identifier: Apache-2.0
// Memory for machine code that is copied together. What runs it is never writable: code is written through another mapping
// of the same memory, which exists for as long as that takes.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "core/portable.h"

namespace myriarm::cpu {

class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(const CodeMemory&) = delete;

  /// A place for code, which is not there yet. The place exists as long as `owner` or a copy of it.
  struct Place {
    u8* address = nullptr;
    std::shared_ptr<void> owner;
  };
  /// Throws std::runtime_error with part of a sentence if the host gives none. Any thread may call it.
  Place take(u64 bytes);
  /// Writes the code of a place. Throws as take() does.
  static void write(const Place& place, std::span<const u8> code);

 private:
  struct Chunk;
  std::mutex mutex_;
  std::shared_ptr<Chunk> chunk_;  // the one that places come from; others exist while places of them do
};

}  // namespace myriarm::cpu
