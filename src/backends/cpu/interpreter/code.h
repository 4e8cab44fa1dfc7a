// SPDX-License-Identifier: Apache-2.0
// Predecoded instructions on the CPU. A region is the code of a run of pages, one Operands a word, ready to be
// dispatched on; the program's regions are shared by all lanes. A lane that writes code, or whose pages change
// under it, gets regions of its own, whose words are decoded when they are first executed.
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
  const u8* bytes = nullptr;   // what it was decoded from, if that is kept
  u64 longest_run = 0;         // most instructions that can retire between two budget checks
  const Operands* begin() const { return code.data(); }
  bool contains(u64 pc) const { return pc - address < count * 4; }
};

/// Decodes `count` words at `bytes`, which stay, into a region at `address`.
std::unique_ptr<CodeRegion> predecode_region(const u8* bytes, u64 address, u64 count);
/// A region of words that are decoded when executed.
std::unique_ptr<CodeRegion> lazy_region(u64 address, u64 count);
/// Decodes one word of a region; it is not fused with its neighbours.
Operands decode_in_region(u32 word, u64 pc, const CodeRegion& region);

/// The program's regions, by rising address.
struct SharedCode {
  std::vector<std::unique_ptr<CodeRegion>> regions;
  u64 longest_run = kPageSize / 4 + 1;
  const CodeRegion* find(u64 pc) const;
};

/// The regions of one lane that no longer runs the shared ones.
struct LaneCode {
  bool use_shared = true;  // false: page permissions have changed; everything is looked up anew
  std::vector<std::unique_ptr<CodeRegion>> copies;             // of shared regions
  std::unordered_map<u64, std::unique_ptr<CodeRegion>> pages;  // by page address
  CodeRegion* find(u64 pc) const;
  /// Most instructions between two budget checks: written code may have no branch at all.
  u64 longest_run() const;
  /// Words that overlap [address, address + size) will be decoded again.
  void invalidate(u64 address, u64 size);
  /// Forgets every region. Not while the lane runs.
  void drop_all();
};

}  // namespace myriarm::cpu
