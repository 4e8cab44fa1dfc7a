// SPDX-License-Identifier: Apache-2.0
// Translates regions of guest code into machine code of the host. A region is some hundred instructions at most, entered
// at one of its entries and left anywhere. Without LLVM there is no translator, and make_translator() says so.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "translate/lane_state.h"
#include "translate/region_store.h"

namespace myriarm::translate {

/// Runs the lane in translated code from an entry on, which must be that at lane->pc, and goes on in other regions of the
/// space. The lane leaves at the first check after it has retired `limit` instructions in all; it may have retired up to
/// RegionLimits::instructions more by then, of the largest region of the space.
inline RegionEnd run_region(LaneState* lane, const EntryPoint& from, const EntryPoints& entries, u64 limit) {
  lane->entries = entries;
  lane->region_limit = limit;
  lane->region_flags.set_flags(lane->flags());
  const RegionEnd end = from.run(lane, from.number, lane->retired - limit);
  lane->set_flags(lane->region_flags.flags());
  return end;
}

/// A larger region keeps guest registers in those of the host for longer; the time to make it grows faster than it does.
/// Between two checks of the limit addresses rise, so a lane retires at most as many instructions as its region has.
struct RegionLimits {
  u32 instructions = 256;
  u32 entries = 24;
  bool calls_leave = false;  // and returns, even if their targets belong to the region
};

struct Region {
  std::vector<u64> entries;  // guest addresses; the first is the one that was asked for
  /// Of copied code: where its entries lie, EntryPoint::inside. Their numbers are these addresses. Empty: they are 0, 1, 2, ...
  std::vector<const void*> inside;
  /// Where copied code looks whether a lane is to leave, since larger code begins there.
  std::vector<std::pair<u64, std::atomic<u8>*>> loops;
  u32 instructions = 0;  // guest instructions translated
  double seconds = 0;    // of processor time spent to make it
  bool is_from_store = false;
  RegionFunction run = nullptr;
  std::shared_ptr<void> code;  // owns the machine code
};

/// The slow paths of memory that translated code calls. They get the LaneState that the region was called with. `size`: see
/// kPlaceShift.
struct SlowPaths {
  SlowLoad (*load)(LaneState* lane, u64 address, u32 size);
  bool (*store)(LaneState* lane, u64 address, u64 value, u32 size);
  bool (*store_pair)(LaneState* lane, u64 address, u64 first, u64 second, u32 size);
  /// Whether compiled code finds memory through LaneState::windows. That pays where pages of the guest follow each other at the
  /// host too.
  bool windows = false;
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
