// SPDX-License-Identifier: Apache-2.0
// Translates regions of guest code into PTX, the text that an NVIDIA driver compiles: a device function for each region. How
// a kernel calls it is in device_region.h. Calls and returns leave these regions, and what is not simple is refused.
#pragma once

#include "translate/device_region.h"
#include "translate/translator.h"

namespace myriarm::translate {

/// What regions are for. Of versions, tens and ones are the minor one.
struct DeviceTarget {
  u32 compute_capability = 90;  // of the oldest device that is to run the code
  u32 ptx = 78;                 // the newest PTX that its driver reads
  /// The lanes of a team may have different permissions for a page, as processes whose heaps have grown do. If not said, regions refuse
  /// accesses to such pages.
  bool lanes_differ = false;
};

struct DeviceRegion {
  std::vector<u64> entries;  // guest addresses; number 0 is the one that was asked for
  std::vector<u64> covered;  // addresses of its instructions, also of those that it leaves to others
  u64 longest_run = 0;       // most instructions that retire between two checks of the limit
  u32 instructions = 0;      // guest instructions translated
  double seconds = 0;        // of processor time spent to make it
  bool is_from_store = false;
  std::string name;  // of its function
  std::string ptx;
};

class DeviceTranslator {
 public:
  virtual ~DeviceTranslator() = default;
  /// As Translator::translate(). `name`: of the function, a C identifier.
  virtual std::unique_ptr<DeviceRegion> translate(u64 entry, const FetchWord& fetch, const RegionLimits& limits,
                                                  const std::string& name, std::string& why) = 0;
  /// The entries that keep_entries() was given last for a program with these bytes from a guest address on, perhaps by another
  /// process. Empty: none are known, or there is no store. They decide nothing but where a program is translated first.
  virtual std::vector<u64> kept_entries(u64 begin, std::span<const u8> code) = 0;
  virtual void keep_entries(u64 begin, std::span<const u8> code, std::span<const u64> entries) = 0;
};

/// `store`: where PTX is looked for and kept; null: nowhere. Null: `why` says why there is none, as part of a sentence.
std::unique_ptr<DeviceTranslator> make_device_translator(const DeviceTarget& target, std::shared_ptr<RegionStore> store,
                                                         std::string& why);

}  // namespace myriarm::translate
