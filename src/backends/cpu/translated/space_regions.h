// SPDX-License-Identifier: Apache-2.0
// The regions of translated code that belong to one code space, and what was asked for there. They are never taken away:
// the space owns them, and lanes run them without a lock.
#pragma once

#include <deque>
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
  /// Makes the words at the region's entries entries of it. `find(pc)` gives the word, or null if no region can begin
  /// there. Returns how many words are entries of it now: one that is an entry of a region of
  /// this tier or a larger one stays that. If there are none, the region is not kept. `covered`: the addresses of its
  /// instructions.
  template <class Find>
  u32 install(const std::shared_ptr<const translate::Region>& region, Tier tier, std::vector<u64> covered,
              u16 kind_of_entries, Find find) {
    std::unique_lock lock(mutex_);
    u32 made = 0;
    owned_.push_back(region);  // first: if memory runs out half-way, what is installed stays
    for (u64 number = 0; number < region->entries.size(); number++) {
      Operands* const word = find(region->entries[number]);
      if (word == nullptr) continue;
      const auto before = entries_.find(region->entries[number]);
      if (before != entries_.end() && before->second->tier >= tier) continue;
      const u16 kind = before != entries_.end() ? before->second->kind : word->kind;
      const void* inside = region->inside.empty() ? nullptr : region->inside[number];
      const u64 own_number = inside == nullptr ? number : reinterpret_cast<u64>(inside);
      const RegionEntry& entry = made_.emplace_back(RegionEntry{{region->run, own_number, inside}, kind, tier});
      entries_[region->entries[number]] = &entry;
      points_.add(region->entries[number], entry);
      std::atomic_ref(word->kind).store(kind_of_entries, std::memory_order_release);
      made++;
    }
    if (made == 0) {
      owned_.pop_back();
      return 0;
    }
    cover(std::move(covered));
    for (const auto& loop : region->loops) loops_.insert(loop);
    // Lanes in the loops that begin at its entries leave them for the larger code.
    for (const u64 pc : region->entries) {
      const auto [first, last] = loops_.equal_range(pc);
      for (auto at = first; at != last; ++at) at->second->store(tier_of(pc) > Tier::quick, std::memory_order_relaxed);
    }
    return made;
  }
  /// Where lanes find the entries.
  SpaceEntries& points() { return points_; }
  const SpaceEntries& points() const { return points_; }
  /// Of the region that begins at pc; none: none does.
  Tier tier_at(u64 pc) const;
  /// Whether nobody has asked for a region of this tier at pc before, and not too many were asked for.
  bool ask(u64 pc, Tier tier);
  /// To be called before a request for a small region is served. True: since it was made, a region came that has the
  /// instruction at pc inside, so lanes may find an entry of that soon. Then this request is to be dropped. It may be
  /// made once more, and will not be dropped again.
  bool drop_request(u64 pc);

 private:
  Tier tier_of(u64 pc) const {
    const auto found = entries_.find(pc);
    return found == entries_.end() ? Tier::none : found->second->tier;
  }
  static constexpr size_t kMostAsked = 1 << 14;  // so that code which branches everywhere takes little memory
  void cover(std::vector<u64> addresses);

  mutable std::shared_mutex mutex_;
  SpaceEntries points_;
  std::map<u64, const RegionEntry*> entries_;  // by address
  std::deque<RegionEntry> made_;               // also those whose places others have taken
  std::map<u64, u64> covered_;                 // instructions in regions: addresses from, to; ranges do not touch
  std::vector<std::shared_ptr<const translate::Region>> owned_;
  std::multimap<u64, std::atomic<u8>*> loops_;  // Region::loops of the regions here
  std::unordered_set<u64> asked_for_quick_, asked_, asked_for_large_, dropped_;
};

}  // namespace myriarm::cpu
