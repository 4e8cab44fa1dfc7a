// SPDX-License-Identifier: Apache-2.0
// Translates regions of guest code into machine code of the host. A region is some hundred instructions at most, entered
// at one of its entries and left anywhere. Without LLVM there is no translator, and make_translator() says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "translate/lane_state.h"
#include "translate/region_store.h"

namespace myriarm::translate {

/// Why a region has returned. In either case registers, flags, pc and the count of retired instructions in the LaneState
/// are exact.
enum class RegionEnd : u64 {
  left,     // the lane goes on at pc: it has left the region, or reached the limit
  stopped,  // the instruction at pc has not retired: its access was refused or must be made again (the slow path said so)
};

/// Runs the lane from entry number `entry` on, whose address lane->pc must be. `limit`: the lane leaves at the first
/// check after it has retired this many in all; it may have retired up to Region::longest_run more by then.
using RegionFunction = RegionEnd (*)(LaneState* lane, u64 entry, u64 limit);

/// A larger region keeps guest registers in those of the host for longer; the time to make it grows faster than it does.
struct RegionLimits {
  u32 instructions = 256;
  u32 entries = 24;
};

struct Region {
  std::vector<u64> entries;  // guest addresses; number 0 is the one that was asked for
  u64 longest_run = 0;       // most instructions that retire between two checks of the limit
  u32 instructions = 0;      // guest instructions translated
  double seconds = 0;        // of processor time spent to make it
  bool is_from_store = false;
  RegionFunction run = nullptr;
  std::shared_ptr<void> code;  // owns the machine code
};

/// The slow paths of memory that translated code calls. They get the LaneState that the region was called with.
struct SlowPaths {
  SlowLoad (*load)(LaneState* lane, u64 address, u32 size);
  bool (*store)(LaneState* lane, u64 address, u64 value, u32 size);
  bool (*store_pair)(LaneState* lane, u64 address, u64 first, u64 second, u32 size);
};

/// Reads the instruction word at a guest address. False: there is no code that may be translated.
using FetchWord = std::function<bool(u64 pc, u32& word)>;

class Translator {
 public:
  virtual ~Translator() = default;
  /// Translates the region that begins at `entry`. Null: it could not, and `why` says so as part of a sentence. Any
  /// thread may call it; calls may run at the same time.
  virtual std::unique_ptr<Region> translate(u64 entry, const FetchWord& fetch, const RegionLimits& limits,
                                            std::string& why) = 0;
};

/// `store`: where regions are looked for and kept; null: nowhere. Null: `why` says why there is none, as part of a sentence.
std::unique_ptr<Translator> make_translator(const SlowPaths& slow, std::shared_ptr<RegionStore> store,
                                            std::string& why);
/// Whether the files that make_translator() needs are there, as far as can be seen without loading them.
bool translator_is_installed();

}  // namespace myriarm::translate
