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
  return tier_of(pc);
}

bool SpaceRegions::ask(u64 pc, Tier tier) {
  std::unique_lock lock(mutex_);
  std::unordered_set<u64>& asked = tier == Tier::quick   ? asked_for_quick_
                                   : tier == Tier::small ? asked_
                                                         : asked_for_large_;
  return asked.size() < kMostAsked && asked.insert(pc).second;
}

bool SpaceRegions::drop_request(u64 pc) {
  std::unique_lock lock(mutex_);
  const auto after = covered_.upper_bound(pc);
  const bool is_inside = after != covered_.begin() && pc < std::prev(after)->second;
  if (!is_inside || dropped_.size() == kMostAsked || !dropped_.insert(pc).second) return false;
  asked_.erase(pc);
  return true;
}

void SpaceRegions::cover(std::vector<u64> addresses) {
  std::sort(addresses.begin(), addresses.end());
  for (size_t i = 0; i < addresses.size();) {
    u64 begin = addresses[i], end = begin + 4;
    for (i++; i < addresses.size() && addresses[i] <= end; i++) end = addresses[i] + 4;
    auto at = covered_.upper_bound(begin);
    if (at != covered_.begin() && std::prev(at)->second >= begin) at--;
    while (at != covered_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = covered_.erase(at);
    }
    covered_.emplace_hint(at, begin, end);
  }
}

}  // namespace myriarm::cpu
