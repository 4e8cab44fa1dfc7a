// SPDX-License-Identifier: Apache-2.0
// Where a translator keeps the object code of regions for later processes. The translator says what a region's code
// depends on, as a key; the store knows nothing of what it keeps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/portable.h"

namespace myriarm::translate {

/// A hash of everything that the object code of a region depends on. Regions with one key have the same code.
using RegionKey = std::array<u8, 32>;

/// What people are told about a region that is kept. It decides nothing.
struct RegionNote {
  u64 pc = 0;            // guest address of the first entry
  u32 instructions = 0;  // guest instructions translated
  double seconds = 0;    // of processor time that it took to make
};

/// Any thread may call these; calls may run at the same time. None throws: without a store everything works as well.
class RegionStore {
 public:
  virtual ~RegionStore() = default;
  /// The object code that was kept with this key, whole and unchanged. Empty: there is none.
  virtual std::vector<u8> find(const RegionKey& key) noexcept = 0;
  virtual void keep(const RegionKey& key, const RegionNote& note, std::span<const u8> object) noexcept = 0;
  /// Tells that what find() gave for this key cannot be used. The next keep() with the key takes its place.
  virtual void reject(const RegionKey& key, const char* why) noexcept = 0;
};

}  // namespace myriarm::translate
