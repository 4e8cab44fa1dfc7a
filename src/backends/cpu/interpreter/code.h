// SPDX-License-Identifier: Apache-2.0
// Predecoded instructions on the CPU. A region is the code of consecutive pages, one Operands for each word, ready to
// be dispatched on; all lanes of a program share its regions. A lane that writes to code, or whose pages the host
// changes, gets regions of its own, and decodes their changed words when it next executes them.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/memory.h"
#include "core/operands.h"

namespace myriarm::cpu {

struct CodeRegion {
  u64 address = 0;
  u64 count = 0;               // instruction words
  std::vector<Operands> code;  // count + 1: the last is kKindEnd
  const u8* bytes = nullptr;   // what it was decoded from; null if that is not kept
  u64 longest_run = 0;         // most instructions that can retire between two budget checks
  const Operands* begin() const { return code.data(); }
  bool contains(u64 pc) const { return pc - address < count * 4; }
};

/// Makes a region at `address` from `count` words at `bytes`, which must stay valid.
std::unique_ptr<CodeRegion> predecode_region(const u8* bytes, u64 address, u64 count);
/// A region whose words are decoded when they are first executed.
std::unique_ptr<CodeRegion> lazy_region(u64 address, u64 count);
/// Decodes one word of a region; it is not fused with its neighbours.
Operands decode_in_region(u32 word, u64 pc, const CodeRegion& region);

/// The program's regions, in rising order of address.
struct SharedCode {
  std::vector<std::unique_ptr<CodeRegion>> regions;
  u64 longest_run = kPageSize / 4 + 1;
  const CodeRegion* find(u64 pc) const;
};

/// The regions that one lane has for itself.
struct LaneCode {
  bool use_shared = true;                                      // false: the lane no longer runs the program's regions
  std::vector<std::unique_ptr<CodeRegion>> copies;             // of shared regions
  std::unordered_map<u64, std::unique_ptr<CodeRegion>> pages;  // by page address
  CodeRegion* find(u64 pc) const;
  /// The most instructions between two checks of the budget: code that a lane has written may have no branch at all.
  u64 longest_run() const;
  /// Marks the words that overlap [address, address + size), so that they are decoded again.
  void invalidate(u64 address, u64 size);
  /// Drops every region. Must not be called while the lane runs.
  void drop_all();
};

}  // namespace myriarm::cpu
