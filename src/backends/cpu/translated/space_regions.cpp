// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/space_regions.h"

#include <algorithm>

namespace myriarm::cpu {

void SpaceRegions::undo(u64 address, u64 count, Operands* copy) const {
  for (auto at = entries_.lower_bound(address); at != entries_.end() && at->first < address + count * 4; ++at) {
    copy[(at->first - address) / 4].kind = at->second->kind;
  }
}

Tier SpaceRegions::tier_at(u64 pc) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(pc);
  return found == entries_.end() ? Tier::none : found->second->tier;
}

bool SpaceRegions::ask(u64 pc, Tier tier) {
  std::unique_lock lock(mutex_);
  std::unordered_set<u64>& asked = tier == Tier::large ? asked_for_large_ : asked_;
  return asked.size() < kMostAsked && asked.insert(pc).second;
}

bool SpaceRegions::drop_request(u64 pc) {
  std::unique_lock lock(mutex_);
  const auto after = covered_.upper_bound(pc);
  if (after == covered_.begin() || std::prev(after)->second <= pc || !dropped_.insert(pc).second) return false;
  asked_.erase(pc);
  return true;
}

void SpaceRegions::cover(std::vector<u64> addresses) {
  std::sort(addresses.begin(), addresses.end());
  for (size_t i = 0; i < addresses.size();) {
    const size_t begin = i;
    while (++i < addresses.size() && addresses[i] == addresses[i - 1] + 4) {
    }
    u64& end = covered_[addresses[begin]];
    end = std::max(end, addresses[i - 1] + 4);
  }
}

}  // namespace myriarm::cpu
