// SPDX-License-Identifier: Apache-2.0
// Runs a FlatMachine in regions that a translator made, and steps it where it has none: the one place where tests call
// translated code for the host.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "translate/machine.h"

namespace myriarm::translate {

class RegionRunner {
 public:
  explicit RegionRunner(Translator& by) : translator_(by) {}
  /// Translates the region at an address, and makes those of its entries known that no earlier region has. Null: there is none,
  /// and `why` says why.
  const Region* add(u64 entry, const FetchWord& fetch, const RegionLimits& limits, std::string& why) {
    std::unique_ptr<Region> region = translator_.translate(entry, fetch, limits, why);
    if (region == nullptr) return nullptr;
    for (u64 i = 0; i < region->entries.size(); i++) {
      const size_t word = region->entries[i] / 4;
      if (points_.size() <= word) points_.resize(word + 1);
      if (points_[word] == nullptr) points_[word] = &made_.emplace_back(EntryPoint{region->run, i});
    }
    longest_ = std::max<u64>(longest_, region->instructions);
    from_store += region->is_from_store;
    regions_.push_back(std::move(region));
    return regions_.back().get();
  }
  /// Until the machine has retired `limit` instructions, or stopped. Regions go on in each other.
  void run(FlatMachine& machine, u64 limit) {
    if (machine.found_is_stale) machine.forget_found_pages();
    const EntryPoints entries = {points_.data(), 0, points_.size() * 4};
    while (machine.retired < limit) {
      const EntryPoint* found = entries.at(machine.pc);
      if (found != nullptr && limit - machine.retired > longest_) {
        const u64 before = machine.retired;
        const RegionEnd end = run_region(&machine, *found, entries, limit - longest_);
        in_regions += machine.retired - before;
        if (end == RegionEnd::stopped) return;
        if (machine.retired != before) continue;
      }
      if (!machine.step()) return;
    }
  }
  u64 in_regions = 0, from_store = 0;

 private:
  Translator& translator_;
  std::vector<const EntryPoint*> points_;  // by word
  std::deque<EntryPoint> made_;
  u64 longest_ = 0;
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace myriarm::translate
