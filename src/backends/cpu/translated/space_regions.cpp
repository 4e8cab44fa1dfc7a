// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/space_regions.h"

namespace myriarm::cpu {

void SpaceRegions::undo(u64 address, u64 count, Operands* copy) const {
  for (auto at = entries_.lower_bound(address); at != entries_.end() && at->first < address + count * 4; ++at) {
    copy[(at->first - address) / 4].kind = at->second.kind;
  }
}

bool SpaceRegions::ask(u64 pc) {
  std::unique_lock lock(mutex_);
  return asked_.size() < kMostAsked && asked_.insert(pc).second;
}

}  // namespace myriarm::cpu
