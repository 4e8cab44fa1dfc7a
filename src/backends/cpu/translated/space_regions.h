// SPDX-License-Identifier: Apache-2.0
// The regions of translated code that belong to one code space, and what was asked for there. They are never taken away:
// the space owns them, and lanes run them without a lock.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <vector>

#include "backends/cpu/translated/region_entry.h"

namespace myriarm::cpu {

class SpaceRegions {
 public:
  /// Held while words of the space are copied: no entry comes meanwhile.
  std::shared_lock<std::shared_mutex> keep() const { return std::shared_lock(mutex_); }
  /// In a copy of `count` words from `address` on: gives those that are entries of regions the kind that they had before.
  /// The caller must have called keep() before it copied.
  void undo(u64 address, u64 count, Operands* copy) const;
  /// Makes the words at the region's entries entries of it. `find(pc)` gives the word and where its area keeps entries, or
  /// nothing if no region can begin there. Returns how many entries are new: a word that is an entry stays one of the region that
  /// it belongs to. If none is new, the region is not kept.
  struct Place {
    Operands* word = nullptr;  // null: none
    AreaEntries* entries = nullptr;
    u64 number = 0, words = 0;  // of the word within the area, and how many the area has
  };
  template <class Find>
  u32 install(const std::shared_ptr<const translate::Region>& region, u16 kind_of_entries, Find find) {
    std::unique_lock lock(mutex_);
    u32 made = 0;
    owned_.push_back(region);  // first: if memory runs out half-way, what is installed stays
    for (u64 number = 0; number < region->entries.size(); number++) {
      const Place place = find(region->entries[number]);
      if (place.word == nullptr || entries_.contains(region->entries[number])) continue;
      const RegionEntry entry = {region->run, number, region->longest_run, place.word->kind};
      const auto at = entries_.emplace(region->entries[number], entry).first;
      place.entries->add(place.words, place.number, at->second);
      std::atomic_ref(place.word->kind).store(kind_of_entries, std::memory_order_release);
      made++;
    }
    if (made == 0) owned_.pop_back();
    return made;
  }
  /// Whether nobody has asked for a region at pc before, and not too many were asked for.
  bool ask(u64 pc);

 private:
  static constexpr size_t kMostAsked = 1 << 14;  // so that code which branches everywhere takes little memory
  mutable std::shared_mutex mutex_;
  std::map<u64, RegionEntry> entries_;  // by address
  std::vector<std::shared_ptr<const translate::Region>> owned_;
  std::unordered_set<u64> asked_;
};

}  // namespace myriarm::cpu
